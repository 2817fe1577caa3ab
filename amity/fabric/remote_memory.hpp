#pragma once

/// The other half of the fabric contract: memory that peers read and write by themselves.
///
/// A segment is memory of the fabric's own making, or of the program's (`attach`). Its owner hands the key to whom it
/// likes, by packets; a peer that opens the key holds a handle, and through it puts, gets and atomics. No call is
/// collective. Both sides promise:
///
/// - Offset and size lie inside the segment, and the segment exists until every operation on it is complete.
/// - An operation passes through stages; its call answers with the one that it has reached. `refused` has changed
///   nothing: the caller polls and tries anew. Of the stages that the caller asks for, and that the call's answer has
///   not reached, the sink is told once each and in their order (`sink::on_done`), inside `poll`.
/// - The source of a put does not change before `source_free`, nor is what a get or an atomic writes to looked at
///   before `complete`, unless the job was aborted.
/// - Operations are not ordered, neither among one another nor against packets, unless a capability says so. A
///   notification arrives after the data of its own put.
/// - A fabric may need the owner of the memory to poll (`remote_capabilities::unattended`).
///
/// `docs/contracts/fabric.md` tells the whole story.

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>

#include "amity/base/assert.hpp"
#include "amity/base/copy_bytes.hpp"
#include "amity/base/types.hpp"

namespace amity::fabric {

/// What a fabric can do with remote memory, as data.
struct remote_capabilities {
  bool available = false;            ///< `fabric::remote` is there, and its segments may be opened
  bool mapped = false;               ///< handles of ranks on this rank's node have a `direct` address
  bool maps_attached = false;        ///< so have those of attached memory
  bool unattended = false;           ///< operations complete though the memory's owner does not poll
  bool puts_before_packets = false;  ///< a packet arrives after the data of the puts that its source made before
  bool atomics = false;              ///< `remote_memory::atomic` may be called
  std::uint32_t notify_bits = 0;     ///< of a notification; 0: `put_notify` may not be called
  std::size_t operations_max = 0;    ///< in flight from one rank before `refused`; 0: none ever is in flight
  /// Payloads of up to so many bytes, as far as a packet has room for them, arrive sooner inside it, though the target
  /// copies them, than by a put and a packet. Of handles without a `direct` address.
  std::size_t packed_bytes_max = 2048;
  /// Up to so many bytes, a put or get completes sooner as packets, which wake an owner that sleeps; 0: at no size.
  std::size_t woken_bytes_max = 0;
};

/// Names a segment to the fabric of any rank of the job; may be copied as bytes.
struct segment_key {
  static constexpr std::size_t fabric_bytes_max = 56;  ///< of one fabric; `composite` has keys of two
  std::array<std::byte, 2 * fabric_bytes_max> bytes{};
  bool operator==(const segment_key&) const = default;
};

/// Memory that its owner has offered.
struct segment {
  std::byte* data = nullptr;  ///< unless attached, aligned to `cache_line_bytes`, and begins as zeros
  std::size_t bytes = 0;
  segment_key key;
};

/// A segment as one rank reaches it. Valid for that rank's fabric alone.
struct remote_handle {
  /// Where plain loads and stores of this rank reach the segment; null: nowhere. What is stored here is there before
  /// any packet or notification that this rank sends afterwards.
  std::byte* direct = nullptr;
  std::size_t bytes = 0;
  std::uint64_t id = 0;  ///< the fabric's own; the two highest bits are 0
  bool atomics = true;   ///< with `remote_capabilities::atomics`: `atomic` may be called
};

/// How far an operation has come. A later stage implies those before it.
enum class [[nodiscard]] stage : std::uint8_t{
    refused,      ///< not begun, for lack of room
    accepted,     ///< under way
    source_free,  ///< the source of a put may be changed
    complete,     ///< a put's data is in the segment; the result of a get or an atomic is there
};

/// What the sink is told when an operation reaches a stage after its call has returned; 0: nothing.
struct events {
  std::uint64_t source_free = 0;
  std::uint64_t complete = 0;
};

enum class atomic_op : std::uint8_t { fetch, swap, compare_swap, add, bit_and, bit_or, bit_xor };

/// An atomic operation on a word, aligned to its size.
struct atomic_request {
  atomic_op op = atomic_op::fetch;
  std::uint8_t bytes = 8;      ///< 4 or 8
  std::uint64_t operand = 0;   ///< compare_swap: the new value; fetch: not used
  std::uint64_t expected = 0;  ///< compare_swap alone: what must be there for the new value to be stored
};

/// Applies `what` to the word at `where`, and returns what was there before, widened with zeros.
std::uint64_t apply_atomic(const atomic_request& what, std::byte* where) noexcept;

class remote_memory {
 public:
  virtual ~remote_memory() = default;

  // Local calls, which may allocate, and enter the kernel; not from a sink.

  /// Makes a segment of `bytes` > 0. Throws `error` if the memory cannot be had.
  virtual segment create(std::size_t bytes) = 0;

