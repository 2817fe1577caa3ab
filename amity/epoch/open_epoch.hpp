#pragma once

/// An epoch that has begun and whose end need not be waited for.
///
/// The end is collective and therefore a call, `end` or `try_end`, never the destructor: an epoch that is destroyed
/// without its end ends the job, unless an exception is on its way out, which does that as well.

#include <concepts>
#include <cstdint>
#include <exception>
#include <optional>

#include "amity/epoch/epoch.hpp"

namespace amity::epoch {

class open_epoch {
 public:
  /// Begins an epoch. Collective, without waiting. Throws `error` inside an epoch or a handler.
  explicit open_epoch(epochs& owner) : epochs_(owner) { epochs_.begin(); }
  ~open_epoch() {
    if (!ended_ && std::uncaught_exceptions() == 0) epochs_.fail_unended();
  }
  open_epoch(const open_epoch&) = delete;
  open_epoch& operator=(const open_epoch&) = delete;

  /// One step towards the end, which never waits: runs handlers of some of the messages that have arrived, or takes
  /// part in the detection. True: all messages of the epoch, those sent by handlers too, have been handled on all
  /// ranks. Each rank calls it until then; from its first call on, only handlers send. Throws `error` in handlers, and
  /// when the epoch has ended already.
  bool try_end() {
    return try_end([] { return std::uint64_t{0}; }).has_value();
  }
  /// As above; at the end, the sum over all ranks of what `value()` gave. It is called while this rank has nothing to
  /// handle, and must not send; what it tells changes in handlers only, from the first call on.
  template <std::invocable Value>
  std::optional<std::uint64_t> try_end(Value&& value) {
    epochs_.check_unended(ended_);
    ended_ = epochs_.try_end(value);
    return ended_ ? std::optional(epochs_.sum()) : std::nullopt;
  }

  /// Waits for the end; returns the sum over all ranks of `value()`. Legal after `try_end`, too.
  template <std::invocable Value>
  std::uint64_t end(Value&& value) {
    epochs_.check_unended(ended_);
    const std::uint64_t sum = epochs_.end(value);
    ended_ = true;
    return sum;
  }
  void end() {
    end([] { return std::uint64_t{0}; });
  }

 private:
  epochs& epochs_;
  bool ended_ = false;
};

}  // namespace amity::epoch
