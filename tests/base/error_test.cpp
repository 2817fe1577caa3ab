#include "amity/base/error.hpp"

#include <gtest/gtest.h>

#include "amity/base/assert.hpp"

namespace amity {
namespace {

TEST(error, names_call_rank_problem_and_remedy) {
  EXPECT_STREQ(error("send", 3, "rank 9 is not in the job", "use a rank below 4").what(),
               "amity: send (rank 3): rank 9 is not in the job; use a rank below 4");
  EXPECT_STREQ(error("settings", no_rank, "no", "yes").what(), "amity: settings: no; yes");
}

TEST(assert_death_test, prints_the_condition_and_the_values) {
  const int held = 3;
  EXPECT_DEATH(AMITY_ASSERT(held < 3, held, "credits"),
               "amity: bug: .*error_test.cpp:[0-9]+: expected held < 3; "
               "values: 3 credits");
}

}  // namespace
}  // namespace amity
