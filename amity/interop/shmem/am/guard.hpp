#pragma once

/// Keeps the threads of a PE apart, where it has several that call the library: then one at a time is inside the engine
/// of active messages, handlers included, and one inside the network. A handler may call the engine again. Where there
/// is one thread it costs a branch.

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
        of_->enter();
    }
    /// The same unless another thread is inside: for those who would wait for nothing else.
    inside(guard& of, std::try_to_lock_t)
        : of_(of.required_ && of.try_enter() ? &of : nullptr), entered_(of_ != nullptr || !of.required_) {}
    ~inside() {
      if (of_ != nullptr) [[unlikely]]
        of_->exit();
    }
    inside(const inside&) = delete;
    inside& operator=(const inside&) = delete;

    bool entered() const noexcept { return entered_; }

   private:
    guard* of_;
    bool entered_;
  };

  /// For one that is inside and has to wait there: outside until its end, so that others may come in. Not for who
  /// counts on being alone, as handlers do.
  class outside {
   public:
    explicit outside(guard& of) : of_(of), depth_(of.depth_) {
      for (int i = 0; i < depth_; ++i) of_.exit();
    }
    ~outside() {
      for (int i = 0; i < depth_; ++i) of_.enter();
    }
    outside(const outside&) = delete;
    outside& operator=(const outside&) = delete;

   private:
    guard& of_;
    int depth_;
  };

  /// The thread that is inside stays there beyond that end, until it leaves.
  void stay() {
    if (required_) [[unlikely]]
      enter();
  }
  void leave() {
    if (required_) [[unlikely]]
      exit();
  }

 private:
  void enter() {
    mutex_.lock();
    ++depth_;
  }
  bool try_enter() {
    if (!mutex_.try_lock()) return false;
    ++depth_;
    return true;
  }
  void exit() {
    --depth_;
    mutex_.unlock();
  }

  std::recursive_mutex mutex_;
  int depth_ = 0;  ///< how often the thread inside has come in
  bool required_ = false;
};

}  // namespace amity::shmem
