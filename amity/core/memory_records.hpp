#pragma once

/// Puts, gets and atomics on memory of a peer as records: what travels, and what the owner of the memory does.

#include <cstddef>
#include <cstdint>

#include "amity/core/record.hpp"
#include "amity/core/record_stream.hpp"
#include "amity/fabric/remote_memory.hpp"

namespace amity::core {

class engine;

/// Memory that records name, as its owner sees it.
class record_memory {
 public:
  /// The bytes that a record of the lane `source` names. Throws `error` if they are not there.
  virtual std::byte* place_of(rank_t source, std::uint32_t object, std::uint64_t offset, std::uint64_t bytes) const = 0;
  /// A put of the lane `source` has been carried out that tells its target a number. Throws `error` for a number that
  /// no rank sends.
  virtual void on_notice(rank_t source, std::uint64_t number) = 0;

 protected:
  ~record_memory() = default;
};

/// Bytes of a peer's memory.
struct record_address {
  rank_t target;         ///< the lane of their owner
  std::uint32_t object;  ///< as the owner numbers it
  std::uint64_t offset;
};

class memory_records final : private record_executor, private immovable {
 public:
  /// All must outlive it. `owner`: whose records they are. `of`: what their packets may take.
  memory_records(engine& on, record_stream& stream, record_owner owner, fabric::claim of, record_memory& memory);

  // At the origin. Each appends the records of one operation; false: there is no credit, call it again after progress.
  // `moved` is 0 at first, and says how much of the operation is in records. The caller sends the last packet, next if
  // packets may take the reserve.

  bool put(const record_address& to, bytes_view from, std::size_t& moved, tracking by);
  /// A put, of nothing too, whose end tells the target a number.
  bool put_notify(const record_address& to, bytes_view from, std::size_t& moved, std::uint64_t number);
  bool get(const record_address& from, std::size_t bytes, std::size_t& moved, std::uint32_t question);
  /// The answer has 8 bytes: what was there before, widened with zeros. Without a question there is none.
  bool atomic(const record_address& at, const fabric::atomic_request& what, std::uint32_t question = no_question);

 private:
  enum class act : std::uint8_t { put, put_notify, get, atomic };

  bool execute(rank_t source, const record& what, bytes_view content, answers& to) override;
  record record_of(const record_address& at, act what) const noexcept {
    return {.owner = owner_, .act = static_cast<std::uint8_t>(what), .object = at.object, .at = at.offset};
  }
  bool append(const record_address& to, bytes_view from, std::size_t& moved, tracking by, const std::uint64_t* notice);

  engine& engine_;
  record_stream& stream_;
  record_memory& memory_;
  record_owner owner_;
  fabric::claim of_;
  std::size_t bytes_max_;  ///< of one record or answer
};

}  // namespace amity::core
