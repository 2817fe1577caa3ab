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

#include "amity/base/function_ref.hpp"
#include "amity/core/endpoint.hpp"
#include "amity/epoch/detector.hpp"

namespace amity::epoch {

/// When a rank or thread is asked for its summand.
enum class summand {
  passive,  ///< whenever it has nothing left to handle, maybe several times; costs nothing
  late,     ///< once, when all messages of the epoch have been handled everywhere; costs a wave
};

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

  /// Collective; waits. `value()` is this rank's summand, asked for at the time `when`: it must not send. Returns the
  /// sum over all ranks of the values at the end.
  std::uint64_t end(function_ref<std::uint64_t()> value, summand when = summand::passive);

  /// One step towards the end, without waiting: handles a bounded number of the packets that have arrived, or takes
  /// part in the detection. True: the epoch has ended, with `sum()`, unless `stays()`: then the rank goes on to step.
  /// From the first call on the rank sends in handlers only: the detector counts on it that a rank without messages to
  /// handle stays as it is.
  bool try_end(function_ref<std::uint64_t()> value, summand when, function_ref<bool()> stays);
  bool try_end(function_ref<std::uint64_t()> value, summand when = summand::passive) {
    return try_end(value, when, [] { return false; });
  }
  /// As above, for whoever makes progress and has nothing else to do. Returns whether anything has happened; `inside()`
  /// tells the end.
  bool try_end_idle();
  /// Of the last epoch that has ended.
  std::uint64_t sum() const noexcept { return detector_->sum(); }

  /// For an epoch that is ended through an object: throws `error` if it `has_ended` before.
  void check_unended(bool has_ended) const;
  /// Ends the job: such an object was destroyed before its epoch has ended.
  void fail_unended() noexcept;

  /// Throws `error` inside an epoch or a handler: none can begin.
  void check_begin() const;
  /// From now on only handlers send. Throws `error` outside epochs, and inside handlers.
  void end_body();

  bool inside() const noexcept { return endpoint_.epoch_open(); }
  /// Epochs begun so far.
  std::uint64_t count() const noexcept { return count_; }
  /// The detector of this epoch, or of the last one.
  const detector& how() const noexcept { return *detector_; }

 private:
  bool ended() const noexcept { return detector_->finished() && endpoint_.control_sent(); }
  /// The rank has nothing to do. Returns whether that was news to the detector.
  bool take_part(function_ref<std::uint64_t()> value, summand when);
  void leave() { endpoint_.close_epoch(); }

  core::endpoint& endpoint_;
  std::unique_ptr<detector> of_any_depth_;
  std::unique_ptr<detector> of_declared_depth_;
  detector* detector_;
  std::vector<int> depths_;  ///< requested
  std::uint64_t count_ = 0;
};

}  // namespace amity::epoch
