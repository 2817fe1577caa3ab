#pragma once

/// Sleeping on a word until it changes.

#include <atomic>
#include <cstdint>

namespace amity {

/// Sleeps while `word` is `value`, at most `timeout_ns`; may return early, at a signal for example. The word may be
/// shared with other processes.
void futex_wait(const std::atomic<std::uint32_t>& word, std::uint32_t value, std::uint64_t timeout_ns) noexcept;

/// Wakes the threads that sleep on `word`. Call it after the word has changed.
void futex_wake_all(const std::atomic<std::uint32_t>& word) noexcept;

}  // namespace amity
