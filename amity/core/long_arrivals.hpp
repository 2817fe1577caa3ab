#pragma once

/// The target's side of Long messages: brings envelope and payload together, and runs the handler.

#include <string_view>
#include <unordered_map>
#include <vector>

#include "amity/core/long_slots.hpp"
#include "amity/core/numbered.hpp"
#include "amity/core/segment.hpp"

namespace amity::core {

class endpoint;

class long_arrivals {
 public:
  struct offered {
    own_segment own = {};
    bool readable = false;
  };

  /// `slots` are lent to each source; `memory` is what peers' segments are read with.
  long_arrivals(endpoint& owner, fabric::remote_memory& memory, std::uint32_t slots)
      : owner_(owner), memory_(memory), slots_(slots) {}
  ~long_arrivals();
  long_arrivals(const long_arrivals&) = delete;
  long_arrivals& operator=(const long_arrivals&) = delete;

  /// Handles are not closed any more.
  void abandon() noexcept { opened_.clear(); }

  /// Memory of this rank that Longs may come to. `readable`: peers may get payloads there.
  own_segment add(const fabric::segment& made, bool readable);
  bool full() const noexcept { return segments_.full(); }
  /// Whether it was added, and not removed.
  bool has(const own_segment& own) const noexcept {
    const offered* const found = segments_.find(own.name.number);
    return found != nullptr && found->own == own;
  }
  /// Nothing comes there any more.
  void remove(const own_segment& own) { segments_.remove(own.name.number); }
  template <class Visit>
  void for_each_segment(Visit&& visit) const {
    segments_.for_each([&](const offered& each) { visit(each.own); });
  }
  /// The readable segment that holds all of `bytes`; null: none.
  const own_segment* holder_of(bytes_view bytes) const noexcept;

  /// Throws `error` for an envelope that is invalid, or names no place here.
  void on_envelope(packet_header header, rank_t lane, bytes_view packet);
  /// A notification of the fabric, which does not name its source and may be forged or replayed: one for a slot that
  /// awaits no payload is counted and ignored.
  void on_notify(std::uint32_t slot) noexcept;
  /// Takes a part from a packet of a lane. Throws `error` if the slot awaits no payload of that lane.
  void on_notify_from(rank_t lane, std::uint32_t slot);
  /// A part of the message is there. With both, its handler runs.
  void arrive(lent_slot& at, lent_slot::part part) noexcept;

  /// Lends slots to a lane.
  void lend(rank_t lane, std::uint64_t borrower);
  /// Begins to get payloads. Outside the fabric's polls.
  bool advance();

  bool quiet() const noexcept { return to_get_.empty(); }
  const lent_slots& slots() const noexcept { return slots_; }
  /// Longs whose handler had to wait for the payload, and for the envelope.
  std::uint64_t payload_last() const noexcept { return payload_last_; }
  std::uint64_t head_last() const noexcept { return head_last_; }
  /// Notifications that were ignored.
  std::uint64_t notifications_ignored() const noexcept { return notifications_ignored_; }

 private:
  struct opened {
    segment_name name;
    fabric::remote_segment handle;
  };

  /// The slot for a part that a packet of a lane brings. Throws `error`.
  lent_slot& slot_of(rank_t lane, std::uint32_t number, lent_slot::part part);
  const fabric::remote_segment& opened_for(const lent_slot& at);
  bytes_view place_of(const envelope& about, rank_t lane) const;
  void run(packet_header header, rank_t lane, bytes_view args, bytes_view landed);
  bool start_get(lent_slot& at);

  endpoint& owner_;
  fabric::remote_memory& memory_;
  lent_slots slots_;
  numbered<offered> segments_;
  std::vector<lent_slot*> to_get_;
  std::uint64_t payload_last_ = 0;
  std::uint64_t head_last_ = 0;
  std::uint64_t notifications_ignored_ = 0;
  std::unordered_map<std::uint64_t, opened> opened_;  ///< by lane and index of the segment
};

}  // namespace amity::core
