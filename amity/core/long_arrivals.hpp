#pragma once

/// The target's side of Long messages: brings envelope and payload together, and runs the handler.

#include <deque>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "amity/core/long_slots.hpp"
#include "amity/core/segment.hpp"

namespace amity::core {

class endpoint;

class long_arrivals {
 public:
  /// `slots` are lent to each source; `memory` is what peers' segments are read with.
  long_arrivals(endpoint& owner, fabric::remote_memory& memory, std::uint32_t slots)
      : owner_(owner), memory_(memory), slots_(slots) {}
  ~long_arrivals();
  long_arrivals(const long_arrivals&) = delete;
  long_arrivals& operator=(const long_arrivals&) = delete;

  /// Memory of this rank that Longs may come to. Numbers are not used again. `readable`: peers may get payloads there.
  own_segment add(const fabric::segment& made, bool readable);
  /// Nothing comes there any more; false: nothing has since it was removed.
  bool remove(const own_segment& own) noexcept;
  /// All that were added; without bytes: removed.
  const std::deque<own_segment>& segments() const noexcept { return segments_; }
  /// The readable segment that holds all of `bytes`; null: none.
  const own_segment* holder_of(bytes_view bytes) const noexcept;

  /// Throws `error` for an envelope that names no place here.
  void on_envelope(const packet_header& header, rank_t lane, bytes_view packet);
  void on_notify(std::uint32_t slot) noexcept { arrive(slots_.at(slot), lent_slot::payload); }
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

 private:
  bytes_view place_of(const envelope& about, rank_t lane) const;
  void run(const packet_header& header, rank_t lane, bytes_view args, bytes_view landed);
  bool start_get(lent_slot& at);

  endpoint& owner_;
  fabric::remote_memory& memory_;
  lent_slots slots_;
  std::deque<own_segment> segments_;  ///< by number; without bytes: removed
  std::vector<bool> readable_;
  std::vector<lent_slot*> to_get_;
  std::uint64_t payload_last_ = 0;
  std::uint64_t head_last_ = 0;
  std::unordered_map<std::uint64_t, fabric::remote_segment> opened_;  ///< by lane and number of the segment
};

}  // namespace amity::core
