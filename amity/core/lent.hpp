#pragma once

/// Messages that are sent from where they lie, packet by packet: memory of the user, or what a stream produces.
///
/// The token says whose memory it is: it is destroyed, once, when nothing refers to the memory, because all of
/// it has left, its handler is removed, or the endpoint ends.

#include <cstddef>
#include <cstdint>
#include <memory>

#include "amity/base/types.hpp"
#include "amity/core/packet_header.hpp"
#include "amity/fabric/fabric.hpp"

namespace amity::core {

class registry;

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
  /// Memory that a buffer takes while it waits, without the memory that it refers to.
  static constexpr std::size_t overhead_bytes = 192;

  packet_header header{};  ///< of all packets, of the kind `fragment` if an item does not fit a packet
  world_number world = 0;
  std::size_t item_bytes = 0;
  bytes_view rest;                     ///< what has not left
  std::uint64_t fragmented = 0;        ///< number of the next message that travels in fragments
  outgoing_stream* stream = nullptr;   ///< null: the messages are in `rest`
  std::uint64_t stream_left = 0;       ///< bytes that the stream has not produced
  std::size_t copied_bytes = 0;        ///< memory of the runtime that it holds
  const registry* handlers = nullptr;  ///< for errors
  std::unique_ptr<lent_token> token;

  std::uint64_t bytes_left() const noexcept { return rest.size() + stream_left; }
  bool done() const noexcept { return bytes_left() == 0; }
  /// Whether a message has left in part.
  bool begun() const noexcept { return stream != nullptr ? stream_left < item_bytes : rest.size() % item_bytes != 0; }
  std::size_t memory_bytes() const noexcept { return overhead_bytes + copied_bytes; }

  /// What is left: packets of at most `packet_bytes_max`, and the bytes in them.
  struct packets {
    std::uint64_t count;
    std::uint64_t bytes;
  };
  packets left(std::size_t packet_bytes_max) const noexcept;

  /// Sends as many packets to `lane`, a rank of `to`, as find a credit. Returns how many. Throws `error` if the stream
  /// produces too little, and what it throws: the message never arrives then.
  std::size_t send_some(fabric::fabric& to, rank_t lane);

  /// Takes the next bytes of a message, of which as many are left. Throws as `send_some`.
  void fill(mutable_bytes content);

 private:
  bool send_packet(fabric::fabric& to, rank_t lane);
  bool send_fragment(fabric::fabric& to, rank_t lane);
};

}  // namespace amity::core
