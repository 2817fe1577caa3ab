#pragma once

/// A value that signal handlers read while threads replace it.
///
/// A reader never waits: it may interrupt any thread, also one that replaces the value or that holds the lock of the
/// heap. `replace` waits until no reader uses the former value. This is read-copy-update with one count of readers.

#include <atomic>
#include <memory>
#include <thread>
#include <utility>

#include "amity/base/types.hpp"

namespace amity {

/// Has no destructor, so that it can exist as long as the process: end with `replace(nullptr)`.
template <class T>
class published : private immovable {
 public:
  constexpr published() noexcept = default;

  /// One thread at a time. Null: readers find nothing.
  void replace(std::unique_ptr<const T> next) noexcept {
    const std::unique_ptr<const T> former(value_.exchange(next.release()));
    while (readers_.load() > 0) std::this_thread::yield();
  }

  /// The value, for the thread that replaces it.
  const T* get() const noexcept { return value_.load(std::memory_order_relaxed); }

  /// Calls read(value), if there is a value.
  template <class Read>
  void read(Read&& read) const noexcept {
    readers_.fetch_add(1);
    if (const T* const now = value_.load()) std::forward<Read>(read)(*now);
    readers_.fetch_sub(1);
  }

 private:
  // Sequentially consistent: a reader is counted before it loads the value, and `replace` stores the next value before
  // it loads the count. A reader that `replace` does not see has the next value.
  std::atomic<const T*> value_ = nullptr;
  mutable std::atomic<int> readers_ = 0;
};

}  // namespace amity
