#pragma once

/// A lock for threads that use one object in turn, and seats on which they wait for one another.
///
/// One thread at a time is inside, as often as it likes. A thread that has to wait for what another thread does takes a
/// seat: it is outside until it is woken. If there is one thread, and `require` has not been called, the guard costs a
/// branch.

#include <atomic>
#include <cstdint>
#include <mutex>

#include "amity/base/thread_mark.hpp"
#include "amity/base/types.hpp"

namespace amity {

class guard {
 public:
  /// Before there is a second thread.
  void require() noexcept { required_ = true; }

  /// Inside until its end.
  class inside : private immovable {
   public:
    explicit inside(guard& of) : of_(of.required_ ? &of : nullptr), entered_(true) {
      if (of_ != nullptr) [[unlikely]]
        of_->enter();
    }
    /// Enters unless another thread is inside, and does not wait. Ask `entered`.
    inside(guard& of, std::try_to_lock_t)
        : of_(of.required_ && of.try_enter() ? &of : nullptr), entered_(of_ != nullptr || !of.required_) {}
    ~inside() {
      if (of_ != nullptr) [[unlikely]]
        of_->exit();
    }

    bool entered() const noexcept { return entered_; }

   private:
    guard* of_;
    bool entered_;
  };

  /// For a thread that is inside and has to wait there: outside until its end, so that others may come in. Not for code
  /// that counts on being alone, such as handlers.
  class outside : private immovable {
   public:
    explicit outside(guard& of) : of_(of), depth_(of.is_inside() ? of.give_up() : 0) {}
    ~outside() {
      if (depth_ > 0) of_.take_back(depth_);
    }

   private:
    guard& of_;
    std::uint32_t depth_;
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

  // --- If a lock is required. ---

  /// Returns whether the calling thread is inside.
  bool is_inside() const noexcept { return inside_.load(std::memory_order_relaxed) == &thread_mark; }
  /// Returns how often the thread inside has entered.
  std::uint32_t depth() const noexcept { return depth_; }
  void enter() {
    if (is_inside()) {
      ++depth_;
    } else {
      take_back(1);
    }
  }
  bool try_enter() {
    if (is_inside()) return ++depth_ > 0;
    if (!mutex_.try_lock()) return false;
    begin(1);
    return true;
  }
  /// For the thread inside.
  void exit() {
    if (--depth_ == 0) end();
  }

  /// How often threads have entered. It rises by 1 when a thread that was `outside` returns.
  std::uint32_t entries() const noexcept { return entries_.load(std::memory_order_relaxed); }
  /// For the thread inside, between two looks for something: lets a thread in that waits to enter. Returns whether one
  /// came in.
  bool let_in();

  // --- Seats, for threads that are inside. ---

  /// Waits outside until another thread calls `wake`, at most `timeout_ns`; may return early.
  void sit(std::uint64_t timeout_ns);
  /// Wakes the threads on all seats. They are inside one after the other once the caller is outside.
  void wake() noexcept {
    if (asleep() > 0) [[unlikely]]
      wake_seats();
  }
  /// Returns whether a thread is on a seat, or has been woken and waits to enter.
  bool seats_taken() const noexcept { return sitting_ > 0; }
  /// Returns how many threads are on seats and have not been woken. Any thread may ask.
  std::uint32_t asleep() const noexcept { return asleep_.load(std::memory_order_relaxed); }
  /// Returns how often seats have been taken, and how often a seat ended with its time.
  std::uint64_t sat() const noexcept { return sat_; }
  std::uint64_t expired() const noexcept { return expired_; }

 private:
  // A thread that finds its own mark has stored it, so the load needs no order.
  void begin(std::uint32_t depth) noexcept {
    inside_.store(&thread_mark, std::memory_order_relaxed);
    depth_ = depth;
    entries_.store(entries() + 1, std::memory_order_relaxed);
  }
  void end() noexcept {
    inside_.store(nullptr, std::memory_order_relaxed);
    mutex_.unlock();
  }
  std::uint32_t give_up() noexcept {
    const std::uint32_t depth = depth_;
    end();
    return depth;
  }
  void take_back(std::uint32_t depth) {
    if (!mutex_.try_lock()) {
      entering_.fetch_add(1, std::memory_order_relaxed);
      mutex_.lock();
      entering_.fetch_sub(1, std::memory_order_relaxed);
    }
    begin(depth);
  }
  [[gnu::cold]] void wake_seats() noexcept;

  std::mutex mutex_;
  std::atomic<const char*> inside_ = nullptr;  ///< mark of the thread inside
  std::atomic<std::uint32_t> entering_ = 0;    ///< threads that wait to enter
  std::atomic<std::uint32_t> entries_ = 0;     ///< so far; written by the thread inside
  std::atomic<std::uint32_t> wakes_ = 0;       ///< the futex of the seats; written by the thread inside
  std::atomic<std::uint32_t> asleep_ = 0;      ///< threads in `sit` that have not been woken; written inside
  bool required_ = false;
  // Members that the thread inside uses.
  std::uint32_t depth_ = 0;    ///< how often it has entered
  std::uint32_t sitting_ = 0;  ///< threads in `sit`
  std::uint64_t sat_ = 0;
  std::uint64_t expired_ = 0;
};

}  // namespace amity
