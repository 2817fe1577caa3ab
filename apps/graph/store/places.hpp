#pragma once

/// Where the vertices of a distributed graph are.
///
/// A job keeps a graph in parts, one for each thread of each rank. A vertex is known by its place: its rank, thread and
/// row, side by side in the bits of one number, so that its owner is a shift away. Within a part, rows go by falling
/// degree: what kernels touch most lies together.

#include <cstddef>
#include <cstdint>

#include "amity/amity.hpp"
#include "apps/graph/types.hpp"

namespace amity::apps::graph {

class places {
 public:
  /// Parts of at most `rows` vertices. Throws `amity::error` where places do not fit into 32 bits.
  places(vertex rows, rank_t ranks, rank_t threads);

  rank_t rank(vertex place) const { return static_cast<rank_t>(place >> rank_shift_); }
  std::uint32_t thread(vertex place) const { return place >> row_bits_ & thread_mask_; }
  vertex row(vertex place) const { return place & row_mask_; }

  vertex place(rank_t rank, rank_t thread, vertex row) const {
    return static_cast<vertex>(rank) << rank_shift_ | static_cast<vertex>(thread) << row_bits_ | row;
  }
  /// Which part it is in: rank * threads + thread.
  std::uint32_t part(vertex place) const {
    return static_cast<std::uint32_t>(rank(place)) * static_cast<std::uint32_t>(threads_) + thread(place);
  }

  /// Which of `slots`, a power of two, remembers a place where many share one. The first rows of all parts, whose
  /// degrees are large, are kept apart.
  std::size_t shared_slot(vertex place, std::size_t slots) const {
    return (place ^ (place >> row_bits_) * 0x9e3779b1) & (slots - 1);
  }

  rank_t ranks() const { return ranks_; }
  rank_t threads() const { return threads_; }
  /// Numbers that places can have: all are below. At most four times the vertices, since ranks' threads and parts' rows
  /// are rounded up to powers of two.
  std::uint64_t count() const { return static_cast<std::uint64_t>(ranks_) << rank_shift_; }
  /// The numbers that a part's places can have: a multiple of 64, so that parts share no word of a bitmap.
  vertex block() const { return row_mask_ + 1; }

 private:
  rank_t ranks_;
  rank_t threads_;
  int row_bits_;
  int rank_shift_;
  vertex row_mask_;
  std::uint32_t thread_mask_;
};

/// A key for `parallel`: the thread that owns a message's `target`, which is a place.
struct thread_of_target {
  places where;
  std::uint64_t operator()(const auto& message) const { return where.thread(message.target); }
};

}  // namespace amity::apps::graph
