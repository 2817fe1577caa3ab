#pragma once

/// The target's side of Long messages: brings envelope and payload together, and runs the handler.

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "amity/core/long_slots.hpp"
#include "amity/core/remote_operation.hpp"
#include "amity/core/segment.hpp"
#include "amity/core/service.hpp"

namespace amity::core {

class endpoint;
class engine;
class memory;
class remote_operations;
class segment_table;

class long_receiver : private immovable {
 public:
  /// `slots` are lent to each source.
  long_receiver(engine& on, memory& own, segment_table& segments, remote_operations& operations, std::uint32_t slots);
  ~long_receiver();

  /// Takes the envelope of a message of this world. Throws `error` if it is invalid, or names no place here.
  void on_envelope(endpoint& world, packet_header header, const fabric::packet& arrived);
  /// A notification of the fabric, which does not name its source and may be forged or replayed: one for a slot that
  /// awaits no payload is counted and ignored.
  void on_notify(std::uint32_t slot) noexcept;
  /// Takes a part from a packet of a lane. Throws `error` if the slot awaits no payload of that lane.
  void on_notify_from(rank_t lane, std::uint32_t slot);
  /// A part of the message is there. With both, its handler runs.
  void arrive(lent_slot& at, lent_slot::part part) noexcept;

  /// Lends slots to a lane.
  void lend(rank_t lane);
  /// Begins to get payloads. Outside the fabric's polls.
  bool advance();

  bool quiet() const noexcept { return to_get_.empty(); }
  const lent_slots& slots() const noexcept { return slots_; }
  /// Longs whose handler had to wait for the payload, and for the envelope.
  std::uint64_t payload_last() const noexcept { return payload_last_; }
  std::uint64_t envelope_last() const noexcept { return envelope_last_; }
  /// Notifications that were ignored.
  std::uint64_t notifications_ignored() const noexcept { return notifications_ignored_; }

 private:
  /// The slot for a part that a packet of a lane brings. Throws `error`.
  lent_slot& slot_of(rank_t lane, std::uint32_t number, lent_slot::part part);
  const remote_segment& opened_for(const lent_slot& at);
  bytes_view place_of(const envelope& about, rank_t lane) const;
  static void run(endpoint& world, packet_header header, rank_t lane, bytes_view args, bytes_view landed);
  bool begin_get(remote_operation& get);

  struct opened {
    segment_descriptor descriptor;
    remote_segment segment;
  };

  engine& engine_;
  memory& memory_;
  segment_table& segments_;
  remote_operations& operations_;
  lent_slots slots_;
  std::vector<remote_operation> to_get_;  ///< payloads of slots; `complete` is the slot
  std::uint64_t payload_last_ = 0;
  std::uint64_t envelope_last_ = 0;
  std::uint64_t notifications_ignored_ = 0;
  std::unordered_map<std::uint64_t, opened> opened_;  ///< by lane and index of the segment
};

}  // namespace amity::core
