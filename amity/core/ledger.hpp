#pragma once

/// The ledger: how many messages went where, per handler and, where peers are not too many, per peer; always on.
///
/// Termination detection reads the totals of the epochs, stall reports and tests read the rest. Counting happens once a
/// packet, not once a message.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "amity/base/assert.hpp"
#include "amity/base/types.hpp"
#include "amity/core/packet_header.hpp"

namespace amity::core {

struct message_counts {
  std::uint64_t sent = 0;     ///< to the peer, or to all
  std::uint64_t handled = 0;  ///< from the peer, or from all
};

struct packet_counts {
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;  ///< payload
};

/// Counters of one handler, since it was registered.
struct handler_counts {
  message_counts all;
  packet_counts packets;
};

/// What a rank has sent since the job began.
struct traffic {
  std::uint64_t messages_sent = 0;
  std::uint64_t messages_handled = 0;
  std::uint64_t packets_sent = 0;
  std::uint64_t bytes_sent = 0;  ///< payload of packets

  traffic& operator+=(const traffic& other) noexcept {
    messages_sent += other.messages_sent;
    messages_handled += other.messages_handled;
    packets_sent += other.packets_sent;
    bytes_sent += other.bytes_sent;
    return *this;
  }
};

class ledger {
  struct row : handler_counts {
    std::vector<message_counts> by_peer;
  };

 public:
  /// Beyond, only totals are counted: nobody reads thousands of counts, and each rank would pay for them.
  static constexpr rank_t peers_max = 256;

  explicit ledger(rank_t ranks) : peers_(ranks <= peers_max ? static_cast<std::size_t>(ranks) : 0) {}

  void sent(handler_id handler, rank_t dest, std::uint64_t messages, bool in_epoch) {
    rows_[handler].all.sent += messages;
    if (peers_ > 0) rows_[handler].by_peer[static_cast<std::size_t>(dest)].sent += messages;
    total_.messages_sent += messages;
    if (in_epoch) epochs_.sent += messages;
  }
  void handled(handler_id handler, rank_t source, std::uint64_t messages, bool in_epoch) {
    rows_[handler].all.handled += messages;
    if (peers_ > 0) rows_[handler].by_peer[static_cast<std::size_t>(source)].handled += messages;
    total_.messages_handled += messages;
    if (in_epoch) epochs_.handled += messages;
  }
  void packet(handler_id handler, std::size_t payload_bytes) { packets(handler, 1, payload_bytes); }
  void packets(handler_id handler, std::uint64_t count, std::uint64_t payload_bytes) {
    rows_[handler].packets.count += count;
    rows_[handler].packets.bytes += payload_bytes;
    total_.packets_sent += count;
    total_.bytes_sent += payload_bytes;
  }

  /// Whether messages are counted by peer.
  bool knows_peers() const noexcept { return peers_ > 0; }

  /// Messages of one handler between this rank and `peer`, since the handler was registered. Only if `knows_peers()`.
  message_counts of(handler_id handler, rank_t peer) const {
    AMITY_ASSERT(knows_peers(), handler, peer);
    return handler < rows_.size() ? rows_[handler].by_peer[static_cast<std::size_t>(peer)] : message_counts{};
  }

  /// Messages of one handler, in all.
  message_counts of(handler_id handler) const { return handler < rows_.size() ? rows_[handler].all : message_counts{}; }

  /// Packets of one handler that this rank has sent, since the handler was registered.
  packet_counts packets_of(handler_id handler) const {
    return handler < rows_.size() ? rows_[handler].packets : packet_counts{};
  }

  /// All messages that belonged to an epoch, since the job began: what termination detection sums over the ranks.
  const message_counts& epochs() const noexcept { return epochs_; }

  const traffic& total() const noexcept { return total_; }

  /// The counters of a registered handler. They stay where they are until `add_handler` moves them.
  const handler_counts& counts_of(handler_id handler) const { return rows_[handler]; }

  /// Memory that has held counters of handlers, and still holds their values.
  using former_rows = std::vector<row>;

  /// Begins to count for a handler, and forgets the counts of another one that had its number. If that moves the
  /// counters of the other handlers, returns their former memory, for a reader that does not know the new one yet.
  former_rows add_handler(handler_id handler) {
    former_rows former;
    const std::size_t size = handler + std::size_t{1};
    if (rows_.capacity() < size) {
      former.swap(rows_);
      rows_.reserve(std::max(2 * former.size(), size));
      for (row& each : former) rows_.push_back(std::move(each));
    }
    if (rows_.size() < size) rows_.resize(size);
    rows_[handler] = row{{}, std::vector<message_counts>(peers_)};
    return former;
  }

 private:
  std::size_t peers_;  ///< by whom is counted; 0: in all
  std::vector<row> rows_;
  message_counts epochs_;
  traffic total_;
};

}  // namespace amity::core
