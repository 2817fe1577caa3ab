#pragma once

/// The ledger: how many messages went where, per handler and peer, always on.
///
/// Termination detection reads the totals of the epochs, stall reports and tests read the rest. Counting happens once a
/// packet, not once a message.

#include <cstdint>
#include <vector>

#include "amity/base/rank_map.hpp"
#include "amity/base/types.hpp"
#include "amity/core/packet_header.hpp"

namespace amity::core {

struct message_counts {
  std::uint64_t sent = 0;     ///< to the peer
  std::uint64_t handled = 0;  ///< from the peer
};

/// Counts by peer. Few peers: an array. Many: only those that were ever talked to, so that a job of thousands of ranks
/// does not pay for its size on every rank.
class peer_counts {
 public:
  explicit peer_counts(rank_t ranks) {
    if (ranks <= dense_ranks_max) dense_.resize(static_cast<std::size_t>(ranks));
  }

  message_counts& operator[](rank_t peer) {
    return dense_.empty() ? sparse_[peer] : dense_[static_cast<std::size_t>(peer)];
  }
  message_counts at(rank_t peer) const {
    if (!dense_.empty()) return dense_[static_cast<std::size_t>(peer)];
    const message_counts* const found = sparse_.find(peer);
    return found == nullptr ? message_counts{} : *found;
  }

 private:
  static constexpr rank_t dense_ranks_max = 256;
  std::vector<message_counts> dense_;
  rank_map<message_counts> sparse_;
};

struct packet_counts {
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;  ///< payload
};

/// What a rank has sent since the job began.
struct traffic {
  std::uint64_t messages_sent = 0;
  std::uint64_t messages_handled = 0;
  std::uint64_t packets_sent = 0;
  std::uint64_t bytes_sent = 0;  ///< payload of packets
};

class ledger {
 public:
  explicit ledger(rank_t ranks) : ranks_(ranks) {}

  void sent(handler_id handler, rank_t dest, std::uint64_t messages, bool in_epoch) {
    rows_[handler].by_peer[dest].sent += messages;
    total_.messages_sent += messages;
    if (in_epoch) epochs_.sent += messages;
  }
  void handled(handler_id handler, rank_t source, std::uint64_t messages, bool in_epoch) {
    rows_[handler].by_peer[source].handled += messages;
    total_.messages_handled += messages;
    if (in_epoch) epochs_.handled += messages;
  }
  void packet(handler_id handler, std::size_t payload_bytes) {
    ++rows_[handler].packets.count;
    rows_[handler].packets.bytes += payload_bytes;
    ++total_.packets_sent;
    total_.bytes_sent += payload_bytes;
  }

  /// Messages of one handler between this rank and `peer`, since the handler was registered.
  message_counts of(handler_id handler, rank_t peer) const {
    return handler < rows_.size() ? rows_[handler].by_peer.at(peer) : message_counts{};
  }

  /// Messages of one handler, in all.
  message_counts of(handler_id handler) const {
    message_counts all;
    for (rank_t peer = 0; peer < ranks_; ++peer) {
      const message_counts one = of(handler, peer);
      all.sent += one.sent;
      all.handled += one.handled;
    }
    return all;
  }

  /// Packets of one handler that this rank has sent, since the handler was registered.
  packet_counts packets_of(handler_id handler) const {
    return handler < rows_.size() ? rows_[handler].packets : packet_counts{};
  }

  /// All messages that belonged to an epoch, since the job began: what termination detection sums over the ranks.
  const message_counts& epochs() const noexcept { return epochs_; }

  const traffic& total() const noexcept { return total_; }

  /// Begins to count for a handler, and forgets the counts of another one that had its number.
  void add_handler(handler_id handler) {
    if (rows_.size() <= handler) rows_.resize(handler + std::size_t{1}, row{peer_counts(0), {}});
    rows_[handler] = {peer_counts(ranks_), {}};
  }

 private:
  struct row {
    peer_counts by_peer;
    packet_counts packets;
  };

  rank_t ranks_;
  std::vector<row> rows_;
  message_counts epochs_;
  traffic total_;
};

}  // namespace amity::core
