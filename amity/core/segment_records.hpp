#pragma once

/// Operations on segments as records, for segments that no other way reaches, and for atomics that the other way does
/// not have.

#include <cstdint>

#include "amity/core/memory_records.hpp"
#include "amity/core/remote_operation.hpp"
#include "amity/fabric/remote_memory.hpp"

namespace amity::core {

class engine;
class long_receiver;
class record_stream;
class segment_table;

class segment_records final : private record_memory, private immovable {
 public:
  /// What records can do, for the choice of protocols.
  static fabric::remote_capabilities caps();
  /// A handle to the segment `number` of a peer for records.
  static fabric::remote_handle handle_of(std::uint32_t number, std::size_t bytes) noexcept {
    return {.direct = nullptr, .bytes = bytes, .id = of_records | number};
  }
  /// Whether records reach the segment. Handles of fabrics never have the highest bit.
  static bool reach(const fabric::remote_handle& handle) noexcept { return (handle.id & of_records) != 0; }

  /// All must outlive it.
  segment_records(engine& on, record_stream& stream, segment_table& segments, long_receiver& longs);

  // At the origin. Each continues where the operation was refused before; `refused`: call it again after progress. The
  // events of later stages are reached when the target has answered.

  /// `complete` is reached when the data is in the segment; null: no event waits for it.
  fabric::stage put(remote_operation& of, awaited* complete);
  /// A put, of nothing too, whose end tells the target the slot of a Long message.
  fabric::stage put_notify(remote_operation& of);
  fabric::stage get(remote_operation& of);
  fabric::stage atomic(remote_operation& of);

 private:
  static constexpr std::uint64_t of_records = std::uint64_t{1} << 63;

  std::byte* place_of(rank_t source, std::uint32_t object, std::uint64_t offset, std::uint64_t bytes) const override;
  void on_notice(rank_t source, std::uint64_t slot) override;
  /// Whether the operation has the number of a question, or gets one.
  bool expect(remote_operation& of, mutable_bytes answer);
  /// Sends what was appended, with the question whether it is done if `complete` waits for that.
  void send(rank_t target, awaited* complete);

  engine& engine_;
  record_stream& stream_;
  memory_records records_;
  segment_table& segments_;
  long_receiver& longs_;
};

}  // namespace amity::core
