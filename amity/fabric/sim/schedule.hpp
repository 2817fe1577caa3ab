#pragma once

/// Who runs next: the ranks that have a time to wake, earliest first, ties by rank.
///
/// An indexed four-ary heap: a rank stands in it at most once, and its time can be moved forward. Costs 20 bytes a
/// rank, allocated at the start.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "amity/base/assert.hpp"
#include "amity/base/types.hpp"

namespace amity::fabric::sim {

/// Later than everything. Far enough from the end of the type that a latency can be added to it.
inline constexpr std::uint64_t never = std::numeric_limits<std::uint64_t>::max() / 4;

class schedule {
 public:
  explicit schedule(rank_t ranks) : place_(static_cast<std::size_t>(ranks), absent) {
    heap_.reserve(static_cast<std::size_t>(ranks));
  }

  bool empty() const noexcept { return heap_.empty(); }

  /// Time of the earliest rank, or `never`.
  std::uint64_t earliest() const noexcept { return heap_.empty() ? never : heap_.front().time; }

  /// The earliest rank. Must not be empty.
  rank_t first() const noexcept { return heap_.front().rank; }

  /// Enters a rank, or moves it to an earlier time.
  void wake(rank_t rank, std::uint64_t time) noexcept {
    std::uint32_t& place = place_[static_cast<std::size_t>(rank)];
    if (place == absent) {
      heap_.push_back({});
      place = static_cast<std::uint32_t>(heap_.size() - 1);
    } else {
      AMITY_ASSERT(time <= heap_[place].time, rank, time, heap_[place].time);
    }
    sift_up(place, {time, rank});
  }

  /// Takes the earliest rank out. Must not be empty.
  rank_t pop() noexcept {
    const rank_t taken = first();
    place_[static_cast<std::size_t>(taken)] = absent;
    const entry last = heap_.back();
    heap_.pop_back();
    if (!heap_.empty()) sift_down(last);
    return taken;
  }

 private:
  struct entry {
    std::uint64_t time;
    rank_t rank;
    bool before(const entry& other) const noexcept {
      return time != other.time ? time < other.time : rank < other.rank;
    }
  };

  static constexpr std::uint32_t absent = ~std::uint32_t{0};
  static constexpr std::size_t arity = 4;

  void put(std::size_t place, const entry& e) noexcept {
    heap_[place] = e;
    place_[static_cast<std::size_t>(e.rank)] = static_cast<std::uint32_t>(place);
  }

  void sift_up(std::size_t hole, const entry& e) noexcept {
    while (hole > 0) {
      const std::size_t parent = (hole - 1) / arity;
      if (!e.before(heap_[parent])) break;
      put(hole, heap_[parent]);
      hole = parent;
    }
    put(hole, e);
  }

  void sift_down(const entry& e) noexcept {
    std::size_t hole = 0;
    for (;;) {
      const std::size_t first = hole * arity + 1;
      if (first >= heap_.size()) break;
      const std::size_t end = std::min(first + arity, heap_.size());
      std::size_t least = first;
      for (std::size_t child = first + 1; child < end; ++child) {
        if (heap_[child].before(heap_[least])) least = child;
      }
      if (!heap_[least].before(e)) break;
      put(hole, heap_[least]);
      hole = least;
    }
    put(hole, e);
  }

  std::vector<entry> heap_;
  std::vector<std::uint32_t> place_;
};

}  // namespace amity::fabric::sim
