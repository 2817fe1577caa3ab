#pragma once

/// What a rank sleeps on.

#include <array>
#include <atomic>
#include <cstdint>

namespace amity::fabric {

/// A sleep ends when `word` is no longer `value`, when a descriptor is readable, or after `sleep_ns_max`. Without
/// either only time ends it.
struct alarm {
  /// A futex, possibly shared with other processes; null: none. It is not `value` after `disarm`.
  const std::atomic<std::uint32_t>* word = nullptr;
  std::uint32_t value = 0;
  /// -1: none; used if `word` is null. A fabric fills at most the first two; the last one is the caller's.
  std::array<int, 3> descriptors{-1, -1, -1};
  std::uint64_t sleep_ns_max = ~std::uint64_t{0};
};

/// Sleeps until one of these ends the sleep or `timeout_ns` has passed; may return early. Any thread may call it.
void sleep(const alarm& on, std::uint64_t timeout_ns) noexcept;

}  // namespace amity::fabric
