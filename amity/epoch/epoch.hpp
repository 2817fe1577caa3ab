#pragma once

/// Epochs: the periods in which messages are sent and handled.
///
/// An epoch is collective: all ranks begin and end the same epochs in the same order. Messages of an epoch are handled
/// within it on every rank; `end` returns when all of them, those sent by handlers too, have been handled everywhere.
/// There is no barrier at the beginning: messages of a rank that is ahead are held back until this rank begins.

#include <cstdint>
#include <memory>
#include <utility>

#include "amity/core/endpoint.hpp"
#include "amity/epoch/detector.hpp"

namespace amity::epoch {

class epochs {
 public:
  /// Uses `owner`, which must outlive this object; the detector belongs to the same endpoint.
  epochs(core::endpoint& owner, std::unique_ptr<detector> how) : endpoint_(owner), detector_(std::move(how)) {}

  /// Collective, without waiting. Throws `error` inside an epoch or a handler.
  void begin();

  /// Collective; waits. `value()` is this rank's summand, asked for whenever the rank is passive: it must not send.
  /// Returns the sum over all ranks of the values at the end.
  template <class Value>
  std::uint64_t end(Value&& value) {
    before_end();
    endpoint_.wait_until(
        "the end of an epoch", [this] { return detector_->finished() && endpoint_.control_sent(); },
        [&] { return endpoint_.quiet() && !detector_->contributed() && detector_->passive(value()); });
    after_end();
    return detector_->sum();
  }

  bool inside() const noexcept { return endpoint_.epoch_open(); }
  /// Epochs begun so far.
  std::uint64_t count() const noexcept { return count_; }
  const detector& how() const noexcept { return *detector_; }

 private:
  void before_end();
  void after_end() { endpoint_.close_epoch(); }

  core::endpoint& endpoint_;
  std::unique_ptr<detector> detector_;
  std::uint64_t count_ = 0;
};

}  // namespace amity::epoch
