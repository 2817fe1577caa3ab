#pragma once

/// Epochs: the periods in which messages are sent and handled.
///
/// An epoch is collective: all ranks begin and end the same epochs in the same order. Messages of an epoch are handled
/// within it on every rank; `end` returns when all of them, those sent by handlers too, have been handled everywhere.
/// There is no barrier at the beginning: messages of a rank that is ahead are held back until this rank begins.
/// `try_end` is the end in steps: it returns at once, and has to be called until it has found the end.

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "amity/core/endpoint.hpp"
#include "amity/epoch/detector.hpp"

namespace amity::epoch {

class epochs {
 public:
  /// Uses `owner`, which must outlive this object; the detectors, for epochs of any depth and for those with a declared
  /// one, belong to the same endpoint.
  epochs(core::endpoint& owner, std::unique_ptr<detector> of_any_depth, std::unique_ptr<detector> of_declared_depth);
  epochs(core::endpoint& owner, std::unique_ptr<detector> of_any_depth)
      : epochs(owner, std::move(of_any_depth), make_counting_rounds(owner)) {}

  /// Collective, without waiting. Throws `error` inside an epoch or a handler.
  void begin();

  /// Epochs that begin from now on have at least this depth, or the largest that a rank gives, until it is released;
  /// returns that one. Without requests epochs have any depth. Collective; waits. Throws `error` inside an epoch or a
  /// handler, and for a negative depth.
  int request_depth(int depth);
  /// As above, for a depth that the ranks have agreed on. Without waiting.
  void add_depth(int agreed) { depths_.push_back(agreed); }
  /// Collective, without waiting; outside epochs.
  void release_depth(int requested) noexcept;
  /// The depth of an epoch that would begin now.
  int depth() const noexcept;

  /// Collective; waits. `value()` is this rank's summand, asked for whenever the rank is passive: it must not send.
  /// Returns the sum over all ranks of the values at the end.
  template <class Value>
  std::uint64_t end(Value&& value) {
    before_end();
    endpoint_.wait_until(
        "the end of an epoch", [this] { return ended(); }, [&] { return take_part(value); });
    after_end();
    return detector_->sum();
  }

  /// One step towards the end, without waiting: handles a bounded number of the packets that have arrived, or takes
  /// part in the detection. True: the epoch has ended, with `sum()`. From the first call on the rank sends in handlers
  /// only: the detector counts on it that a rank without messages to handle stays as it is.
  template <class Value>
  bool try_end(Value&& value) {
    before_end();
    const bool handled = endpoint_.progress();
    // Whoever sends after this call finds no open packet to put it in, and hears that it is too late.
    const bool sent = endpoint_.flush_all();
    if (!handled && !sent && !take_part(value)) endpoint_.transport().wait(0);  // it tells if the job has ended
    if (!ended()) return false;
    after_end();
    return true;
  }
  /// Of the last epoch that has ended.
  std::uint64_t sum() const noexcept { return detector_->sum(); }

  /// For an epoch that is ended through an object: throws `error` if it `has_ended` before.
  void check_unended(bool has_ended) const;
  /// Ends the job: such an object was destroyed before its epoch has ended.
  void fail_unended() noexcept;

  bool inside() const noexcept { return endpoint_.epoch_open(); }
  /// Epochs begun so far.
  std::uint64_t count() const noexcept { return count_; }
  /// The detector of this epoch, or of the last one.
  const detector& how() const noexcept { return *detector_; }

 private:
  void before_end();
  bool ended() const noexcept { return detector_->finished() && endpoint_.control_sent(); }
  /// The rank has nothing to do. Returns whether that was news to the detector.
  template <class Value>
  bool take_part(Value& value) {
    return endpoint_.quiet() && !detector_->contributed() && detector_->passive(value());
  }
  void after_end() { endpoint_.close_epoch(); }

  core::endpoint& endpoint_;
  std::unique_ptr<detector> of_any_depth_;
  std::unique_ptr<detector> of_declared_depth_;
  detector* detector_;
  std::vector<int> depths_;  ///< requested
  std::uint64_t count_ = 0;
};

}  // namespace amity::epoch
