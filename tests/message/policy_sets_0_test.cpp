/// A third of all sets of policies; they are many, and so are compiled in three parts.

#include "tests/message/policy_sets.hpp"

namespace amity {
namespace {

TEST(policy_sets, part_0_changes_no_result) { testing::test_policy_sets<0, 3>(); }

}  // namespace
}  // namespace amity
