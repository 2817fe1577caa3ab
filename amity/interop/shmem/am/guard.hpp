#pragma once

/// Keeps the threads of a PE apart, where it has several that call the library: then one at a time is inside the engine
/// of active messages, handlers included. A handler may call the engine again. Where there is one thread it costs a
/// branch.

#include <mutex>

namespace amity::shmem {

class guard {
 public:
  /// Before there is a second thread.
  void require() noexcept { required_ = true; }

  /// Inside until its end.
  class inside {
   public:
    explicit inside(guard& of) : of_(of.required_ ? &of : nullptr) {
      if (of_ != nullptr) [[unlikely]]
        of_->mutex_.lock();
    }
    ~inside() {
      if (of_ != nullptr) [[unlikely]]
        of_->mutex_.unlock();
    }
    inside(const inside&) = delete;
    inside& operator=(const inside&) = delete;

   private:
    guard* of_;
  };

  /// The thread that is inside stays there beyond that end, until it leaves.
  void stay() {
    if (required_) [[unlikely]]
      mutex_.lock();
  }
  void leave() {
    if (required_) [[unlikely]]
      mutex_.unlock();
  }

  /// For a thread that has nothing else to do, or cannot wait.
  std::unique_lock<std::recursive_mutex> try_enter() { return {mutex_, std::try_to_lock}; }

 private:
  std::recursive_mutex mutex_;
  bool required_ = false;
};

}  // namespace amity::shmem
