#include "amity/base/guard.hpp"

#include <gtest/gtest.h>

#include <mutex>
#include <thread>

namespace amity {
namespace {

/// Whether a second thread would come in now.
bool another_comes_in(guard& of) {
  bool entered = false;
  std::thread([&] { entered = guard::inside(of, std::try_to_lock).entered(); }).join();
  return entered;
}

TEST(guard, one_thread_is_inside) {
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

TEST(guard, waiting_thread_is_outside_at_any_depth) {
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

TEST(guard, staying_thread_is_inside_until_leave) {
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

TEST(guard, guard_not_required_excludes_no_thread) {
  guard of;
  const guard::inside alone(of);
  const guard::outside others(of);
  EXPECT_TRUE(another_comes_in(of));
}

constexpr std::uint64_t long_ns = 10'000'000'000;

/// On a seat until it is woken.
std::thread seated_thread(guard& of) {
  std::thread sits([&] {
    const guard::inside first(of), second(of);
    of.sit(long_ns);
    EXPECT_TRUE(of.is_inside());
    EXPECT_EQ(of.depth(), 2u);
  });
  while (of.asleep() == 0) std::this_thread::yield();
  return sits;
}

TEST(guard, seat_is_outside_until_woken) {
  guard of;
  of.require();
  std::thread sits = seated_thread(of);
  {
    const guard::inside here(of);  // the thread on its seat does not keep this one out
    EXPECT_TRUE(of.seats_taken());
    of.wake();
    EXPECT_EQ(of.asleep(), 0u);
  }
  sits.join();
  EXPECT_FALSE(of.seats_taken());
  EXPECT_EQ(of.sat(), 1u);
  EXPECT_EQ(of.expired(), 0u);
}

TEST(guard, seat_ends_with_its_time) {
  guard of;
  of.require();
  const guard::inside here(of);
  while (of.expired() == 0) of.sit(1000);
  EXPECT_EQ(of.asleep(), 0u);
  EXPECT_FALSE(of.seats_taken());
}

TEST(guard, waiting_thread_is_let_in) {
  guard of;
  of.require();
  const guard::inside here(of);
  EXPECT_FALSE(of.let_in());
  bool entered = false;
  std::thread enters([&] {
    const guard::inside there(of);
    entered = true;
  });
  // It may need some time until it waits.
  while (!of.let_in()) std::this_thread::yield();
  EXPECT_TRUE(entered);
  enters.join();
}

}  // namespace
}  // namespace amity
