#pragma once

/// The segments of one thread of a rank, by the numbers that peers name.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "amity/base/types.hpp"
#include "amity/base/zeros.hpp"
#include "amity/core/numbered.hpp"
#include "amity/core/segment.hpp"

namespace amity::core {

class engine;

class segment_table {
 public:
  struct entry {
    local_segment own = {};
    bool readable = false;                ///< `rendezvous` gets payloads from it
    bool of_fabric = false;               ///< its key is of the fabric's memory
    std::optional<zeroed_memory> memory;  ///< none: that of the fabric, or of the program
  };

  explicit segment_table(const engine& of) : engine_(of) {}

  bool full() const noexcept { return segments_.full(); }
  /// Its number, for `find`. Not where it is full.
  std::uint32_t add(entry made) { return segments_.add(std::move(made)); }
  /// Null: it was removed, or never existed.
  entry* find(std::uint32_t number) noexcept { return segments_.find(number); }
  const entry* find(std::uint32_t number) const noexcept { return segments_.find(number); }
  const entry* find(const local_segment& own) const noexcept {
    const entry* const found = segments_.find(own.descriptor.number);
    return found != nullptr && found->own == own ? found : nullptr;
  }
  void remove(std::uint32_t number) { segments_.remove(number); }

  /// The readable segment that holds all of `bytes`; null: none.
  const local_segment* holder_of(bytes_view bytes) const noexcept;

  /// The place that a packet of the lane `source` names. Throws `error` if it is not there.
  std::byte* place_of(rank_t source, std::uint32_t number, std::uint64_t offset, std::uint64_t bytes) const;

  template <class Visit>
  void for_each(Visit&& visit) const {
    segments_.for_each(visit);
  }

 private:
  const engine& engine_;
  numbered<entry> segments_;
};

}  // namespace amity::core
