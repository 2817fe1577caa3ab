#pragma once

/// Memory of the user's that waits to be sent from where it lies.
///
/// What finds no credit waits as a reference, first come first served for each rank, and goes out packet by packet as
/// credits return. The token says whose memory it is: it is destroyed, once, when nothing refers to the memory any
/// more, because all of it has left, its handler is removed, or the endpoint ends.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <unordered_map>
#include <utility>

#include "amity/base/types.hpp"
#include "amity/core/packet_header.hpp"

namespace amity::core {

/// Kept as long as memory is lent.
struct lent_token {
  virtual ~lent_token() = default;
};

/// Messages of `item_bytes` each, one behind the other.
struct lent_buffer {
  handler_id handler = 0;
  epoch_tag epoch = no_epoch;
  std::size_t item_bytes = 0;
  bytes_view rest;               ///< what has not left
  std::uint64_t fragmented = 0;  ///< number of the message that travels in fragments
  packet_header header{};        ///< of all its fragments, with the color under which the message was counted as sent
  std::unique_ptr<lent_token> token;
};

class lent_buffers {
 public:
  bool empty() const noexcept { return by_peer_.empty(); }
  bool waits_for(rank_t dest) const { return by_peer_.contains(dest); }

  void push(rank_t dest, lent_buffer waiting) { by_peer_[dest].push_back(std::move(waiting)); }

  /// Offers waiting buffers to `send_some(dest, buffer)`, which sends what it can, until one is left with a rest that
  /// it refuses. Returns whether anything was sent.
  template <class SendSome>
  bool drain(SendSome&& send_some) {
    bool any = false;
    for (auto peer = by_peer_.begin(); peer != by_peer_.end();) {
      auto& queue = peer->second;
      while (!queue.empty()) {
        const std::size_t before = queue.front().rest.size();
        send_some(peer->first, queue.front());
        any |= queue.front().rest.size() < before;
        if (!queue.front().rest.empty()) break;
        queue.pop_front();
      }
      peer = queue.empty() ? by_peer_.erase(peer) : std::next(peer);
    }
    return any;
  }

  /// Forgets what messages of this handler are left.
  void drop(handler_id handler) {
    for (auto& [dest, queue] : by_peer_) {
      std::erase_if(queue, [&](const lent_buffer& each) { return each.handler == handler; });
    }
    std::erase_if(by_peer_, [](const auto& peer) { return peer.second.empty(); });
  }

  std::size_t count() const {
    std::size_t buffers = 0;
    for (const auto& [dest, queue] : by_peer_) buffers += queue.size();
    return buffers;
  }

 private:
  std::unordered_map<rank_t, std::deque<lent_buffer>> by_peer_;
};

}  // namespace amity::core
