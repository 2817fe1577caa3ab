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
    explicit inside(guard& of) : of_(of.required_ ? &of : nullptr), entered_(true) {
      if (of_ != nullptr) [[unlikely]]
        of_->mutex_.lock();
    }
    /// The same unless another thread is inside: for those who would wait for nothing else.
    inside(guard& of, std::try_to_lock_t)
        : of_(of.required_ && of.mutex_.try_lock() ? &of : nullptr), entered_(of_ != nullptr || !of.required_) {}
    ~inside() {
      if (of_ != nullptr) [[unlikely]]
        of_->mutex_.unlock();
    }
    inside(const inside&) = delete;
    inside& operator=(const inside&) = delete;

    bool entered() const noexcept { return entered_; }

   private:
    guard* of_;
    bool entered_;
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

 private:
  std::recursive_mutex mutex_;
  bool required_ = false;
};

}  // namespace amity::shmem
