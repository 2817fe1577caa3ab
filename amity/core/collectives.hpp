#pragma once

/// Barrier and reductions of one word, over the binomial tree.
///
/// A state machine without waiting: `start` gives this rank's part, `on_packet` takes the parts of others, `done` tells
/// when the result is there. A rank may be one collective ahead of another, never two: it leaves one only after all
/// have entered it.

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "amity/base/types.hpp"

namespace amity::core {

enum class reduction : std::uint32_t {
  none,      ///< barrier
  exchange,  ///< the barrier that an exchange of segments begins with
  ending,    ///< the barrier of ranks whose programs have ended
  sum_u64,
  min_u64,
  max_u64,
  sum_i64,
  min_i64,
  max_i64,
  sum_f64,
  min_f64,
  max_f64,
};

/// Applies one step; values are bit patterns of the operation's type. Minima and maxima of doubles are those of IEEE
/// 754-2019: a NaN anywhere makes the result NaN, and -0 is smaller than +0, so that it matters not which rank gave
/// what.
std::uint64_t combine(reduction operation, std::uint64_t a, std::uint64_t b);

class collectives {
 public:
  /// `send(dest, bytes)` must deliver, now or later.
  using send_function = std::function<void(rank_t, bytes_view)>;

  collectives(rank_t rank, rank_t size, send_function send);

  void start(reduction operation, std::uint64_t value);
  bool done() const noexcept { return finished_ == started_; }
  std::uint64_t result() const noexcept { return result_; }

  /// Throws `error` if the source is in another collective than this rank.
  void on_packet(rank_t source, bytes_view payload);

 private:
  struct wire;
  struct round {
    std::vector<std::uint64_t> parts;  ///< of the children, in their order: sums of doubles are reproducible
    int arrived = 0;
    rank_t source = 0;  ///< of the last part, and the operation that it is in
    reduction operation = reduction::none;
  };

  round& round_of(std::uint32_t sequence) { return rounds_[sequence & 1]; }
  void try_combine();
  void finish(std::uint64_t result);
  void check_agreement(rank_t one, reduction its, rank_t other, reduction others) const;

  rank_t rank_;
  rank_t size_;
  send_function send_;
  std::array<round, 2> rounds_;
  int children_;
  std::uint32_t started_ = 0;
  std::uint32_t finished_ = 0;
  bool combined_ = false;  ///< this rank's part of the current round has gone up
  reduction operation_ = reduction::none;
  std::uint64_t own_ = 0;
  std::uint64_t result_ = 0;
};

}  // namespace amity::core
