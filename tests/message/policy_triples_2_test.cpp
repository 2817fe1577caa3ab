/// A third of the sets of three policies; they are many, and so are compiled in three parts.

#include "tests/message/policy_sets.hpp"

namespace amity {
namespace {

TEST(policy_triples, part_2_changes_no_result) { testing::test_policy_sets<3, 3, 2, 3>(); }

}  // namespace
}  // namespace amity
