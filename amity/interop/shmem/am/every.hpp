#pragma once

/// What is due once in so many times.

#include <atomic>
#include <bit>
#include <cstdint>

namespace amity::shmem {

/// Threads may count beside one another: a time that is lost does not matter.
template <std::uint32_t times>
class every {
  static_assert(std::has_single_bit(times));

 public:
  /// True each `times`-th time.
  [[gnu::always_inline]] bool is_due() noexcept {
    const std::uint32_t now = counted_.load(std::memory_order_relaxed) + 1;
    counted_.store(now, std::memory_order_relaxed);
    return now % times == 0;
  }

 private:
  std::atomic<std::uint32_t> counted_ = 0;
};

}  // namespace amity::shmem
