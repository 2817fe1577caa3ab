#pragma once

/// An endpoint's part for memory: segments, puts, gets, atomics, and Long messages, on every fabric.
///
/// A Long is a put with a handler: its payload goes to a place in a segment of the target, and when it is there, and
/// not before, a handler runs. Where the fabric has no remote memory, packets stand in for it.
///
/// Promises:
/// - A Long's handler runs once, on the rank whose segment it is, with the payload in place. It may reply, once.
/// - An operation that is begun with an event waits only if too many wait already (`AMITY_LONG_PENDING`), or, a Long,
///   for what handlers have sent; it may run handlers. In handlers it does neither.
/// - Nothing is ordered.
///
/// All ranks of an endpoint's world make theirs, in the same order as their handlers. Where ranks have several threads,
/// each has one on its own endpoint: it makes segments, to which Longs come on this thread, and opens those of any
/// thread of a peer, for itself. `docs/core.md` shows its use.

#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "amity/base/settings.hpp"
#include "amity/core/bounce_buffers.hpp"
#include "amity/core/endpoint.hpp"
#include "amity/core/long_arrivals.hpp"
#include "amity/core/packet_memory.hpp"
#include "amity/core/remote_operations.hpp"
#include "amity/core/remote_part.hpp"

namespace amity::core {

/// What a put tells of; null: nothing.
struct put_events {
  event* source_free = nullptr;  ///< the source may change
  event* complete = nullptr;     ///< the data is in the segment
};

class remote_endpoint final : private remote_part, private flushable {
 public:
  /// At most one for an endpoint, which must outlive it.
  remote_endpoint(endpoint& owner, const settings& config);
  /// Closes and releases what is still open. Nothing that uses it may be under way on any rank.
  ~remote_endpoint();
  remote_endpoint(const remote_endpoint&) = delete;
  remote_endpoint& operator=(const remote_endpoint&) = delete;

  /// After a failure, from another thread, whose own has left its fabric: nothing is closed or released any more.
  void abandon() noexcept;

  // --- Segments. Outside handlers. ---

  /// Memory that peers may reach. Throws `error` if it cannot be had.
  own_segment allocate(std::size_t bytes);
  /// As `allocate`, for memory of the caller's, aligned to 8 bytes, which stays until it is released. Peers cannot map
  /// it: the system or the network copies, where it can; otherwise this rank does, when it makes progress.
  own_segment attach(mutable_bytes memory);
  /// Ends it, when no operation on it is under way. Throws `error` for what is no segment of this thread's, or none any
  /// more.
  void release(const own_segment& own);
  /// A segment of `rank`, by the name that its owner has handed out. Throws `error` for another name.
  peer_segment open(rank_t rank, const segment_name& name);
  /// `opened` becomes null, for which this and all operations throw `error`; no copy of it is used any more.
  void close(peer_segment& opened);
  /// Everybody's segments, by rank. Collective, outside epochs. Throws `error` as `release` does.
  std::vector<peer_segment> exchange(const own_segment& own);
  /// The same without opening them, for a segment of any thread of this rank.
  std::vector<segment_name> exchange_names(const segment_name& own);
  /// Throws `error` of `call` unless it is a segment that was made here and not released.
  void check_own(std::string_view call, const own_segment& own) const;

  // --- Operations on them, in and outside handlers; with events, and without: these wait, outside handlers alone. ---
  // --- Throw `error` for a range that is not in the segment. ---

  void put(const place& to, bytes_view from, const put_events& told);
  void put(const place& to, bytes_view from);
  void get(const place& from, mutable_bytes to, event& complete);
  void get(const place& from, mutable_bytes to);
  /// What was there before goes to `previous`, unless that is null.
  void atomic(const place& at, const fabric::atomic_request& what, std::uint64_t* previous, event& complete);
  std::uint64_t atomic(const place& at, const fabric::atomic_request& what);

  // --- Long messages. In and outside handlers, to the rank whose segment it is. ---
  // --- Throw `error` as short and medium requests do, and for a place that is not in the segment. ---

  /// Puts `payload` to the place, then runs the handler there. `source_free` tells when the payload may change; it may
  /// be `implicit()`.
  void request_long(const place& to, handler_id handler, bytes_view payload, std::span<const std::uint64_t> args,
                    event& source_free);
  void request_long(const place& to, handler_id handler, bytes_view payload, std::initializer_list<std::uint64_t> args,
                    event& source_free) {
    request_long(to, handler, payload, std::span(args.begin(), args.size()), source_free);
  }
  /// As above, and waits until the payload may change. Not in handlers.
  void request_long(const place& to, handler_id handler, bytes_view payload, std::span<const std::uint64_t> args = {});
  void request_long(const place& to, handler_id handler, bytes_view payload,
                    std::initializer_list<std::uint64_t> args) {
    request_long(to, handler, payload, std::span(args.begin(), args.size()));
  }

