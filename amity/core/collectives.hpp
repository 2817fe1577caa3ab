#pragma once

/// Barrier and reductions of one word, over the binomial tree.
///
/// A state machine without waiting: `start` gives this rank's part, `on_packet` takes the parts of others, `done` tells
/// when the result is there. A rank may be one collective ahead of another, never two: it leaves one only after all
/// have entered it. Ranks also compare here in which order they call collectives and begin epochs.

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "amity/base/types.hpp"
#include "amity/core/call_order.hpp"
#include "amity/core/reduction.hpp"

namespace amity::core {

class collectives {
 public:
  /// `send(dest, bytes)` must deliver, now or later.
  using send_function = std::function<void(rank_t, bytes_view)>;

  /// `differs(rank)` hears of a rank that has other handlers than this one; it must end the job, now or later.
  collectives(rank_t rank, rank_t size, send_function send, std::function<void(rank_t)> differs);

  /// `handlers` is the fingerprint of this rank's handlers, which barriers compare.
  void start(reduction operation, std::uint64_t value, std::uint64_t handlers);
  bool done() const noexcept { return finished_ == started_; }
  std::uint64_t result() const noexcept { return result_; }

  /// Throws `error` if the source has called other collectives, or begun other epochs, than this rank.
  void on_packet(rank_t source, bytes_view payload);

  /// Epochs of this rank, in their order among collectives. The first and the third throw as `on_packet` does.
  void begin_epoch();
  void end_epoch_body() noexcept { order_.end_body(); }
  void await_epoch_end();
  void close_epoch() noexcept { order_.close_epoch(); }
  /// Some of the ranks wait for the end of the epoch that this rank is in. Throws as `on_packet` does.
  void compare(const end_call& theirs) { order_.compare(theirs); }
  const call_order& order() const noexcept { return order_; }

  /// Notes messages from rank `source` of an epoch that this rank has not begun.
  void note_rank_ahead(rank_t source) noexcept { ahead_ = source; }
  /// On another thread than the one that calls collectives: an epoch begins here, too.
  void follow_epoch() noexcept {
    ++epochs_;
    ahead_ = no_rank;
    forwarded_ = false;
  }
  /// There, too: sends that thread what `note_rank_ahead` has noted, once an epoch.
  void forward_rank_ahead(const send_function& to_first_thread);
  /// This rank waits in a collective, and has nothing else to do. Those messages may hold all the credits that the
  /// other rank needs to tell more, so that this rank tells it in which collective it is, and the other one compares.
  /// Once a collective.
  void ask_rank_ahead();
  bool may_ask_rank_ahead() const noexcept { return ahead_ != no_rank && asked_ != started_; }

 private:
  struct wire;
  struct round {
    std::vector<std::uint64_t> parts;     ///< of the children, in their order: sums of doubles are reproducible
    std::vector<std::uint64_t> handlers;  ///< fingerprints of the handlers
    int arrived = 0;
    rank_t source = 0;  ///< of the last part, and the call that it belongs to
    collective_call call;
  };

  round& round_of(std::uint32_t sequence) { return rounds_[sequence & 1]; }
  void send(rank_t dest, std::uint16_t form, std::uint64_t value) const;
  void try_combine();
  void finish(std::uint64_t result);
  void compare_waiting() const;
  bool handlers_agree(const round& parts);

  rank_t rank_;
  rank_t size_;
  send_function send_;
  std::function<void(rank_t)> differs_;
  std::array<round, 2> rounds_;
  int children_;
  std::uint32_t started_ = 0;
  std::uint32_t finished_ = 0;
  bool forwarded_ = false;  ///< `ahead_`, to the thread that calls collectives
  bool combined_ = false;   ///< this rank's part of the current round has gone up
  call_order order_;
  rank_t ahead_ = no_rank;    ///< has begun an epoch that this rank has not begun
  collective_call question_;  ///< of a rank that waits in a collective, the last one
  rank_t questioner_ = no_rank;
  std::uint32_t epochs_ = 0;  ///< that this thread has begun
  std::uint32_t asked_ = 0;   ///< number of the last collective in which it was asked
  std::uint64_t own_ = 0;
  std::uint64_t handlers_ = 0;
  std::uint64_t result_ = 0;
};

}  // namespace amity::core
