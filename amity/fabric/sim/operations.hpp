#pragma once

/// Operations on remote memory that are under way, and the segments that they reach.
///
/// An operation comes about in steps, each of which stands in some rank's inbox among the packets: at the target, where
/// memory is read or written; back at the source, which is told that it is complete; and, if the source wants to know,
/// there also when the last byte has left.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string_view>
#include <vector>

#include "amity/base/types.hpp"
#include "amity/base/zeros.hpp"
#include "amity/fabric/remote_memory.hpp"

namespace amity::fabric::sim {

using operation_id = std::uint32_t;

struct operation {
  enum class kind : std::uint8_t { put, get, atomic };

  std::uint64_t number = 0;  ///< of all that the job has begun
  kind what = kind::put;
  bool notifies = false;
  bool owns_source = false;  ///< the source was told that it may change: what it held is in `copy`
  bool applied = false;      ///< at the target
  rank_t source = 0;
  std::uint64_t segment = 0;
  std::size_t offset = 0;
  std::size_t bytes = 0;
  const std::byte* from = nullptr;  ///< put
  std::byte* to = nullptr;          ///< get
  atomic_request request = {};
  std::uint64_t* previous = nullptr;
  std::uint32_t bits = 0;
  events tell = {};
  std::vector<std::byte> copy = {};

  std::string_view name() const noexcept;
};

/// The steps of operations as they stand in an inbox, where other numbers name parcels.
struct operation_step {
  enum class kind : std::uint32_t { source_free, at_target, complete };
  static constexpr std::uint32_t mark = 1u << 31;
  static constexpr std::uint32_t id_bits = 29;

  static constexpr bool is_one(std::uint32_t number) { return (number & mark) != 0; }
  static constexpr operation_step of(std::uint32_t number) {
    return {.what = static_cast<kind>((number & ~mark) >> id_bits), .id = number & ((1u << id_bits) - 1)};
  }
  constexpr std::uint32_t number() const { return mark | static_cast<std::uint32_t>(what) << id_bits | id; }

  kind what;
  operation_id id;
};

class operation_pool {
 public:
  operation& operator[](operation_id id) noexcept { return all_[id]; }

  operation_id open(operation&& started);
  void close(operation_id id) noexcept;

 private:
  std::deque<operation> all_;
  std::vector<operation_id> free_;
  std::uint64_t opened_ = 0;
};

/// The segments of a job, by number. Numbers are not used again, so that what arrives too late is noticed.
class segment_table {
 public:
  struct entry {
    rank_t owner;
    bool alive;
    std::size_t bytes;
    std::optional<zeroed_memory> memory;  ///< null: that of the rank's program
    std::byte* data;
  };

  /// Throws `std::bad_alloc`.
  std::uint64_t open(rank_t owner, std::size_t bytes);
  /// Memory that is there already.
  std::uint64_t attach(rank_t owner, mutable_bytes memory);
  void close(std::uint64_t number) noexcept;

  bool contains(std::uint64_t number) const noexcept { return number < all_.size(); }
  const entry& operator[](std::uint64_t number) const noexcept { return all_[number]; }

 private:
  std::deque<entry> all_;
};

}  // namespace amity::fabric::sim