  /// A Long request that is written where it is sent from, or lands: as `endpoint::prepare_medium`, with room for
  /// `bytes_max`, or fewer where the segment ends or the runtime's memory is smaller. `prepared.hpp` tells the rest.
  prepared_long prepare_long(const place& to, std::size_t bytes_min, std::size_t bytes_max, std::size_t args = 0);

  /// An event for whoever wants to wait for all that it was given to.
  event& implicit() noexcept { return implicit_; }
  /// Makes progress until the event is done. Not in handlers.
  void wait(const event& told);

  /// What the memory can do.
  const fabric::remote_capabilities& caps() const noexcept { return caps_; }
  /// The protocol that a payload of this size would take to this place.
  long_protocol protocol_for(const peer_segment& to, bytes_view payload) const noexcept;

  /// For tests and reports.
  struct counts {
    std::uint64_t payload_last;           ///< reassembled Longs whose payload came after their envelope
    std::uint64_t head_last;              ///< and the other way round
    std::size_t waiting;                  ///< operations that could not end at once
    std::size_t incomplete;               ///< Longs of which one part has arrived
    std::size_t slots_borrowed;           ///< from peers, and not back
    std::size_t slots_kept;               ///< of peers that have served here, and were not given back yet
    std::uint64_t notifications_ignored;  ///< for slots that awaited none
  };
  counts count() const noexcept;

 private:
  friend class prepared_long;
  void on_envelope(packet_header header, rank_t lane, bytes_view packet) override {
    arrivals_.on_envelope(header, lane, packet);
  }
  void on_slots(rank_t lane, bytes_view packet) override;
  void on_remote(rank_t lane, bytes_view packet) override;
  void on_notify(std::uint32_t bits) noexcept override { arrivals_.on_notify(bits); }
  void reply_long(std::string_view call, rank_t lane, handler_id handler, std::span<const std::uint64_t> args,
                  bytes_view payload, const place& to, event* source_free) override;
  prepared_long prepare_reply_long(std::string_view call, request& answers, const place& to, std::size_t bytes_min,
                                   std::size_t bytes_max, std::size_t args) override;
  void release_unused_memory() noexcept override;
  bool quiet() const noexcept override;
  std::string describe() const override;
  bool flush_all() override { return false; }
  bool on_progress() override;

  void send_long(const place& to, packet_header header, std::span<const std::uint64_t> args, bytes_view payload,
                 event* source_free);
  enum class at_once { nothing, put, all };
  at_once send_at_once(long_protocol protocol, const place& to, packet_header header,
                       std::span<const std::uint64_t> args, bytes_view payload);
  own_segment add(const fabric::segment& made, bool readable);
  void destroy(const own_segment& own) noexcept;
  void send_landed(const place& to, packet_header header, std::span<const std::uint64_t> args, std::size_t bytes);
  bounce_buffer& take_bounce(std::string_view call, std::size_t bytes_min);
  void check_reply_place(std::string_view call, rank_t lane, const place& to, std::size_t bytes) const;
  void check_place(std::string_view call, const place& at, std::size_t bytes) const;
  void check_open(std::string_view call, const peer_segment& opened) const;
  void check_setup(std::string_view call) const;
  void check_number_free(std::string_view call) const;
  void check_thread(std::string_view call) const;
  void check_threads(std::string_view call, const peer_segment& opened) const;
  void check_may_wait(std::string_view call) const;

  endpoint& owner_;
  world_number world_;
  packet_memory packets_;  ///< reaches what the fabric's memory does not
  fabric::remote_memory& memory_;
  fabric::remote_capabilities caps_;
  long_choice choice_;
  bool synchronous_;  ///< requests outside handlers wait for their puts
  remote_operations operations_;
  long_arrivals arrivals_;
  bounce_buffers bounce_;
  event implicit_;
  std::unordered_map<std::uint64_t, std::vector<std::pair<rank_t, segment_name>>> names_;  ///< by round
  std::uint64_t rounds_ = 0;
  handler_id take_name_;
  std::unordered_multimap<std::uint64_t, fabric::remote_segment> opened_;  ///< by id
  bool abandoned_ = false;
};

}  // namespace amity::core
