#pragma once

/// What one thread of a rank has accepted and the fabric has not taken, in all worlds.
///
/// Handlers must not wait, so what they send without a credit is kept here, in memory of the sender, and leaves as
/// credits return. A peer's packets leave in this order: those of the runtime, in the order in which they were pushed;
/// messages that belong to no epoch; messages of epochs. Of each kind packets leave newest first, which keeps the
/// outbox small (depth first instead of breadth first), then lent buffers. What belongs to no epoch may take the
/// fabric's reserve, so that packets of epochs, which the peer may keep until it has got the others, never hold it up.

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "amity/base/types.hpp"
#include "amity/core/lent.hpp"
#include "amity/core/memory_bound.hpp"
#include "amity/core/packet_header.hpp"
#include "amity/fabric/fabric.hpp"

namespace amity::core {

/// Largest packet of the runtime's own.
inline constexpr std::size_t control_bytes_max = 48;

/// A packet in memory of the runtime, which is being filled, or waits. Its payload is aligned to the cache line.
class owned_packet {
 public:
  explicit owned_packet(std::size_t capacity)
      : data_(static_cast<std::byte*>(::operator new (capacity, std::align_val_t{cache_line_bytes}))),
        capacity_(capacity) {}

  std::byte* data() const noexcept { return data_.get(); }
  std::size_t capacity() const noexcept { return capacity_; }
  std::size_t memory_bytes() const noexcept { return memory_for(capacity_); }

  /// What a packet takes while it waits: its bytes, and about as much for itself as the allocator and the list do.
  static constexpr std::size_t memory_for(std::size_t capacity) noexcept { return capacity + 128; }

 private:
  struct aligned_delete {
    void operator()(std::byte* data) const { ::operator delete (data, std::align_val_t{cache_line_bytes}); }
  };
  std::unique_ptr<std::byte, aligned_delete> data_;
  std::size_t capacity_;
};

/// Peers are named by their lanes in the job, whatever the world.
class outbox : private immovable {
 public:
  /// What a world has here.
  struct counts {
    std::uint64_t packets = 0;  ///< of messages
    std::uint64_t control = 0;  ///< packets of the runtime
  };

  /// `memory` counts what waits here. Packets have at most `packet_bytes_max` bytes.
  outbox(memory_bound& memory, std::size_t packet_bytes_max) : memory_(memory), packet_bytes_max_(packet_bytes_max) {}

  bool empty() const noexcept { return waiting_ == 0; }
  /// Whether anything waits for the peer that leaves when a packet with this header would, or earlier.
  bool holds(rank_t lane, packet_header header) const noexcept;
  counts of_world(world_number world) const noexcept {
    return waiting_ > 0 && world < of_world_.size() ? of_world_[world] : counts{};
  }

  /// A packet to be filled. It counts as held until it is pushed; the caller who gives it up subtracts it.
  std::unique_ptr<owned_packet> open_packet(std::size_t capacity);
  /// A message, or several, in the first `bytes` of an open packet.
  void push(rank_t lane, world_number world, packet_header header, std::unique_ptr<owned_packet> filled,
            std::size_t bytes);
  /// Behind other buffers; or before them, but after a buffer that has left in part.
  void push(rank_t lane, lent_buffer buffer);
  void push_newest_first(rank_t lane, lent_buffer buffer);
  /// A packet of the runtime's own, at most `control_bytes_max` bytes.
  void push_control(rank_t lane, world_number world, packet_header header, bytes_view payload);

  /// Sends what finds credits; true if anything left. Throws what streams throw.
  bool drain(fabric::fabric& transport);

  /// Forgets buffers of this handler; all that is left of a world, which ends.
  void drop_buffers(world_number world, handler_id handler);
  void drop(world_number world);

  /// Calls visit(lane, packets) for each peer that packets wait for; a buffer counts as one.
  template <class Visit>
  void for_each_peer(Visit&& visit) const {
    for (const auto& [lane, all] : peers_) visit(lane, all.size());
  }

 private:
  struct control_packet {
    std::uint64_t word;
    std::array<std::byte, control_bytes_max> payload;
    std::size_t bytes;
  };
  struct waiting_packet {
    std::uint64_t word;
    std::unique_ptr<owned_packet> packet;
    std::size_t bytes;
  };
  struct messages {
    std::vector<waiting_packet> packets;  ///< the newest is the last
    std::vector<lent_buffer> buffers;     ///< the first leaves first

    std::size_t size() const noexcept { return packets.size() + buffers.size(); }
  };
  struct peer {
    std::vector<control_packet> control;
    messages without_epoch;
    messages of_epoch;

    std::size_t size() const noexcept { return control.size() + without_epoch.size() + of_epoch.size(); }
  };
  struct drained {
    bool any = false;
    std::vector<lent_buffer> buffers;  ///< whose tokens end when nothing here changes
  };

  counts& counts_of(world_number world);
  messages& messages_for(rank_t lane, packet_header header) {
    peer& queue = peers_[lane];
    return header.epoch() == no_epoch ? queue.without_epoch : queue.of_epoch;
  }
  void add(const lent_buffer& buffer);
  template <class Drop>
  void erase_buffers(messages& of, std::vector<lent_buffer>& erased, Drop&& drop);
  void drain(fabric::fabric& transport, rank_t lane, peer& queue, drained& out);
  bool drain_control(fabric::fabric& transport, rank_t lane, std::vector<control_packet>& queue, drained& out);
  bool drain_messages(fabric::fabric& transport, rank_t lane, messages& queue, drained& out);

  // What every round of progress looks at comes first.
  std::size_t waiting_ = 0;  ///< packets and buffers
  memory_bound& memory_;
  std::size_t packet_bytes_max_;
  std::vector<counts> of_world_;  ///< as far as any has had something to send
  std::unordered_map<rank_t, peer> peers_;
};

}  // namespace amity::core
