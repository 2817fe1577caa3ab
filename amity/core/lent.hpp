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

/// The bytes of one message, produced in order.
class outgoing_stream : public lent_token {
 public:
  /// Writes the next bytes of the message: as many as `to` holds, or all that are left. Returns how many.
  virtual std::size_t produce(mutable_bytes to) = 0;
};

/// Messages of `item_bytes` each, one behind the other; or one message that a stream produces.
struct lent_buffer {
  handler_id handler = 0;
  epoch_tag epoch = no_epoch;
  std::size_t item_bytes = 0;
  bytes_view rest;                    ///< what has not left
  std::uint64_t fragmented = 0;       ///< number of the message that travels in fragments
  packet_header header{};             ///< of all its fragments, with the color under which it was counted as sent
  outgoing_stream* stream = nullptr;  ///< null: the messages are in `rest`
  std::uint64_t stream_left = 0;      ///< bytes that the stream has not produced
  std::size_t copied_bytes = 0;       ///< memory of the runtime that it holds
  std::unique_ptr<lent_token> token;

  bool done() const noexcept { return rest.empty() && stream_left == 0; }
  /// Whether a message has left in part.
  bool begun() const noexcept { return stream != nullptr ? stream_left < item_bytes : rest.size() % item_bytes != 0; }
};

class lent_buffers {
 public:
  bool empty() const noexcept { return by_peer_.empty(); }
  bool waits_for(rank_t dest) const { return by_peer_.contains(dest); }

  void push(rank_t dest, lent_buffer waiting) {
    copied_bytes_ += waiting.copied_bytes;
    by_peer_[dest].push_back(std::move(waiting));
  }
  /// Inserts the buffer before the others, but after a buffer that has left in part: newest first keeps the queue of
  /// what handlers send short.
  void push_newest_first(rank_t dest, lent_buffer waiting) {
    copied_bytes_ += waiting.copied_bytes;
    auto& queue = by_peer_[dest];
    const bool behind_first = !queue.empty() && queue.front().begun() && !waiting.begun();
    queue.insert(queue.begin() + (behind_first ? 1 : 0), std::move(waiting));
  }

  /// Offers waiting buffers to `send_some(dest, buffer)`, which sends what it can, until one is left with a rest that
  /// it refuses. Returns whether anything was sent.
  template <class SendSome>
  bool drain(SendSome&& send_some) {
    bool any = false;
    for (auto peer = by_peer_.begin(); peer != by_peer_.end();) {
      auto& queue = peer->second;
      while (!queue.empty()) {
        lent_buffer& first = queue.front();
        const std::uint64_t before = first.rest.size() + first.stream_left;
        send_some(peer->first, first);
        any |= first.rest.size() + first.stream_left < before;
        if (!first.done()) break;
        copied_bytes_ -= first.copied_bytes;
        queue.pop_front();
      }
      peer = queue.empty() ? by_peer_.erase(peer) : std::next(peer);
    }
    return any;
  }

  /// Forgets what messages of this handler are left.
  void drop(handler_id handler) {
    for (auto& [dest, queue] : by_peer_) {
      std::erase_if(queue, [&](const lent_buffer& each) {
        if (each.handler != handler) return false;
        copied_bytes_ -= each.copied_bytes;
        return true;
      });
    }
    std::erase_if(by_peer_, [](const auto& peer) { return peer.second.empty(); });
  }

  /// Memory of the runtime that the buffers hold.
  std::size_t copied_bytes() const noexcept { return copied_bytes_; }

  std::size_t count() const {
    std::size_t buffers = 0;
    for (const auto& [dest, queue] : by_peer_) buffers += queue.size();
    return buffers;
  }

 private:
  std::unordered_map<rank_t, std::deque<lent_buffer>> by_peer_;
  std::size_t copied_bytes_ = 0;
};

}  // namespace amity::core
