#include "amity/base/guard.hpp"

#include <sched.h>

#include "amity/base/clock.hpp"
#include "amity/base/futex.hpp"

namespace amity {

bool guard::let_in() {
  // A thread that sleeps until the mutex is free takes some microseconds to take it.
  constexpr int yields_max = 100;
  if (entering_.load(std::memory_order_relaxed) == 0) return false;
  const std::uint32_t before = entries();
  {
    const outside others(*this);
    for (int i = 0; i < yields_max && entries() == before; ++i) ::sched_yield();
  }
  return entries() != before + 1;
}

void guard::sit(std::uint64_t timeout_ns) {
  // Read inside: a wake that comes between the exit and the sleep has changed the word.
  const std::uint32_t before = wakes_.load(std::memory_order_relaxed);
  ++sitting_;
  asleep_.store(asleep() + 1, std::memory_order_relaxed);
  ++sat_;
  const std::uint64_t begin_ns = steady_now_ns();
  {
    const outside others(*this);
    futex_wait(wakes_, before, timeout_ns);
  }
  --sitting_;
  if (wakes_.load(std::memory_order_relaxed) != before) return;
  asleep_.store(asleep() - 1, std::memory_order_relaxed);
  if (steady_now_ns() - begin_ns >= timeout_ns) ++expired_;
}

void guard::wake_seats() noexcept {
  asleep_.store(0, std::memory_order_relaxed);
  wakes_.store(wakes_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  futex_wake_all(wakes_);
}

}  // namespace amity
