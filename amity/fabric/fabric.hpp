#pragma once

/// The fabric contract: how packets travel from rank to rank.
///
/// A fabric moves packets: a 64-bit header word and a payload. It never runs a user's handler, never blocks a send,
/// and never allocates on the send path. Both sides promise:
///
/// - The caller uses one fabric object from one thread, or from several in turn. Each rank has its own object.
/// - Packets arrive exactly once and unchanged. Where `capabilities::ordered` holds, packets of one source arrive in
///   the order in which they were sent or committed.
/// - A packet in flight holds one credit of its pair of ranks. The credit comes back when the target releases the
/// packet:
///   by answering `release` from its sink, or by calling `release(token)` after `keep`. Returning a credit needs no
///   credit. A rank that releases everything that it polls therefore never starves a peer for good.
/// - Two credits of each pair are a reserve for packets without an epoch (`reserve.hpp`).
/// - `status::again` has changed nothing. The caller makes progress (`poll`) and tries anew; waiting without polling
/// may
///   wait for ever.
/// - A rank may send to itself; such packets obey the same rules.
/// - Where a fabric has remote memory, its operations obey `remote_memory.hpp`.
///
/// The smallest complete fabric is `sim`; `docs/contracts/fabric.md` tells the whole story, `CONTRIBUTING.md` how to
/// add one.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "amity/base/backoff.hpp"
#include "amity/base/status.hpp"
#include "amity/base/types.hpp"
#include "amity/fabric/alarm.hpp"
#include "amity/fabric/attention_board.hpp"
#include "amity/fabric/remote_memory.hpp"
#include "amity/fabric/reserve.hpp"

namespace amity::fabric {

/// Every fabric's packets hold at least this much.
inline constexpr std::size_t packet_bytes_guaranteed = 512;

/// What a fabric can do, as data: the floors above choose by these figures, never by the fabric's name.
struct capabilities {
  std::string name;                  ///< "shm", "threads", "sim"
  std::string description;           ///< one line for `amity info`
  std::size_t packet_bytes_max = 0;  ///< largest payload, what an acquired slot holds; >= packet_bytes_guaranteed
  std::size_t inline_bytes_max = 0;  ///< payloads up to this take the short road (0: there is none)
  std::size_t credits_per_peer = 0;  ///< ordinary packets in flight to one peer before `again`, without the reserve
  std::size_t slots_per_peer = 0;    ///< slots of ordinary packets, open or in flight to one peer, before `again`
  std::size_t bytes_per_peer = 0;    ///< memory that each peer costs a rank
  bool ordered = false;              ///< packets of one source arrive in order
  bool virtual_time = false;         ///< `now_ns` is simulated
  amity::backoff backoff = {};       ///< how a rank waits on this fabric (`waiter`)
  remote_capabilities remote = {};   ///< for memory of all ranks
  std::optional<remote_capabilities> remote_on_node = {};  ///< for memory of ranks on this node, where it differs
};

/// Ordinary packets, and slots of such packets, that may be in flight to one peer before `again`. It may be more than
/// `capabilities` say for all peers.
struct allowance {
  std::size_t packets;
  std::size_t slots;
};

/// An outgoing packet whose payload the caller fills in place, in the fabric's own memory.
struct slot {
  std::byte* data = nullptr;   ///< aligned to `cache_line_bytes`
  std::uint32_t capacity = 0;  ///< bytes; equals `packet_bytes_max`
  std::uint32_t id = 0;        ///< the fabric's own
};

/// An inbound packet.
struct packet {
  std::uint64_t header;  ///< the sender's word, unchanged
  bytes_view payload;    ///< aligned to 16 bytes, to `cache_line_bytes` if sent from a slot; valid until released
  rank_t source;
  std::uint64_t token;  ///< names the packet in `release`; the highest bit is 0
};

/// What becomes of a packet when the sink returns.
enum class disposition {
  release,  ///< done with it: its memory is reused and its credit returns
  keep,     ///< the payload stays valid, and the credit away, until `release(token)`
};

/// Who receives events. Called inside `poll` only, by the polling thread. It may call `try_send`, `acquire`, `commit`,
/// `release`, and operations on remote memory, but not `poll` and none of the calls for waiting; it must not throw.
class sink {
 public:
  virtual disposition on_packet(const packet& arrived) noexcept = 0;

  /// An operation of this rank has reached the stage for which it was given `context`. Comes only to those who gave
  /// one.
  virtual void on_done(std::uint64_t context) noexcept { AMITY_ASSERT(false, context); }

  /// The data of a `put_notify` of some rank, this one or another, is in this rank's memory. Who it was, and where, the
  /// bits must tell. Comes only to ranks that have made a segment.
  virtual void on_notify(std::uint32_t bits) noexcept { AMITY_ASSERT(false, bits); }

