#include "amity/interop/shmem/am/every.hpp"

#include <gtest/gtest.h>

namespace amity::shmem {
namespace {

TEST(Every, IsDueOnceInSoManyTimes) {
  every<4> counted;
  for (int i = 1; i <= 12; ++i) EXPECT_EQ(counted.is_due(), i % 4 == 0) << i;
}

TEST(Every, OfOneIsDueAlways) {
  every<1> counted;
  EXPECT_TRUE(counted.is_due());
  EXPECT_TRUE(counted.is_due());
}

}  // namespace
}  // namespace amity::shmem
