#pragma once

/// An epoch that has begun and whose end need not be waited for.
///
/// The end is collective and therefore a call, `end` or `try_end`, never the destructor: an epoch that is destroyed
/// without its end ends the job, unless an exception is on its way out, which does that as well.

#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>

#include "amity/base/function_ref.hpp"
#include "amity/core/team.hpp"
#include "amity/epoch/epoch.hpp"
#include "amity/epoch/thread_epochs.hpp"

namespace amity::epoch {

/// Used by thread 0. The other threads of the rank take part in the end by themselves.
class open_epoch : private immovable {
 public:
  /// Begins an epoch on all threads of the rank and runs `body(thread)` on each of them, the rank's part but for what
  /// thread 0 adds before the end. Collective; waits for the threads of this rank only. Throws `error` inside an epoch
  /// or a handler.
  open_epoch(core::team& threads, epochs& owner, other_threads others, function_ref<void(rank_t)> body);
  ~open_epoch() {
    if (!ended_ && std::uncaught_exceptions() == 0) epochs_.fail_unended();
  }

  /// One step towards the end, which never waits: runs handlers of some of the messages that have arrived, or takes
  /// part in the detection. True: all messages of the epoch, those sent by handlers too, have been handled on all
  /// ranks. Each rank calls it until then; from its first call on, only handlers send. Throws `error` in handlers, and
  /// when the epoch has ended already.
  bool try_end() { return step(no_value, summand::passive); }
  /// As above; at the end, the sum over all ranks of what `value()` gave. On a rank with one thread it is called
  /// while there is nothing to handle, and what it tells changes in handlers only, from the first call on; on one with
  /// several it is called once, when all messages have been handled everywhere. It must not send.
  std::optional<std::uint64_t> try_end(function_ref<std::uint64_t()> value) {
    return step(value, when()) ? std::optional(epochs_.sum()) : std::nullopt;
  }

  /// Waits for the end; returns the sum over all ranks of `value()`. Legal after `try_end`, too.
  std::uint64_t end(function_ref<std::uint64_t()> value) { return wait(value, when()); }
  void end() { wait(no_value, summand::passive); }

 private:
  static constexpr auto no_value = [] { return std::uint64_t{0}; };

  thread_epochs& other(rank_t thread) const { return *others_[static_cast<std::size_t>(thread) - 1]; }
  /// Others may still handle what a summand of the whole rank depends on when thread 0 has nothing left to handle.
  summand when() const noexcept { return others_.empty() ? summand::passive : summand::late; }

  bool step(function_ref<std::uint64_t()> value, summand time);
  std::uint64_t wait(function_ref<std::uint64_t()> value, summand time);

  core::team& threads_;
  epochs& epochs_;
  other_threads others_;
  bool ended_ = false;
};

}  // namespace amity::epoch
