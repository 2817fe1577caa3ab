#pragma once

/// The locks that this PE holds, and the threads that have set them: to set such a lock again would never return.

#include <algorithm>
#include <mutex>
#include <thread>
#include <vector>

namespace amity::shmem {

/// For several threads at once.
class held_locks {
 public:
  void add(const volatile long* lock) {
    const std::lock_guard alone(mutex_);
    all_.push_back({lock, std::this_thread::get_id()});
  }
  /// False: this PE does not hold the lock.
  bool remove(const volatile long* lock) {
    const std::lock_guard alone(mutex_);
    return std::erase_if(all_, [&](const held& each) { return each.lock == lock; }) > 0;
  }
  /// Whether the calling thread has set the lock.
  bool has_of_this_thread(const volatile long* lock) {
    const std::lock_guard alone(mutex_);
    return std::ranges::any_of(
        all_, [&](const held& each) { return each.lock == lock && each.by == std::this_thread::get_id(); });
  }

 private:
  struct held {
    const volatile long* lock;
    std::thread::id by;
  };

  std::mutex mutex_;
  std::vector<held> all_;
};

}  // namespace amity::shmem
