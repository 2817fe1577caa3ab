/// All sets of at most two policies.

#include "tests/message/policy_sets.hpp"

namespace amity {
namespace {

TEST(policy_sets, change_no_result) { testing::test_policy_sets<0, 2>(); }

}  // namespace
}  // namespace amity
