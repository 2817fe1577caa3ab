#pragma once

/// Memory of peers: segments, puts, gets and atomics, on every fabric.
///
/// A thread of a rank has one `memory`, which all its worlds share; `endpoint::memory` returns it. A segment is memory
/// that its owner offers, and that a rank opens by its descriptor. Each segment is reached in one of three ways, which
/// is chosen when it is opened: by loads and stores, where its memory is mapped; by the fabric's remote memory; or by
/// records, packets that the owner carries out when it makes progress.
///
/// Promises:
/// - An operation that is begun with an event waits only if too many wait already (`AMITY_LONG_PENDING`); it may run
///   handlers. In handlers it does neither.
/// - Operations are not ordered. A barrier or reduction of any world returns after all operations of this thread that
/// have
///   no event for their end.
///
/// Only the thread that has made an endpoint uses its memory; segments that it opens are for this thread alone. Long
/// messages (`endpoint::request_long`) go to segments, too. `docs/core.md` shows the use.

#include <string_view>
#include <vector>

#include "amity/core/event.hpp"
#include "amity/core/segment.hpp"
#include "amity/fabric/remote_memory.hpp"

namespace amity::core {

class endpoint;
class memory_service;

/// The events of a put; null: none.
struct put_events {
  event* source_free = nullptr;  ///< the source may change
  event* complete = nullptr;     ///< the data is in the segment
};

class memory final : private immovable {
 public:
  explicit memory(memory_service& service) : service_(service) {}

  // --- Segments. Outside handlers. ---

  /// Memory that peers may reach. Throws `error` if it cannot be had.
  local_segment allocate(std::size_t bytes);
  /// As `allocate`, for memory of the caller's, aligned to 8 bytes, which stays until it is released. Peers cannot map
  /// it: the system or the network copies, where it can; otherwise this rank does, when it makes progress.
  local_segment attach(mutable_bytes whole);
  /// Ends it, when no operation on it is under way. Throws `error` for what is no segment of this thread's, or none any
  /// more.
  void release(const local_segment& own);
  /// The segment of a descriptor that its owner has handed out, in whatever world. Throws `error` for another one.
  remote_segment open(const segment_descriptor& descriptor);
  /// `opened` becomes null, for which this and all operations throw `error`; no copy of it may be used.
  void close(remote_segment& opened);

  // --- Operations, in and outside handlers; with events, and without: these wait, outside handlers alone. ---
  // --- Throw `error` for a range that is not in the segment. ---

  void put(const remote_address& to, bytes_view from, const put_events& told);
  void put(const remote_address& to, bytes_view from);
  void get(const remote_address& from, mutable_bytes to, event& complete);
  void get(const remote_address& from, mutable_bytes to);
  /// What was there before goes to `previous`, unless that is null.
  void atomic(const remote_address& at, const fabric::atomic_request& what, std::uint64_t* previous, event& complete);
  std::uint64_t atomic(const remote_address& at, const fabric::atomic_request& what);
  /// An event that the memory owns, for callers that wait for all their operations at once.
  event& implicit() noexcept;
  /// Makes progress until the event is done. Not in handlers.
  void wait(const event& told);

 private:
  memory_service& service_;
};

/// Makes progress until all operations of this thread that have no event for their end have been carried out, and its
/// Long messages have left. A barrier does the same for the thread that calls it. Not in handlers.
void flush(endpoint& own);

/// Like `memory::put` and `memory::get`. `complete` is reached once, maybe before the call returns.
void put(endpoint& own, const remote_address& to, bytes_view from, awaited& complete);
void get(endpoint& own, const remote_address& from, mutable_bytes to, awaited& complete);

/// Whether the next put or get with events begins without waiting for the end of others.
bool has_place(endpoint& own);

/// From now on Long messages of this thread take `protocol`, a value of AMITY_LONG_PROTOCOL. Throws `error` for one
/// that this fabric cannot have.
void choose_long_protocol(endpoint& own, std::string_view protocol);

/// The segments of all ranks, by rank of the world of `in`. Collective over it, outside epochs. Throws `error` as
/// `release` does.
std::vector<remote_segment> exchange(endpoint& in, const local_segment& own);
/// The descriptors of these segments, without opening them. `own` may be of any thread of this rank.
std::vector<segment_descriptor> exchange_descriptors(endpoint& in, const segment_descriptor& own);

}  // namespace amity::core
