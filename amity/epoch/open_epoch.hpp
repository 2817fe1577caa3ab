#pragma once

/// An epoch that has begun and whose end need not be waited for.
///
/// The end is collective and therefore a call, `end` or `try_end`, never the destructor: an epoch that is destroyed
/// without its end ends the job, unless an exception is on its way out, which does that as well.

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>

#include "amity/core/team.hpp"
#include "amity/epoch/epoch.hpp"
#include "amity/epoch/thread_epochs.hpp"

namespace amity::epoch {

/// Used by thread 0. The other threads of the rank take part in the end by themselves.
class open_epoch {
 public:
  /// Begins an epoch on all threads of the rank and runs `body(thread)` on each of them, the rank's part but for what
  /// thread 0 adds before the end. Collective; waits for the threads of this rank only. Throws `error` inside an epoch
  /// or a handler.
  template <std::invocable<rank_t> Body>
  open_epoch(core::team& threads, epochs& owner, other_threads others, Body&& body)
      : threads_(threads), epochs_(owner), others_(others) {
    epochs_.check_begin();
    threads_.run([&](rank_t thread) {
      epochs& own = thread == 0 ? epochs_ : other(thread).periods();
      own.begin();
      body(thread);
      if (thread > 0) other(thread).leave_the_end();
    });
  }
  ~open_epoch() {
    if (!ended_ && std::uncaught_exceptions() == 0) epochs_.fail_unended();
  }
  open_epoch(const open_epoch&) = delete;
  open_epoch& operator=(const open_epoch&) = delete;

  /// One step towards the end, which never waits: runs handlers of some of the messages that have arrived, or takes
  /// part in the detection. True: all messages of the epoch, those sent by handlers too, have been handled on all
  /// ranks. Each rank calls it until then; from its first call on, only handlers send. Throws `error` in handlers, and
  /// when the epoch has ended already.
  bool try_end() { return step(no_value, summand::passive); }
  /// As above; at the end, the sum over all ranks of what `value()` gave. On a rank with one thread it is called
  /// while there is nothing to handle, and what it tells changes in handlers only, from the first call on; on one with
  /// several it is called once, when all messages have been handled everywhere. It must not send.
  template <std::invocable Value>
  std::optional<std::uint64_t> try_end(Value&& value) {
    return step(value, when()) ? std::optional(epochs_.sum()) : std::nullopt;
  }

  /// Waits for the end; returns the sum over all ranks of `value()`. Legal after `try_end`, too.
  template <std::invocable Value>
  std::uint64_t end(Value&& value) {
    return wait(value, when());
  }
  void end() { wait(no_value, summand::passive); }

 private:
  static std::uint64_t no_value() { return 0; }

  thread_epochs& other(rank_t thread) const { return *others_[static_cast<std::size_t>(thread) - 1]; }
  /// Others may still handle what a summand of the whole rank depends on when thread 0 has nothing left to handle.
  summand when() const noexcept { return others_.empty() ? summand::passive : summand::late; }

  template <class Value>
  bool step(Value&& value, summand time) {
    epochs_.check_unended(ended_);
    const auto others_are_inside = [&] {
      return !std::ranges::all_of(others_, [](const auto& each) { return each->ended(); });
    };
    return ended_ = epochs_.try_end(value, time, others_are_inside);
  }
  template <class Value>
  std::uint64_t wait(Value&& value, summand time) {
    epochs_.check_unended(ended_);
    epochs_.end_body();
    threads_.run([&](rank_t thread) {
      if (thread == 0) {
        epochs_.end(value, time);
      } else {
        other(thread).wait_for_end();
      }
    });
    ended_ = true;
    return epochs_.sum();
  }

  core::team& threads_;
  epochs& epochs_;
  other_threads others_;
  bool ended_ = false;
};

}  // namespace amity::epoch
