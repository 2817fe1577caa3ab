// Ranks agree in who pays for the fences of a wake-up. A wake-up that is lost shows under load only; the agreement is
// what these tests look at.

#include "amity/fabric/shm/doorbell.hpp"
#include "amity/fabric/alarm.hpp"

#include <sys/syscall.h>

#include <cerrno>
#include <functional>
#include <thread>

#include <gtest/gtest.h>

#include "amity/fabric/alarm.hpp"
#include "amity/fabric/shm/job_memory.hpp"
#include "tests/support/forbidden_calls.hpp"
#include "tests/support/skip.hpp"

namespace amity::fabric::shm {
namespace {

/// Runs on a thread in which the kernel refuses membarrier.
void without_barrier(const std::function<void()>& body, int reason = EPERM) {
  std::thread([&] {
    AMITY_SKIP_UNLESS(amity::testing::forbid({SYS_membarrier}, reason), "this system has no seccomp");
    body();
  }).join();
}

bool system_has_barrier() {
  auto job = job_memory::create(1);
  const doorbell only(job);
  return job.all_have_barriers();
}

TEST(doorbell, wakers_stop_fencing) {
  AMITY_SKIP_UNLESS(system_has_barrier(), "this system has no membarrier");
  auto job = job_memory::create(2);
  doorbell first(job), second(job);
  door target{};
  EXPECT_TRUE(first.wakers_fence()) << "it does not know of the other one yet";
  first.ring(target);
  EXPECT_FALSE(first.wakers_fence());
  second.ring(target);
  EXPECT_FALSE(second.wakers_fence());
}

TEST(doorbell, wakers_fence_until_all_have_joined) {
  auto job = job_memory::create(3);
  doorbell first(job), second(job);
  door target{};
  for (int i = 0; i < 3; ++i) {
    first.ring(target);
    second.ring(target);
    EXPECT_TRUE(first.wakers_fence());
    EXPECT_TRUE(second.wakers_fence());
  }
}

TEST(doorbell, one_rank_without_barrier_makes_all_fence) {
  for (const int reason : {EPERM, ENOSYS}) {
    auto job = job_memory::create(3);
    doorbell first(job);
    door target{};
    without_barrier(
        [&] {
          doorbell restricted(job);
          restricted.ring(target);
          EXPECT_TRUE(restricted.wakers_fence());
        },
        reason);
    doorbell third(job);
    for (int i = 0; i < 3; ++i) {
      first.ring(target);
      third.ring(target);
      EXPECT_TRUE(first.wakers_fence());
      EXPECT_TRUE(third.wakers_fence());
    }
  }
}

TEST(doorbell, refused_barrier_bounds_sleep) {
  AMITY_SKIP_UNLESS(system_has_barrier(), "this system has no membarrier");
  auto job = job_memory::create(1);
  doorbell own(job);
  door sleeper{};
  own.announce(sleeper);
  EXPECT_EQ(own.sleep_ns_max(), ~std::uint64_t{0});
  own.cancel(sleeper);
  without_barrier([&] {
    own.announce(sleeper);
    EXPECT_LT(own.sleep_ns_max(), std::uint64_t{1'000'000'000});
    // Ends although no rank rings.
    amity::fabric::sleep({.word = &sleeper.sleeping,
                          .value = static_cast<std::uint32_t>(sleep_mode::on_futex),
                          .sleep_ns_max = own.sleep_ns_max()},
                         ~std::uint64_t{0});
  });
}

}  // namespace
}  // namespace amity::fabric::shm
