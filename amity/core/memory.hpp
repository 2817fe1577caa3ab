#pragma once

/// Memory of peers: segments, puts, gets and atomics, on every fabric.
///
/// A thread of a rank has one `memory`, which all its worlds share; `endpoint::memory` returns it. A segment is memory
/// that its owner offers; whoever has its descriptor opens it. Each segment is reached in one of three ways, which is
/// chosen when it is opened: by loads and stores, where its memory is mapped; by the fabric's remote memory; or by
/// records, packets that the owner carries out when it makes progress.
///
/// Promises:
/// - An operation that is begun with an event waits only if too many wait already (`AMITY_LONG_PENDING`); it may run
///   handlers. In handlers it does neither.
/// - Operations are not ordered. A barrier or reduction of any world returns after all operations of this thread.
///
/// Only the thread that has made an endpoint uses its memory; segments that it opens are for this thread alone. Long
/// messages (`endpoint::request_long`) go to segments, too. `docs/core.md` shows the use.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "amity/core/event.hpp"
#include "amity/core/flushable.hpp"
#include "amity/core/long_options.hpp"
#include "amity/core/segment.hpp"
#include "amity/core/service.hpp"
#include "amity/fabric/fabric.hpp"

namespace amity::core {

class endpoint;
class engine;
class long_sender;

/// What a put tells of; null: nothing.
struct put_events {
  event* source_free = nullptr;  ///< the source may change
  event* complete = nullptr;     ///< the data is in the segment
};

class memory final : private packet_receiver, private flushable {
 public:
  /// Throws `error` for a protocol of Long messages that this fabric cannot have.
  memory(engine& on, const long_options& longs);
  /// Closes and releases what is left. Nothing that uses it may be under way on any rank.
  ~memory();
  memory(const memory&) = delete;
  memory& operator=(const memory&) = delete;

  // --- Segments. Outside handlers. ---

  /// Memory that peers may reach. Throws `error` if it cannot be had.
  local_segment allocate(std::size_t bytes);
  /// As `allocate`, for memory of the caller's, aligned to 8 bytes, which stays until it is released. Peers cannot map
  /// it: the system or the network copies, where it can; otherwise this rank does, when it makes progress.
  local_segment attach(mutable_bytes whole);
  /// Ends it, when no operation on it is under way. Throws `error` for what is no segment of this thread's, or none any
  /// more.
  void release(const local_segment& own);
  /// Throws `error` of `call` unless it is a segment that was made here and not released.
  void check_own(std::string_view call, const local_segment& own) const;
  /// The segment of a descriptor that its owner has handed out, in whatever world. Throws `error` for another one.
  remote_segment open(const segment_descriptor& descriptor);
  /// `opened` becomes null, for which this and all operations throw `error`; no copy of it is used any more.
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
  event& implicit() noexcept { return implicit_; }
  /// Makes progress until the event is done. Not in handlers.
  void wait(const event& told);

  // --- For the engine and the messages of its worlds. ---

  long_sender& longs() noexcept;
  /// What the memory is made of, for tests.
  struct parts;
  const parts& inside() const noexcept { return *parts_; }
  /// What the memory can do.
  const fabric::remote_capabilities& caps() const noexcept { return caps_; }
  /// Throws `error` of `call` if the place is not in an open segment.
  void check_address(std::string_view call, const remote_address& at, std::size_t bytes) const;

  void on_envelope(endpoint& world, packet_header header, const fabric::packet& arrived);
  void on_notify(std::uint32_t bits) noexcept;
  /// Whether nothing waits to be sent.
  bool sent() const noexcept;
  /// Asks the peers whose answers are missing; true if there are none, and nothing waits to be sent.
  bool settle();
  /// Frees memory that counts as held and is not in use.
  void release_unused() noexcept;
  /// After a failure, on another thread, whose own has left its fabric: nothing is closed or released any more.
  void abandon() noexcept { abandoned_ = true; }
  /// For a stall report; lines that begin with "\n  ".
  std::string describe() const;

 private:
  fabric::disposition on_packet(packet_header header, const fabric::packet& arrived) override;
  bool flush_all() override { return false; }
  bool on_progress() override;
  fabric::remote_handle handle_of(const segment_descriptor& descriptor);
  void check_open(std::string_view call, const remote_segment& opened) const;
  void check_setup(std::string_view call) const;
  void check_number_free(std::string_view call) const;
  void check_thread(std::string_view call) const;
  void check_may_wait(std::string_view call) const;

  engine& engine_;
  fabric::remote_memory* below_;  ///< of the fabric; null: it has none
  fabric::remote_capabilities caps_;
  std::unique_ptr<parts> parts_;
  event implicit_;
  bool abandoned_ = false;
};

/// Everybody's segments, by rank of the world of `in`. Collective over it, outside epochs. Throws `error` as `release`
/// does.
std::vector<remote_segment> exchange(endpoint& in, const local_segment& own);
/// The same without opening them, for a segment of any thread of this rank.
std::vector<segment_descriptor> exchange_descriptors(endpoint& in, const segment_descriptor& own);

}  // namespace amity::core
