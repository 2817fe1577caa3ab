#pragma once

/// The epochs of a rank on a thread other than thread 0.
///
/// Thread 0 begins them here and ends them here, or leaves the end to the thread: then the thread takes part in the
/// detection whenever it has nothing else to do, so that thread 0 need not wait for it.

#include <atomic>
#include <memory>
#include <span>
#include <utility>

#include "amity/core/endpoint.hpp"
#include "amity/epoch/detector.hpp"
#include "amity/epoch/epoch.hpp"

namespace amity::epoch {

class thread_epochs final : private core::flushable, private immovable {
 public:
  /// On the thread of `owner`, in front of all else that holds messages there: it is the last that an idle thread asks.
  thread_epochs(core::endpoint& owner, std::unique_ptr<detector> of_any_depth)
      : endpoint_(owner), periods_(owner, std::move(of_any_depth)) {
    endpoint_.add_flushable(*this);
  }
  ~thread_epochs() { endpoint_.remove_flushable(*this); }

  epochs& periods() noexcept { return periods_; }

  /// On this thread: its part of the open epoch is done, and the end is left to it.
  void leave_the_end() {
    periods_.end_body();
    ended_.store(false, std::memory_order_relaxed);
  }
  /// On this thread: waits for the end that was left to it.
  void wait_for_end() {
    endpoint_.wait_until(core::wait_for_end_of_epoch, [this] { return ended(); });
  }
  /// On any thread: whether the end that was left to this thread has come. Acquire; pairs with the release in
  /// flush_all: what the thread has handled can be seen then.
  bool ended() const noexcept { return ended_.load(std::memory_order_acquire); }

 private:
  bool flush_all() override {
    if (ended()) {
      endpoint_.forward_rank_ahead();
      return false;
    }
    const bool news = periods_.try_end_idle();
    if (periods_.inside()) return news;
    ended_.store(true, std::memory_order_release);
    return true;  // whoever waits for the end looks
  }

  core::endpoint& endpoint_;
  epochs periods_;
  std::atomic<bool> ended_ = true;
};

/// Those of the threads 1, 2, ... of a rank.
using other_threads = std::span<const std::unique_ptr<thread_epochs>>;

}  // namespace amity::epoch
