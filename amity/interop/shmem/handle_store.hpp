#pragma once

/// Objects whose addresses are the handles of programs: teams and contexts.
///
/// An object that was destroyed stays readable as a `T{}`, so that a later use of its handle is found. It becomes
/// another object only when more than `destroyed_max` others were destroyed after it.

#include <cstddef>
#include <deque>
#include <mutex>

namespace amity::shmem {

/// For several threads at once.
template <class T>
class handle_store {
 public:
  static constexpr std::size_t destroyed_max = 1024;

  T* create(const T& value) {
    const std::lock_guard lock(mutex_);
    if (destroyed_.size() <= destroyed_max) return &objects_.emplace_back(value);
    T* const oldest = destroyed_.front();
    destroyed_.pop_front();
    *oldest = value;
    return oldest;
  }

  /// For an object that was created and has not been destroyed.
  void destroy(T* object) {
    const std::lock_guard lock(mutex_);
    *object = T{};
    destroyed_.push_back(object);
  }

 private:
  std::mutex mutex_;
  std::deque<T> objects_;     ///< which keep their addresses
  std::deque<T*> destroyed_;  ///< the oldest first
};

}  // namespace amity::shmem