  /// Makes a segment of memory of the caller's, which stays where it is until `destroy`. `bytes` > 0. Null: this memory
  /// cannot be reached by peers.
  virtual std::optional<segment> attach(mutable_bytes) { return std::nullopt; }

  /// What ranks of this node need of the key of a segment of this rank.
  virtual segment_key key_on_node(const segment_key& key) const noexcept { return key; }

  /// Ends a segment of this rank; handles to it may then only be closed.
  virtual void destroy(const segment& own) noexcept = 0;

  /// A handle to a segment of rank `owner`, which may be this one. Throws `error` if `key` is none of its keys, or the
  /// memory cannot be reached. Attached memory that cannot be reached has a handle of 0 bytes, which is not closed.
  virtual remote_handle open(rank_t owner, const segment_key& key) = 0;

  virtual void close(const remote_handle& opened) noexcept = 0;

  // Operations: they neither wait nor allocate, and may be called from a sink.

  /// Copies `from` to `offset` of the segment.
  stage put(const remote_handle& to, std::size_t offset, bytes_view from, const events& tell = {}) noexcept {
    if (to.direct == nullptr) return start_put(to, offset, from, tell);
    AMITY_DEBUG_ASSERT(offset <= to.bytes && from.size() <= to.bytes - offset, offset, from.size(), to.bytes);
    copy_bytes(to.direct + offset, from.data(), from.size());
    return stage::complete;
  }

  /// Copies from `offset` of the segment to `to`.
  stage get(const remote_handle& from, std::size_t offset, mutable_bytes to, std::uint64_t when_complete) noexcept {
    if (from.direct == nullptr) return start_get(from, offset, to, when_complete);
    AMITY_DEBUG_ASSERT(offset <= from.bytes && to.size() <= from.bytes - offset, offset, to.size(), from.bytes);
    copy_bytes(to.data(), from.direct + offset, to.size());
    return stage::complete;
  }

  /// Applies `what` to the word at `offset`; what was there before goes to `previous`, widened with zeros, unless that
  /// is null. Atomic among all operations of this kind on the word, by whichever rank.
  stage atomic(const remote_handle& at, std::size_t offset, const atomic_request& what, std::uint64_t* previous,
               std::uint64_t when_complete) noexcept {
    if (at.direct == nullptr) return start_atomic(at, offset, what, previous, when_complete);
    AMITY_DEBUG_ASSERT(offset % what.bytes == 0 && offset <= at.bytes && what.bytes <= at.bytes - offset, offset);
    const std::uint64_t before = apply_atomic(what, at.direct + offset);
    if (previous != nullptr) *previous = before;
    return stage::complete;
  }

  /// As `put`, and then tells the owner's sink: `on_notify(bits)`, once, when the data is there. `from` may be empty.
  /// That it is there the owner alone learns.
  virtual stage put_notify(const remote_handle& to, std::size_t offset, bytes_view from, std::uint32_t bits,
                           std::uint64_t when_free) noexcept = 0;

 protected:
  // For handles without a `direct` address, on fabrics that give such.
  virtual stage start_put(const remote_handle& to, std::size_t, bytes_view, const events&) noexcept {
    return no_road(to);
  }
  virtual stage start_get(const remote_handle& from, std::size_t, mutable_bytes, std::uint64_t) noexcept {
    return no_road(from);
  }
  virtual stage start_atomic(const remote_handle& at, std::size_t, const atomic_request&, std::uint64_t*,
                             std::uint64_t) noexcept {
    return no_road(at);
  }

 private:
  static stage no_road(const remote_handle& to) noexcept {
    AMITY_ASSERT(to.direct != nullptr, to.id);
    return stage::refused;
  }
};

namespace detail {

template <class Word>
std::uint64_t apply_to(const atomic_request& what, std::byte* where) noexcept {
  // Sequentially consistent: atomics are what programs build locks and flags of.
  const std::atomic_ref<Word> word(*reinterpret_cast<Word*>(where));
  const auto operand = static_cast<Word>(what.operand);
  switch (what.op) {
    case atomic_op::fetch:
      return word.load();
    case atomic_op::swap:
      return word.exchange(operand);
    case atomic_op::compare_swap: {
      auto expected = static_cast<Word>(what.expected);
      word.compare_exchange_strong(expected, operand);
      return expected;
    }
    case atomic_op::add:
      return word.fetch_add(operand);
    case atomic_op::bit_and:
      return word.fetch_and(operand);
    case atomic_op::bit_or:
      return word.fetch_or(operand);
    case atomic_op::bit_xor:
      return word.fetch_xor(operand);
  }
  AMITY_ASSERT(false, static_cast<int>(what.op));
  return 0;
}

}  // namespace detail

inline std::uint64_t apply_atomic(const atomic_request& what, std::byte* where) noexcept {
  return what.bytes == 8 ? detail::apply_to<std::uint64_t>(what, where) : detail::apply_to<std::uint32_t>(what, where);
}

}  // namespace amity::fabric