 protected:
  ~sink() = default;
};

/// Interface that returns the place of a rank.
class whereabouts {
 public:
  /// "in a barrier", "in wait_until("my reply")"; empty: unknown. Asked for while the rank waits.
  virtual std::string place() const = 0;

 protected:
  ~whereabouts() = default;
};

class fabric {
 public:
  virtual ~fabric() = default;

  virtual rank_t rank() const noexcept = 0;
  virtual rank_t size() const noexcept = 0;
  virtual const capabilities& caps() const noexcept = 0;

  /// Where some peers are nearer than others, more than `caps()` says for all of them.
  virtual allowance allowance_to(rank_t) const noexcept { return {caps().credits_per_peer, caps().slots_per_peer}; }

  /// The node of a rank, named by the lowest rank on it; all ranks of the job give the same answer. Ranks of one node
  /// share its memory bus.
  virtual rank_t node_of(rank_t peer) const noexcept = 0;
  /// Whether `peer` is on this rank's node.
  bool same_node(rank_t peer) const noexcept { return node_of(peer) == node_of(rank()); }

  /// Sends a packet; the payload is copied before the call returns. At most `packet_bytes_max` bytes; fastest up to
  /// `inline_bytes_max`. `again`: no credit to `dest` right now that this claim may take (reserve.hpp).
  virtual status try_send(rank_t dest, std::uint64_t header, bytes_view payload, claim of) noexcept = 0;

  /// Takes an empty outgoing slot for `dest`, and with it the credit for its packet. Every acquired slot is committed
  /// exactly once, in any order, to the same `dest`; if the claim is not `ordinary`, by the next call. `again`: no slot
  /// or no credit to `dest` right now that this claim may take.
  virtual status acquire(rank_t dest, slot& out, claim of) noexcept = 0;

  /// Sends the first `payload_bytes` of an acquired slot. Never fails: the credit is already held.
  virtual void commit(rank_t dest, std::uint64_t header, const slot& filled, std::size_t payload_bytes) noexcept = 0;

  /// Gives back a packet that the sink kept.
  virtual void release(std::uint64_t token) noexcept = 0;

  /// Hands at most `events_max` events to `receiver`: packets that have arrived, operations that have come further,
  /// notifications. Returns how many, 0 at once if there are none. Not reentrant.
  virtual std::size_t poll(sink& receiver, std::size_t events_max) = 0;

  /// Memory that peers reach without packets; null: this fabric has none. Lives as long as the fabric.
  virtual remote_memory* remote() noexcept { return nullptr; }
  /// What holds for segments of `peer`. If they are not `available`, they may not be opened.
  const remote_capabilities& remote_to(rank_t peer) const noexcept {
    const capabilities& own = caps();
    return own.remote_on_node && same_node(peer) ? *own.remote_on_node : own.remote;
  }

  // Waiting: `waiter` looks whether the fabric is `ready`; if it is not for long, it calls `publish`, then `arm`, asks
  // once more, sleeps, and calls `disarm`. Events of this rank end the sleep.

  /// Throws `job_aborted` if the job has ended, and `error` if this rank has lost another one or its network.
  virtual void check() = 0;
  /// Whether there may be something to poll, or what a peer refused may be tried again. One `true` for each event: the
  /// caller polls and tries again.
  virtual bool ready() = 0;
  /// Tells peers what was held back to tell it together, such as credits. Called when a rank stops to spin.
  virtual void publish() = 0;
  /// Announces that this rank is about to sleep: events end the sleep from now on, until `disarm`. Throws as `check`
  /// does; then nothing is announced.
  virtual alarm arm() = 0;
  /// Sleeps; see `sleep` of alarms. Only a simulator does anything else: its time passes. Reads nothing that other
  /// calls change: another thread may call `disarm` in place of this one, before or during the sleep, and use the
  /// fabric.
  virtual void sleep(const alarm& by, std::uint64_t timeout_ns) noexcept { amity::fabric::sleep(by, timeout_ns); }
  virtual void disarm() noexcept = 0;

  /// Where ranks announce that they poll all the time; null: this fabric has none.
  virtual attention_board* attention() noexcept { return nullptr; }

  /// This rank's time in nanoseconds: wall clock, or the simulator's virtual clock.
  virtual std::uint64_t now_ns() const noexcept = 0;

  /// For a report of a stall: what this fabric knows of peers that do not answer. Empty: nothing.
  virtual std::string trouble() const { return {}; }

  /// Sets the object that reports of the fabric ask for the place of this rank; null: none. Set if waits can be
  /// endless.
  virtual void set_whereabouts(const whereabouts*) noexcept {}

  /// Tells every rank that the job cannot go on: their next `check` throws `job_aborted`. Legal at any time.
  virtual void abort() noexcept = 0;
};

}  // namespace amity::fabric
