#include "amity/base/log.hpp"

#include <gtest/gtest.h>

#include "amity/base/error.hpp"

namespace amity {
namespace {

TEST(log, writes_one_line_with_the_rank) {
  ::testing::internal::CaptureStderr();
  log_warning(2, "nothing arrived");
  log_warning(no_rank, "a setting was ignored");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "amity: rank 2: nothing arrived\namity: a setting was ignored\n");
}

}  // namespace
}  // namespace amity
