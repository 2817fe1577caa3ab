#pragma once

/// Barrier and reductions of one word of a world.
///
/// `group_collectives` has the tree. This class adds what only worlds need: ranks compare in which order they call
/// collectives and begin epochs, they compare their handlers in barriers, and a rank that waits in a collective may ask
/// a rank that has begun an epoch instead.

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "amity/base/types.hpp"
#include "amity/core/call_order.hpp"
#include "amity/core/group_collectives.hpp"
#include "amity/core/reduction.hpp"

namespace amity::core {

class collectives : private immovable {
 public:
  using send_function = group_collectives::send_function;

  /// `differs(rank)` hears of a rank that has other handlers than this one; it must end the job, now or later.
  collectives(rank_t rank, rank_t size, send_function send, std::function<void(rank_t)> differs);

  /// `handlers` is the fingerprint of this rank's handlers, which barriers compare.
  void start(reduction operation, std::uint64_t value, std::uint64_t handlers);
  bool done() const noexcept { return tree_.done(); }
  std::uint64_t result() const noexcept { return tree_.result(); }

  /// Throws `error` if the source has called other collectives, or begun other epochs, than this rank, or has sent an
  /// invalid packet.
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
  bool may_ask_rank_ahead() const noexcept { return ahead_ != no_rank && asked_ != order_.collective().number; }

 private:
  struct wire;
  /// A part, as it has arrived.
  struct arrival {
    rank_t source;
    collective_call call;
    std::uint64_t handlers;  ///< fingerprint of the handlers
    std::array<std::byte, group_collectives::word_part_bytes> part;
  };

  void send(rank_t dest, std::uint32_t form, bytes_view part) const;
  void keep(const arrival& early);
  void take(const arrival& due);
  void compare_waiting() const;

  rank_t rank_;
  rank_t size_;
  send_function send_;
  std::function<void(rank_t)> differs_;
  group_collectives tree_;
  std::vector<arrival> early_;  ///< parts of children that are one collective ahead
  bool forwarded_ = false;      ///< `ahead_`, to the thread that calls collectives
  call_order order_;
  rank_t ahead_ = no_rank;    ///< has begun an epoch that this rank has not begun
  collective_call question_;  ///< of a rank that waits in a collective, the last one
  rank_t questioner_ = no_rank;
  std::uint32_t epochs_ = 0;  ///< that this thread has begun
  std::uint32_t asked_ = 0;   ///< number of the last collective in which it was asked
  std::uint64_t handlers_ = 0;
};

}  // namespace amity::core
