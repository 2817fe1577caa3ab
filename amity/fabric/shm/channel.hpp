#pragma once

/// What a rank holds of its channels with one peer: `outbound` is the source's end of one, `inbound` the target's end
/// of the other, and `express_lane` the shortcut that both share. Used by one thread.

#include <bit>
#include <cstdint>
#include <cstring>
#include <deque>
#include <utility>
#include <vector>

#include "amity/base/assert.hpp"
#include "amity/base/cpu.hpp"
#include "amity/fabric/credit_reports.hpp"
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
    // Then it holds a packet that was read before, whose number comes round again after 2^32 packets.
    if (turn_) return false;
    // acquire: pairs with the release in outbound::publish().
    const std::uint64_t stamp = line_->stamp.load(std::memory_order_acquire);
    return stamp_info::sequence(stamp) == sequence && stamp_info::mark(stamp) != mark_;
  }
  const ring_slot& line() const noexcept { return *line_; }
  /// The peer's packet has been read: this rank may write the next one.
  void get_turn() noexcept { turn_ = true; }

 private:
  ring_slot* line_;
  std::uint32_t mark_;  ///< of packets that this rank writes
  bool turn_;
};

class outbound {
 public:
  /// `packets_before`: as if that many had been sent, released and forgotten; the other end needs the same number.
  outbound(const channel_memory& memory, const geometry& sizes, express_lane& lane, std::uint64_t packets_before = 0)
      : memory_(memory),
        lane_(lane),
        ring_mask_(sizes.ring_slots - 1),
        packet_bytes_(sizes.packet_bytes),
        all_buffers_(sizes.buffers == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << sizes.buffers) - 1),
        position_(packets_before),
        released_seen_(packets_before),
        free_buffers_(all_buffers_) {}

  /// Whether a packet may be sent: besides the ring slots that are withheld from its claim, one is neither written and
  /// unreleased nor reserved.
  bool has_credit(claim of) noexcept {
    const std::uint64_t in_use_max = ring_mask_ - withheld_from(of);
    if (position_ + reserved_ - released_seen_ <= in_use_max) return true;
    // acquire: pairs with the release in inbound::publish_pending(); the target has read what we overwrite.
    released_seen_ = memory_.credits->packets_released.load(std::memory_order_acquire);
    return position_ + reserved_ - released_seen_ <= in_use_max;
  }

  bool has_buffer(claim of) noexcept {
    if (are_more_than(withheld_from(of), free_buffers_)) return true;
    // acquire: pairs with the release in inbound::return_buffer().
    const std::uint64_t returned = memory_.credits->buffers_returned.load(std::memory_order_acquire);
    free_buffers_ = ~(returned ^ lent_) & all_buffers_;
    return are_more_than(withheld_from(of), free_buffers_);
  }

  /// The caller has checked `has_credit()`.
  void write_inline(std::uint64_t header, bytes_view payload) noexcept {
    const place next = next_place();
    next.slot.header = header;
    copy_inline(next.slot.inline_payload, payload);
    publish(next, 0, payload.size());
  }

  /// The caller has checked `has_credit()`.
  void write_notification(std::uint32_t bits) noexcept {
    const place next = next_place();
    next.slot.header = bits;
    publish(next, stamp_info::notification, 0);
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

  /// A short payload leaves its buffer here: one line less for the target to fetch.
  void commit_buffer(std::uint64_t header, std::uint32_t index, std::size_t bytes) noexcept {
    AMITY_DEBUG_ASSERT(reserved_ > 0);
    --reserved_;
    if (bytes <= inline_bytes_max) {
      const std::uint64_t bit = std::uint64_t{1} << index;
      free_buffers_ ^= bit;
      lent_ ^= bit;
      return write_inline(header, {buffer(index), bytes});
    }
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

  /// Whether more than `count` bits are set. `count` is 2 at most; plain x86-64 has no instruction that counts bits.
  static bool are_more_than(std::size_t count, std::uint64_t bits) noexcept {
    for (; count > 0; --count) bits &= bits - 1;
    return bits != 0;
  }

  /// Where the next packet goes, and the mark that its stamp gets there.
  struct place {
    ring_slot& slot;
    std::uint32_t mark;
  };

  ring_slot& slot_at(std::uint64_t position) const noexcept {
    return memory_.ring[(position * slot_stride) & ring_mask_];
  }

  /// A slot whose packets have all gone through the lane keeps an old stamp, or none, and the numbers in stamps come
  /// round again after 2^32 packets. So from time to time, twice in that many, the whole ring is written anew.
  bool renews_ring() const noexcept {
    constexpr std::uint64_t every = std::uint64_t{1} << 31;
    return (position_ + every / 2) % every <= ring_mask_;
  }

  place next_place() noexcept {
    if (!renews_ring()) [[likely]] {
      if (ring_slot* const line = lane_.take_turn()) return {*line, lane_.mark()};
    }
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
  std::uint64_t position_;       ///< packets written so far
  std::uint64_t reserved_ = 0;   ///< buffers taken whose packets are not yet written
  std::uint64_t released_seen_;  ///< packets of this channel known to be released
  std::uint64_t lent_ = 0;       ///< bit b flips each time buffer b is taken
  std::uint64_t free_buffers_;   ///< bit b: buffer b is known to be free
};

/// A packet or a notification, taken from its ring slot or the lane.
struct taken_packet {
  std::uint64_t header;
  std::uint32_t bytes;
  std::uint32_t buffer_plus_one;  ///< 0: an inline payload; `stamp_info::notification`: no packet
};

class inbound {
 public:
  /// `packets_before`: as for `outbound`.
  inbound(const channel_memory& memory, const geometry& sizes, express_lane& lane, std::uint64_t packets_before = 0)
      : memory_(memory),
        lane_(lane),
        ring_mask_(sizes.ring_slots - 1),
        packet_bytes_(sizes.packet_bytes),
        reports_(sizes.ring_slots, sizes.ring_slots / 4),
        position_(packets_before),
        released_(packets_before),
        published_(packets_before),
        places_(1) {}

  bool has_arrived() const noexcept {
    return stamp_info::sequence(stamp_of(next_slot())) == next_sequence() || lane_.holds(next_sequence());
  }

  /// Takes the next packet; false when none has arrived. An inline payload moves to a place of this rank's own, so that
  /// neither a reply through the lane nor the packets behind it touch it, whether it is kept or not.
  bool take(taken_packet& out) noexcept {
    const ring_slot* slot = &next_slot();
    std::uint64_t stamp = stamp_of(*slot);
    const bool by_lane = stamp_info::sequence(stamp) != next_sequence();
    if (by_lane) {
      if (!lane_.holds(next_sequence())) return false;
      slot = &lane_.line();
      stamp = slot->stamp.load(std::memory_order_relaxed);  // holds() has acquired it
    }
    out = {.header = slot->header,
           .bytes = stamp_info::bytes(stamp),
           .buffer_plus_one = stamp_info::buffer_plus_one(stamp)};
    if (out.buffer_plus_one == 0) payload_->copy(slot->inline_payload);
    if (by_lane) lane_.get_turn();
    ++position_;
    return true;
  }

  /// Once for so many packets of a backlog.
  static constexpr std::uint32_t packets_per_look = 8;
  /// Fetches the lines of the packets behind the next ones, if all of them have been written: the source would have to
  /// take others back, as it must the one by which this is seen. A ring of no more slots is never that full.
  void look_ahead() const noexcept {
    constexpr std::uint32_t last = 2 * packets_per_look - 1;
    if (stamp_info::sequence(stamp_of(slot_at(position_ + last))) != next_sequence() + last) return;
    for (std::uint32_t ahead = packets_per_look; ahead < last; ++ahead) __builtin_prefetch(&slot_at(position_ + ahead));
  }

  const std::byte* buffer(std::uint32_t index) const noexcept { return memory_.buffers + index * packet_bytes_; }

  /// Where the inline payload is that was taken last, as a number and as an address. Addresses are stable.
  std::uint32_t place() const noexcept { return place_; }
  const std::byte* payload() const noexcept { return payload_->bytes; }

  /// Leaves that payload where it is until `drop`; the next one goes elsewhere. There are never more places than the
  /// ring has slots, and one, since each payload that is kept withholds a credit.
  void keep() {
    if (free_places_.empty()) {
      place_ = static_cast<std::uint32_t>(places_.size());
      places_.emplace_back();
    } else {
      place_ = free_places_.back();
      free_places_.pop_back();
    }
    payload_ = &places_[place_];
  }
  void drop(std::uint32_t place) { free_places_.push_back(place); }

  /// Returns the credit of one packet. True when credits were published, so that the source, which may be waiting for
  /// them, is to be woken.
  bool return_credit() noexcept {
    ++released_;
    return publish_if_due();
  }
  /// Publishes returned credits if that is due; asked again when a packet is kept.
  bool publish_if_due() noexcept {
    return reports_.are_due(released_ - published_, position_ - published_) && publish_pending();
  }

  void return_buffer(std::uint32_t index) noexcept {
    returned_ ^= std::uint64_t{1} << index;
    // release: pairs with the acquire in outbound::has_buffer().
    memory_.credits->buffers_returned.store(returned_, std::memory_order_release);
  }

  /// Tells the source about every returned credit. True when there was something to tell.
  bool publish_pending() noexcept {
    if (published_ == released_) return false;
    published_ = released_;
    // release: pairs with the acquire in outbound::has_credit().
    memory_.credits->packets_released.store(released_, std::memory_order_release);
    return true;
  }

 private:
  /// Payloads of buffers lie aligned to a cache line, also short ones.
  struct alignas(cache_line_bytes) payload_place {
    std::byte bytes[inline_bytes_max];

    /// One memcpy of the whole would become a string instruction here, which takes longer to begin than to copy.
    void copy(const std::byte* from) noexcept {
      static_assert(inline_bytes_max == 48);
      std::memcpy(bytes, from, 16);
      std::memcpy(bytes + 16, from + 16, 16);
      std::memcpy(bytes + 32, from + 32, 16);
    }
  };

  const ring_slot& slot_at(std::uint64_t position) const noexcept {
    return memory_.ring[(position * slot_stride) & ring_mask_];
  }
  const ring_slot& next_slot() const noexcept { return slot_at(position_); }
  std::uint32_t next_sequence() const noexcept { return static_cast<std::uint32_t>(position_ + 1); }
  static std::uint64_t stamp_of(const ring_slot& slot) noexcept {
    // acquire: pairs with the release in outbound::publish().
    return slot.stamp.load(std::memory_order_acquire);
  }

  channel_memory memory_;
  express_lane& lane_;
  std::uint64_t ring_mask_;
  std::size_t packet_bytes_;
  credit_reports reports_;
  std::uint64_t position_;      ///< packets taken so far
  std::uint64_t released_;      ///< credits returned so far
  std::uint64_t published_;     ///< of these, known to the source
  std::uint64_t returned_ = 0;  ///< last value of credit_line::buffers_returned
  std::uint32_t place_ = 0;     ///< where the next inline payload goes
  std::deque<payload_place> places_;
  payload_place* payload_ = &places_[0];  ///< that place
  std::vector<std::uint32_t> free_places_;
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
