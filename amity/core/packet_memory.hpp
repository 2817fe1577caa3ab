#pragma once

/// Remote memory over packets, for segments that no other way reaches, and for atomics that the other way does not
/// have.
///
/// A put travels as packets that its target copies into the segment; a get as a request that its target answers with
/// such packets; an atomic as a request and an answer. Each operation takes one of a fixed number of records at its
/// source until the target has answered; what finds no credit leaves later, from `advance`. The target keeps no record
/// but of puts of several packets, and of answers that wait for credits: both are bounded by its peers' records.

#include <cstdint>
#include <functional>
#include <optional>
#include <unordered_map>
#include <vector>

#include "amity/base/zeros.hpp"
#include "amity/core/event.hpp"
#include "amity/core/numbered.hpp"
#include "amity/fabric/fabric.hpp"

namespace amity::core {

class endpoint;

class packet_memory final : public fabric::remote_memory {
 public:
  /// `on_notify(lane, bits)` is called for a notification of that lane. It may throw `error`.
  packet_memory(endpoint& owner, std::function<void(rank_t, std::uint32_t)> on_notify);

  static fabric::remote_capabilities caps();

  /// Memory that is there already becomes a segment, until it is destroyed or forgotten. `number`: that it has in
  /// another table, whose segments come and go alike.
  fabric::segment adopt(mutable_bytes memory, std::optional<std::uint32_t> number = std::nullopt);
  /// Whether a packet_memory has made the segment with this key, or handle.
  static bool has_made(const fabric::segment_key& key) noexcept;
  static bool has_made(const fabric::remote_segment& handle) noexcept { return handle.id >> 63 != 0; }
  /// The segment with this number ends.
  void forget(std::uint32_t number) noexcept;
  /// The segment of a lane with this number.
  static fabric::remote_segment segment_of(rank_t lane, std::uint64_t number, std::size_t bytes) noexcept;

  fabric::segment create(std::size_t bytes) override;
  void destroy(const fabric::segment& own) noexcept override;
  fabric::remote_segment open(rank_t owner, const fabric::segment_key& key) override;
  void close(const fabric::remote_segment& opened) noexcept override;
  fabric::stage put_notify(const fabric::remote_segment& to, std::size_t offset, bytes_view from, std::uint32_t bits,
                           std::uint64_t when_free) noexcept override;

  /// Takes a packet of the kind `remote`. Throws `error` if it is invalid.
  void on_packet(rank_t lane, bytes_view packet);
  /// Sends what waits for credits; true if anything went out.
  bool advance();
  bool quiet() const noexcept { return free_.size() == records_.size() && answers_.empty(); }

 private:
  enum class act : std::uint8_t { put, get, atomic, data, done };

  /// In front of what each packet carries.
  struct parcel {
    act what = act::put;
    fabric::atomic_op op = fabric::atomic_op::fetch;
    std::uint8_t word_bytes = 8;
    bool notifies = false;
    std::uint32_t bits = 0;
    std::uint32_t record = 0;  ///< of the operation, at its source
    std::uint32_t serial = 0;  ///< tells apart operations that have had the same record
    std::uint64_t segment = 0;
    std::uint64_t offset = 0;  ///< in the segment
    std::uint64_t total = 0;   ///< bytes of the operation
    std::uint64_t at = 0;      ///< of this packet in the operation; of an atomic's answer: what was there before
  };
  static_assert(sizeof(parcel) == 48);

  struct operands {
    std::uint64_t operand;
    std::uint64_t expected;
  };

  struct record {
    parcel head = {};
    rank_t lane = no_rank;
    const std::byte* from = nullptr;
    std::byte* to = nullptr;
    std::uint64_t* previous = nullptr;
    operands atomic = {};
    std::size_t moved = 0;  ///< bytes of a put that are sent, of a get that have arrived
    bool sent = false;      ///< all that the source sends
    fabric::events tell = {};
  };

  struct answer {
    parcel head;
    rank_t lane;
  };

  struct offered {
    std::optional<zeroed_memory> memory;  ///< none: the memory of somebody else
    std::byte* data = nullptr;
    std::size_t bytes = 0;
  };

  fabric::stage start_put(const fabric::remote_segment& to, std::size_t offset, bytes_view from,
                          const fabric::events& tell) noexcept override;
  fabric::stage start_get(const fabric::remote_segment& from, std::size_t offset, mutable_bytes to,
                          std::uint64_t when_complete) noexcept override;
  fabric::stage start_atomic(const fabric::remote_segment& at, std::size_t offset, const fabric::atomic_request& what,
                             std::uint64_t* previous, std::uint64_t when_complete) noexcept override;

  fabric::segment offer(offered&& made);
  fabric::stage start(const fabric::remote_segment& at, record&& wanted) noexcept;
  bool send_all(record& of) noexcept;
  bool send_answer(answer& of);
  bool send_packet(rank_t lane, const parcel& head, bytes_view content) noexcept;
  void take_put(rank_t lane, const parcel& head, bytes_view content);
  void take_done(rank_t lane, const parcel& head);
  void finish(record& of) noexcept;
  void acknowledge(rank_t lane, const parcel& of, std::uint64_t before = 0);
  std::byte* memory_of(rank_t lane, const parcel& head, std::size_t bytes);
  record& record_of(rank_t lane, const parcel& head);

  endpoint& owner_;
  fabric::fabric& fabric_;
  std::function<void(rank_t, std::uint32_t)> on_notify_;
  std::vector<record> records_;
  std::vector<std::uint32_t> free_;
  std::vector<std::uint32_t> unsent_;  ///< records of which something waits for a credit
  std::vector<answer> answers_;
  numbered<offered> segments_;
  std::unordered_map<std::uint64_t, std::uint64_t> partial_;  ///< bytes there, of puts of several packets
  std::uint32_t serial_ = 0;
};

}  // namespace amity::core
