#pragma once

/// A map from ranks to small values, for the few peers that a rank of a large job talks to.
///
/// One array with open addressing, at most three quarters full: a look-up touches one or two cache lines, which counts
/// when thousands of simulated ranks share the caches of one core.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "amity/base/types.hpp"

namespace amity {

/// References to values are valid until the next rank is added, or some are erased.
template <class Value>
class rank_map {
 public:
  std::size_t size() const noexcept { return size_; }
  /// Whether the next rank that is added makes the array grow.
  bool full() const noexcept { return (size_ + 1) * 4 > entries_.size() * 3; }

  const Value* find(rank_t rank) const noexcept {
    if (entries_.empty()) return nullptr;
    const entry& e = entries_[place_of(rank)];
    return e.rank == rank ? &e.value : nullptr;
  }

  /// The value of `rank`, which is added if it is not there.
  Value& operator[](rank_t rank) {
    if (!entries_.empty()) {
      entry& e = entries_[place_of(rank)];
      if (e.rank == rank) [[likely]]
        return e.value;
    }
    if (full()) rebuild(std::max(entries_.size() * 3 / 2, capacity_min));
    return add({rank, Value{}});
  }

  /// Erases the values for which `erased(value)` holds. The array is at most three eighths full afterwards: the next
  /// time that it is full, as many ranks have been added as were looked at now.
  template <class Erased>
  void erase_if(Erased&& erased) {
    for (entry& e : entries_) {
      if (e.rank == no_rank || !erased(e.value)) continue;
      e.rank = no_rank;
      --size_;
    }
    rebuild(size_ * 8 / 3 + capacity_min);
  }

 private:
  static constexpr std::size_t capacity_min = 4;

  struct entry {
    rank_t rank = no_rank;
    Value value{};
  };

  /// Where `rank` is, or where it belongs.
  std::size_t place_of(rank_t rank) const noexcept {
    // Fibonacci hashing: the high bits of the product are well mixed, and neighbours land apart.
    const auto hash = static_cast<std::uint32_t>(static_cast<std::uint32_t>(rank) * 0x9e3779b9u);
    std::size_t place = static_cast<std::size_t>(std::uint64_t{hash} * entries_.size() >> 32);
    while (entries_[place].rank != rank && entries_[place].rank != no_rank) {
      if (++place == entries_.size()) place = 0;
    }
    return place;
  }

  Value& add(entry added) {
    entry& free = entries_[place_of(added.rank)];
    free = std::move(added);
    ++size_;
    return free.value;
  }

  void rebuild(std::size_t capacity) {
    std::vector<entry> old(capacity);
    old.swap(entries_);
    size_ = 0;
    for (entry& e : old) {
      if (e.rank != no_rank) add(std::move(e));
    }
  }

  std::vector<entry> entries_;
  std::size_t size_ = 0;
};

}  // namespace amity
