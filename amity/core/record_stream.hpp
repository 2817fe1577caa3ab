#pragma once

/// Records to each peer, packed and in order, and the answers to them.
///
/// - The records of one thread of a rank for another one are carried out in the order in which they were appended, on
///   every fabric: packets that overtake others are kept until these are there.
/// - A record is carried out at once, while its packet is handled. If its answer finds no credit, it is kept, and those
///   behind it: the credits of their packets are the bound. Answers have no order.
/// - An origin learns that records have been carried out by an answer, or by `flush`, for all that were appended
/// before.
///
/// Memory: a peer of a stream takes about 200 bytes from the first record that is sent to it, or comes from it.

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "amity/base/rank_map.hpp"
#include "amity/base/types.hpp"
#include "amity/core/event.hpp"
#include "amity/core/flushable.hpp"
#include "amity/core/numbered.hpp"
#include "amity/core/record.hpp"
#include "amity/core/service.hpp"
#include "amity/fabric/fabric.hpp"

namespace amity::core {

class engine;

class record_stream final : private packet_receiver, private progress_client, private immovable {
 public:
  /// Answers, and events of flushes, that may be waited for.
  static constexpr std::size_t questions_max = 4096;

  explicit record_stream(engine& on);
  /// On the thread of the engine, while its fabric exists, it gives back what is kept; on another one it does not.
  ~record_stream();

  void attach(record_owner which, record_executor& executor) {
    executors_[static_cast<std::size_t>(which)] = &executor;
  }

  // --- At the origin. In and outside handlers. ---

  /// How many of `bytes` the next record for this peer should take: what fits into the open packet, unless that is
  /// little. May be more than `bytes`.
  std::size_t room(rank_t target, std::size_t bytes);
  /// Appends a record, and returns where its content goes, which the caller writes before it does anything else. Null:
  /// there is no credit. `of`: what a new packet may take; `no_epoch` only if the caller calls `send` next.
  std::byte* try_append(rank_t target, const record& what, tracking by, fabric::claim of) noexcept;
  /// The last record for this peer. Valid as long as this object, also for later records.
  record_tail& tail(rank_t target) { return at(target).tail; }
  /// Appends a record and sends it, in the one line of a short packet where no other one is open. False: there is no
  /// credit.
  bool try_send(rank_t target, const record& what, bytes_view content, tracking by, fabric::claim of) noexcept;
  /// A number for a record whose answer goes to `to`, in one or several records: `to.size()` bytes, or less if the
  /// target ends it earlier; `told` is reached when it is there. None: as many as may be are under way.
  std::optional<std::uint32_t> try_expect(rank_t target, mutable_bytes to, awaited& told);
  /// Takes back a number that no record has carried.
  void withdraw(std::uint32_t number);
  /// Sends what was appended for this peer. A packet that stays open when the caller returns to the program has an
  /// ordinary credit, and its owner sends it when the rank is idle.
  void send(rank_t target) noexcept;
  /// `complete` is reached when all records that were appended for this peer have been carried out. Sends them.
  void flush(rank_t target, awaited& complete);
  /// Asks all peers that have got records since the last flush, except the peer `but`. `flushed` returns true when they
  /// have answered.
  void flush_all(rank_t but = no_rank);
  /// Whether all flushes have been answered.
  bool flushed() const noexcept { return unasked_.empty() && flushes_under_way_ == 0; }
  /// Whether all records of this thread have been carried out, as far as it knows, and all answers have arrived.
  bool settled() const noexcept;
  /// Whether as many flushes wait for their answers as may.
  bool full() const noexcept { return flushes_waiting_ >= questions_max; }
  /// Peers whose answers are missing.
  std::vector<rank_t> awaited_lanes() const;

 private:
  struct kept_packet {
    std::uint16_t sequence;
    bytes_view payload;
    std::uint64_t token;
  };
  struct waiting_flush {
    std::uint64_t number;
    awaited* told;
  };
  struct peer {
    /// Bytes of the open packet; 0: none is open.
    std::size_t used() const noexcept;

    // As the target of this thread's records.
    fabric::slot open;
    record_tail tail;         ///< in the open packet
    std::size_t tail_at = 0;  ///< in it
    std::uint16_t next_out = 0;
    bool changed = false;                   ///< records were appended since the last flush
    bool listed = false;                    ///< in `changed_`
    bool must_ask = false;                  ///< a flush has found no credit
    std::uint64_t asked = 0, answered = 0;  ///< flushes
    std::vector<waiting_flush> flushes;     ///< in their order
    // As an origin.
    std::uint16_t next_in = 0;
    bool stalls = false;                  ///< in `stalled_`
    std::size_t done = 0;                 ///< bytes of the packet `next_in` that were carried out
    std::vector<kept_packet> kept;        ///< by sequence
    std::uint64_t flushed = 0, told = 0;  ///< its last flush, and the one that it knows of
  };
  struct question {
    rank_t target;
    std::byte* to;
    std::size_t bytes;
    std::size_t left;
    awaited* told;
  };
  class answer_packet;

  fabric::disposition on_packet(packet_header header, const fabric::packet& arrived) override;
  /// Sends flushes and answers that had no credit, and carries out what was kept; true if any continued.
  bool on_progress() override;
  peer& at(rank_t lane);
  void note_tracking(rank_t target, peer& to, const record& what, tracking by);
  bool try_ask(rank_t target, peer& of) noexcept;
  fabric::disposition on_records(packet_header header, const fabric::packet& arrived);
  void on_answers(rank_t source, bytes_view payload);
  void on_flushed(rank_t source, std::uint64_t number);
  void take_answer(rank_t source, std::uint32_t number, std::uint64_t at, bytes_view content, bool is_last);
  bool carry_out(rank_t source, peer& of, bytes_view payload);
  bool carry_out_kept(rank_t source, peer& of);
  bool tell_flushed(rank_t source, peer& of) noexcept;
  void stall(rank_t source, peer& of);
  void continue_later(std::vector<rank_t>& lanes, rank_t lane);
  record_executor& executor_of(rank_t source, const record& what);

  engine& engine_;
  fabric::fabric& transport_;
  std::size_t packet_bytes_max_;
  std::size_t short_bytes_max_;  ///< of a packet that the fabric sends in one line
  std::array<record_executor*, record_owners> executors_{};
  rank_map<std::unique_ptr<peer>> peers_;
  numbered<question> questions_;
  std::size_t questions_under_way_ = 0;
  std::vector<rank_t> changed_;  ///< peers that have got records since `flush_all`
  std::vector<rank_t> unasked_;  ///< peers whose `must_ask` is set
  std::vector<rank_t> stalled_;  ///< peers whose packets or flushes wait for credits
  std::vector<rank_t> lanes_;    ///< all peers
  bool in_every_round_ = false;  ///< of the engine
  std::size_t flushes_under_way_ = 0;
  std::size_t flushes_waiting_ = 0;  ///< events of flushes
};

}  // namespace amity::core
