#pragma once

/// What a rank holds of its channels with one peer: `outbound` is the source's end of one, `inbound` the target's end
/// of the other, and `express_lane` the shortcut that both share. Used by one thread.

#include <bit>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "amity/base/assert.hpp"
#include "amity/base/cpu.hpp"
#include "amity/fabric/fabric.hpp"
#include "amity/fabric/shm/layout.hpp"

namespace amity::fabric::shm {

/// Slots are visited in jumps of more than a page: the target's hardware prefetcher would otherwise pull over the lines
/// that the source is about to write. An odd stride visits all slots of a ring of 2^k.
inline constexpr std::uint64_t slot_stride = 67;

/// One line that the two ranks of a pair write in turns. Whoever holds the turn may write its next packet here in place
/// of its ring slot, and gives the turn away with it; whoever reads the packet has the turn. A line that goes back and
/// forth is already there to be overwritten when its reader replies, where a line for each direction would first have
/// to be fetched: a reply takes half the time.
class express_lane {
 public:
  express_lane(ring_slot* line, rank_t own, rank_t peer)
      : line_(line), mark_(own > peer ? stamp_info::by_higher_rank : 0), turn_(own < peer) {}

  /// The line, if this rank holds the turn; the caller writes a packet there.
  ring_slot* take_turn() noexcept { return std::exchange(turn_, false) ? line_ : nullptr; }
  std::uint32_t mark() const noexcept { return mark_; }

  /// Whether the peer has written its packet of this number here.
  bool holds(std::uint32_t sequence) const noexcept {
    // acquire: pairs with the release in outbound::publish().
    const std::uint64_t stamp = line_->stamp.load(std::memory_order_acquire);
    return stamp_info::sequence(stamp) == sequence && stamp_info::mark(stamp) != mark_;
  }
  /// Moves the peer's packet into the ring slot that it would have come in: from then on it is one like any other, and
  /// its handler may reply through the lane.
  std::uint64_t move_to(ring_slot& slot) noexcept {
    const std::uint64_t stamp = stamp_info::unmarked(line_->stamp.load(std::memory_order_relaxed));
    slot.header = line_->header;
    std::memcpy(slot.inline_payload, line_->inline_payload, sizeof slot.inline_payload);
    slot.stamp.store(stamp, std::memory_order_relaxed);
    turn_ = true;
    return stamp;
  }

 private:
  ring_slot* line_;
  std::uint32_t mark_;  ///< of packets that this rank writes
  bool turn_;
};

class outbound {
 public:
  outbound(const channel_memory& memory, const geometry& sizes, express_lane& lane)
      : memory_(memory),
        lane_(lane),
        ring_mask_(sizes.ring_slots - 1),
        packet_bytes_(sizes.packet_bytes),
        all_buffers_(sizes.buffers == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << sizes.buffers) - 1),
        free_buffers_(all_buffers_) {}

  /// Whether a packet may be sent: one ring slot is neither written and unreleased nor reserved.
  bool has_credit() noexcept {
    if (position_ + reserved_ - released_seen_ <= ring_mask_) return true;
    // acquire: pairs with the release in inbound::publish_pending(); the target has read what we overwrite.
    released_seen_ = memory_.credits->packets_released.load(std::memory_order_acquire);
    return position_ + reserved_ - released_seen_ <= ring_mask_;
  }

  bool has_buffer() noexcept {
    if (free_buffers_ != 0) return true;
    // acquire: pairs with the release in inbound::return_buffer().
    const std::uint64_t returned = memory_.credits->buffers_returned.load(std::memory_order_acquire);
    free_buffers_ = ~(returned ^ lent_) & all_buffers_;
    return free_buffers_ != 0;
  }

  /// The caller has checked `has_credit()`.
  void write_inline(std::uint64_t header, bytes_view payload) noexcept {
    const place next = next_place();
    next.slot.header = header;
    copy_inline(next.slot.inline_payload, payload);
    publish(next, 0, payload.size());
  }

  /// The caller has checked `has_credit()` and `has_buffer()`.
  std::uint32_t take_buffer() noexcept {
    const auto index = static_cast<std::uint32_t>(std::countr_zero(free_buffers_));
    const std::uint64_t bit = std::uint64_t{1} << index;
    free_buffers_ ^= bit;
    lent_ ^= bit;
    ++reserved_;
    return index;
  }

  std::byte* buffer(std::uint32_t index) const noexcept { return memory_.buffers + index * packet_bytes_; }

  void commit_buffer(std::uint64_t header, std::uint32_t index, std::size_t bytes) noexcept {
    AMITY_DEBUG_ASSERT(reserved_ > 0);
    --reserved_;
    const place next = next_place();
    next.slot.header = header;
    publish(next, index + 1, bytes);
  }

 private:
  // Sizes known to the compiler become plain moves; a short payload is the common case. Bytes past the payload's end
  // are never read, so copying whole words is not needed.
  static void copy_inline(std::byte* to, bytes_view payload) noexcept {
    switch (payload.size()) {
      case 0:
        return;
      case 8:
        std::memcpy(to, payload.data(), 8);
        return;
      case 16:
        std::memcpy(to, payload.data(), 16);
        return;
      case 24:
        std::memcpy(to, payload.data(), 24);
        return;
      case 32:
        std::memcpy(to, payload.data(), 32);
        return;
      case 48:
        std::memcpy(to, payload.data(), 48);
        return;
      default:
        std::memcpy(to, payload.data(), payload.size());
        return;
    }
  }

  /// Where the next packet goes, and the mark that its stamp gets there.
  struct place {
    ring_slot& slot;
    std::uint32_t mark;
  };

  ring_slot& slot_at(std::uint64_t position) const noexcept {
    return memory_.ring[(position * slot_stride) & ring_mask_];
  }

