#include "amity/interop/shmem/am/guard.hpp"

#include <gtest/gtest.h>

#include <mutex>
#include <thread>

namespace amity::shmem {
namespace {

/// Whether a second thread would come in now.
bool another_comes_in(guard& of) {
  bool entered = false;
  std::thread([&] { entered = guard::inside(of, std::try_to_lock).entered(); }).join();
  return entered;
}

TEST(Guard, OneThreadIsInside) {
  guard of;
  of.require();
  EXPECT_TRUE(another_comes_in(of));
  {
    const guard::inside alone(of);
    EXPECT_FALSE(another_comes_in(of));
    const guard::inside again(of);
    EXPECT_TRUE(again.entered());
  }
  EXPECT_TRUE(another_comes_in(of));
}

TEST(Guard, WhoWaitsIsOutsideHoweverOftenItHasComeIn) {
  guard of;
  of.require();
  const guard::inside first(of), second(of), third(of, std::try_to_lock);
  {
    const guard::outside others(of);
    EXPECT_TRUE(another_comes_in(of));
  }
  EXPECT_FALSE(another_comes_in(of));
  // As deep as before: the three ends let others in, and not one end less.
  {
    const guard::outside others(of);
    EXPECT_TRUE(another_comes_in(of));
  }
}

TEST(Guard, WhoStaysIsInsideUntilItLeaves) {
  guard of;
  of.require();
  {
    const guard::inside alone(of);
    of.stay();
  }
  EXPECT_FALSE(another_comes_in(of));
  of.leave();
  EXPECT_TRUE(another_comes_in(of));
}

TEST(Guard, OfOneThreadKeepsNobodyOut) {
  guard of;
  const guard::inside alone(of);
  const guard::outside others(of);
  EXPECT_TRUE(another_comes_in(of));
}

}  // namespace
}  // namespace amity::shmem
