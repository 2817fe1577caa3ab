#pragma once

/// What a rank sleeps on.

#include <array>
#include <atomic>
#include <cstdint>

namespace amity::fabric {

/// A sleep ends when `word` is no longer `value`, when a descriptor is readable, or after `sleep_ns_max`. Without
/// either only time ends it.
struct alarm {
  const std::atomic<std::uint32_t>* word = nullptr;  ///< a futex, possibly shared with other processes; null: none
  std::uint32_t value = 0;
  std::array<int, 2> descriptors{-1, -1};  ///< -1: none; used if `word` is null
  std::uint64_t sleep_ns_max = ~std::uint64_t{0};
};

/// Sleeps until one of these ends the sleep or `timeout_ns` has passed; may return early. Any thread may call it.
void sleep(const alarm& on, std::uint64_t timeout_ns) noexcept;

}  // namespace amity::fabric
