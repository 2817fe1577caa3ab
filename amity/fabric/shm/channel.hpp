#pragma once

/// The two ends of a channel: `outbound` belongs to the source, `inbound` to the target. Each is used by one thread.

#include <bit>
#include <cstdint>
#include <cstring>
#include <vector>

#include "amity/base/assert.hpp"
#include "amity/fabric/fabric.hpp"
#include "amity/fabric/shm/layout.hpp"

namespace amity::fabric::shm {

class outbound {
 public:
  outbound(const channel_memory& memory, const geometry& sizes)
      : memory_(memory),
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
    ring_slot& slot = memory_.ring[position_ & ring_mask_];
    slot.header = header;
    copy_inline(slot.inline_payload, payload);
    publish(slot, 0, payload.size());
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
    ring_slot& slot = memory_.ring[position_ & ring_mask_];
    slot.header = header;
    publish(slot, index + 1, bytes);
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

  void publish(ring_slot& slot, std::uint32_t buffer_plus_one, std::size_t bytes) noexcept {
    ++position_;
    // release: pairs with the acquire in inbound::arrived().
    slot.stamp.store(stamp_info::pack(static_cast<std::uint32_t>(position_), buffer_plus_one, bytes),
                     std::memory_order_release);
  }

  channel_memory memory_;
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
  inbound(const channel_memory& memory, const geometry& sizes)
      : memory_(memory),
        ring_mask_(sizes.ring_slots - 1),
        packet_bytes_(sizes.packet_bytes),
        publish_every_(sizes.ring_slots / 4),
        done_(sizes.ring_slots) {}

  /// The stamp of the next packet, or 0 when none has arrived.
  std::uint64_t arrived() const noexcept {
    // acquire: pairs with the release in outbound::publish().
    const std::uint64_t stamp = memory_.ring[position_ & ring_mask_].stamp.load(std::memory_order_acquire);
    return stamp_info::sequence(stamp) == static_cast<std::uint32_t>(position_ + 1) ? stamp : 0;
  }

  const ring_slot& front() const noexcept { return memory_.ring[position_ & ring_mask_]; }
  const std::byte* buffer(std::uint32_t index) const noexcept { return memory_.buffers + index * packet_bytes_; }
  void pop() noexcept { ++position_; }

  std::uint32_t front_index() const noexcept { return static_cast<std::uint32_t>(position_ & ring_mask_); }

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
  channel_memory memory_;
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

}  // namespace amity::fabric::shm