  place next_place() noexcept {
    if (ring_slot* const line = lane_.take_turn()) return {*line, lane_.mark()};
    // Ownership of a line takes longer to get than a packet takes to write: ask for it some packets ahead.
    constexpr std::uint64_t ahead = 8;
    prefetch_for_writing(&slot_at(position_ + ahead));
    return {slot_at(position_), 0};
  }

  void publish(const place& at, std::uint32_t buffer_plus_one, std::size_t bytes) noexcept {
    ++position_;
    // release: pairs with the acquire in inbound::arrived() or express_lane::holds().
    at.slot.stamp.store(stamp_info::pack(static_cast<std::uint32_t>(position_), buffer_plus_one, bytes) | at.mark,
                        std::memory_order_release);
  }

  channel_memory memory_;
  express_lane& lane_;
  std::uint64_t ring_mask_;
  std::size_t packet_bytes_;
  std::uint64_t all_buffers_;
  std::uint64_t position_ = 0;       ///< packets written so far
  std::uint64_t reserved_ = 0;       ///< buffers taken whose packets are not yet written
  std::uint64_t released_seen_ = 0;  ///< packets of this channel known to be released
  std::uint64_t lent_ = 0;           ///< bit b flips each time buffer b is taken
  std::uint64_t free_buffers_;       ///< bit b: buffer b is known to be free
};

class inbound {
 public:
  inbound(const channel_memory& memory, const geometry& sizes, express_lane& lane)
      : memory_(memory),
        lane_(lane),
        ring_mask_(sizes.ring_slots - 1),
        packet_bytes_(sizes.packet_bytes),
        publish_every_(sizes.ring_slots / 4),
        done_(sizes.ring_slots) {}

  bool has_arrived() const noexcept {
    return stamp_info::sequence(ring_stamp()) == next_sequence() || lane_.holds(next_sequence());
  }

  /// The stamp of the next packet, or 0 when none has arrived.
  std::uint64_t arrived() noexcept {
    const std::uint64_t stamp = ring_stamp();
    if (stamp_info::sequence(stamp) == next_sequence()) return stamp;
    return lane_.holds(next_sequence()) ? lane_.move_to(memory_.ring[front_index()]) : 0;
  }

  /// Fetches a line that will be read soon if the source is that far ahead.
  void look_ahead() const noexcept {
    constexpr std::uint64_t ahead = 16;
    __builtin_prefetch(&memory_.ring[index_of(position_ + ahead)]);
  }
  const ring_slot& front() const noexcept { return memory_.ring[front_index()]; }
  const std::byte* buffer(std::uint32_t index) const noexcept { return memory_.buffers + index * packet_bytes_; }
  void pop() noexcept { ++position_; }

  std::uint32_t front_index() const noexcept { return index_of(position_); }

  /// The slot stays as it is, and its credit away, until `release_slot`.
  void keep_slot() noexcept { ++kept_; }
  /// Releases a slot that was kept.
  bool release_kept_slot(std::uint32_t index) noexcept {
    const bool told = release_slot(index);
    --kept_;
    return told;
  }

  /// Lets the source reuse a popped slot. Credits return in order: a kept slot holds back the ones behind it.
  /// True when credits were published, so that the source, which may be waiting for them, is to be woken.
  bool release_slot(std::uint32_t index) noexcept {
    if (kept_ == 0) [[likely]] {
      ++released_;
    } else {
      done_[index] = true;
      for (; released_ != position_ && done_[released_ & ring_mask_]; ++released_)
        done_[released_ & ring_mask_] = false;
    }
    return released_ - published_ >= publish_every_ && publish_pending();
  }

  void return_buffer(std::uint32_t index) noexcept {
    returned_ ^= std::uint64_t{1} << index;
    // release: pairs with the acquire in outbound::has_buffer().
    memory_.credits->buffers_returned.store(returned_, std::memory_order_release);
  }

  /// Tells the source about every released packet. True when there was something to tell.
  bool publish_pending() noexcept {
    if (published_ == released_) return false;
    published_ = released_;
    // release: pairs with the acquire in outbound::has_credit().
    memory_.credits->packets_released.store(released_, std::memory_order_release);
    return true;
  }

 private:
  std::uint32_t index_of(std::uint64_t position) const noexcept {
    return static_cast<std::uint32_t>((position * slot_stride) & ring_mask_);
  }
  std::uint32_t next_sequence() const noexcept { return static_cast<std::uint32_t>(position_ + 1); }
  std::uint64_t ring_stamp() const noexcept {
    // acquire: pairs with the release in outbound::publish().
    return memory_.ring[front_index()].stamp.load(std::memory_order_acquire);
  }

  channel_memory memory_;
  express_lane& lane_;
  std::uint64_t ring_mask_;
  std::size_t packet_bytes_;
  std::uint64_t publish_every_;
  std::uint64_t position_ = 0;   ///< packets popped so far
  std::uint64_t released_ = 0;   ///< slots released so far, without a gap
  std::uint64_t published_ = 0;  ///< of these, known to the source
  std::uint64_t returned_ = 0;   ///< last value of credit_line::buffers_returned
  std::uint64_t kept_ = 0;       ///< slots kept by the sink
  std::vector<bool> done_;       ///< by slot: released, behind one that is kept
};

/// Both channels between this rank and one peer.
struct link {
  link(const region_map& map, const geometry& sizes, rank_t own, rank_t peer)
      : lane(map.channel(own, peer).lane, own, peer),
        out(map.channel(peer, own), sizes, lane),
        in(map.channel(own, peer), sizes, lane) {}
  link(const link&) = delete;  // both ends refer to the lane
  link& operator=(const link&) = delete;

  express_lane lane;
  outbound out;
  inbound in;
};

}  // namespace amity::fabric::shm
