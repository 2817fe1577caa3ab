#pragma once

/// The engine that takes the steps of operations.
///
/// An operation takes all the steps that it can when it is begun; most end there. One that is refused, for lack of a
/// credit, a slot, or room in the fabric, is kept in one of a fixed number of places and continues in later rounds of
/// progress; so is one that awaits a completion. Where no place is free, a caller outside handlers makes progress until
/// there is, or until it needs none; handlers, which must not wait, make more places, as long as the outbox has space.

#include <cstddef>
#include <deque>
#include <vector>

#include "amity/base/function_ref.hpp"
#include "amity/core/event.hpp"
#include "amity/core/long_slots.hpp"
#include "amity/core/remote_operation.hpp"
#include "amity/fabric/fabric.hpp"

namespace amity::core {

class endpoint;
class engine;
class segment_records;

class remote_operations {
 public:
  /// Keeps up to `kept_max` operations, and more if handlers have begun them. `memory` is of the fabric; null: it has
  /// none, and all segments are reached by `records`.
  remote_operations(engine& on, fabric::remote_memory* memory, segment_records& records, std::size_t kept_max);

  /// Begins an operation. Outside handlers it may make progress.
  void begin(remote_operation&& wanted);
  /// Begins an operation that takes no place. False: call it again after progress, with the same object.
  bool try_begin(remote_operation& wanted) noexcept { return take_steps(wanted) == outcome::ended; }

  /// Continues operations that were refused, or whose completion has been signalled; true if any took a step.
  bool advance() noexcept;
  /// Slots of a target may be used.
  void take_back(rank_t lane, const slot_news& news);
  /// The operation no longer waits for a completion.
  void resume(remote_operation& of) noexcept;

  /// The world has ended: its messages that have not begun to leave never will. `is_there` returns whether an event may
  /// still be reached.
  void drop(const endpoint& gone, function_ref<bool(awaited&)> is_there) noexcept;
  /// Whether all puts without an event, over the fabric's memory, are complete.
  bool quiet() const noexcept { return without_event_.done(); }

  std::size_t kept() const noexcept { return places_.size() - free_.count; }
  /// Whether `begin` does not wait.
  bool has_place() const noexcept { return free_.count > 0; }
  const borrowed_slots& slots() const noexcept { return slots_; }

 private:
  enum class outcome { taken, refused, lacks_slot, awaits, ended };

  struct list {
    remote_operation* first = nullptr;
    remote_operation* last = nullptr;
    std::size_t count = 0;

    /// Null: before all.
    void put_behind(remote_operation* before, remote_operation& one) noexcept;
    remote_operation& take_behind(remote_operation* before) noexcept;
    void push(remote_operation& one) noexcept { put_behind(last, one); }
    remote_operation& pop() noexcept { return take_behind(nullptr); }
  };

  struct lane_state {
    std::size_t waiting = 0;
    std::uint64_t round = 0;    ///< of `refused`
    std::uint32_t refused = 0;  ///< `bit_of_next` of what was refused in that round
  };

  void make_place();
  remote_operation& keep(const remote_operation& wanted) noexcept;
  void put_aside(remote_operation& of, outcome why) noexcept;
  void count_waiting(rank_t lane, int more) noexcept;
  bool anyone_waits_at(rank_t lane) const noexcept;
  bool must_queue(const remote_operation& wanted) noexcept;
  void retry_first(rank_t lane) noexcept;
  bool was_refused(const remote_operation& of) const noexcept;
  void note_refusal(const remote_operation& of) noexcept;
  outcome take_steps(remote_operation& of) noexcept;
  outcome take(remote_operation& of, step now) noexcept;
  outcome take_over_records(remote_operation& of, step now);
  outcome come_to(remote_operation& of, fabric::stage reached) noexcept;
  outcome send(remote_operation& of, bytes_view rest) noexcept;

  engine& engine_;
  fabric::fabric& fabric_;
  fabric::remote_memory* memory_;
  segment_records& records_;
  borrowed_slots slots_;
  std::deque<remote_operation> places_;
  list free_;
  list ready_;                         ///< tried in each round of progress
  rank_map<list> slotless_;            ///< by lane: without a slot of it
  std::vector<rank_t> lanes_waiting_;  ///< that `slotless_` has
  event without_event_;                ///< of puts that have none for their end
  std::size_t waiting_ = 0;            ///< in either
  rank_map<lane_state> waiting_at_;    ///< by lane
  std::uint64_t round_ = 0;            ///< calls of `advance`
};

}  // namespace amity::core
