#pragma once

/// The buckets of delta-stepping: bucket b holds the rows whose distance lies in [b * delta, (b + 1) * delta).
///
/// They lie in a ring, since no distance is further ahead of the current bucket than the longest edge. An entry is out
/// of date once its row has a smaller distance; whoever takes it out checks that.

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <vector>

#include "apps/graph/kernels/paths.hpp"

namespace amity::apps::graph {

/// Number of a bucket: none.
inline constexpr std::uint64_t no_bucket = std::numeric_limits<std::uint64_t>::max();

template <weight Weight>
class bucket_ring {
 public:
  /// Packed: 12 bytes for 8-byte distances.
  struct [[gnu::packed, gnu::aligned(4)]] entry {
    vertex row;
    Weight distance;
  };

  /// A delta that is tiny beside the longest edge would want more buckets than memory holds.
  static constexpr std::size_t buckets_max = std::size_t{1} << 20;

  bucket_ring(double delta, Weight longest_edge)
      : per_delta_(1.0 / delta), ring_(std::bit_ceil(std::min(bucket_of(longest_edge) + 2, buckets_max))) {}

  /// `distance` is not before the current bucket.
  void push(vertex row, Weight distance) {
    const std::uint64_t bucket = merged_ ? 0 : bucket_of(distance);
    // Rounding may want one bucket more than there are, and a tiny delta many; the last is early enough.
    at(std::min(bucket, current_ + ring_.size() - 1)).push_back({row, distance});
  }

  /// The current bucket, which grows while it is worked on.
  std::vector<entry>& current() { return at(current_); }

  /// The first bucket from the current one on that is not empty, or `no_bucket`.
  std::uint64_t next() const {
    for (std::uint64_t bucket = current_; bucket < current_ + ring_.size(); ++bucket) {
      if (!ring_[bucket & (ring_.size() - 1)].empty()) return bucket;
    }
    return no_bucket;
  }

  /// Makes `bucket` the current one: no entry lies before it.
  void advance_to(std::uint64_t bucket) { current_ = bucket; }

  /// All buckets are empty, and become one, which is the current one.
  void merge() {
    merged_ = true;
    current_ = 0;
  }

  /// All buckets are empty, and the first is the current one.
  void begin() {
    merged_ = false;
    current_ = 0;
  }

 private:
  /// Numbers beyond 2^53 are no longer exact, and beyond 2^64 none.
  std::uint64_t bucket_of(Weight distance) const {
    return static_cast<std::uint64_t>(std::min(static_cast<double>(distance) * per_delta_, 0x1p53));
  }

  std::vector<entry>& at(std::uint64_t bucket) { return ring_[bucket & (ring_.size() - 1)]; }

  double per_delta_;
  std::vector<std::vector<entry>> ring_;  // a power of two of them
  std::uint64_t current_ = 0;
  bool merged_ = false;
};

}  // namespace amity::apps::graph
