#pragma once

/// The order in which a rank begins the collectives and epochs of a world. They are one sequence, the same on all
/// ranks.
///
/// Each of these calls has a number, from 1. What ranks send for collectives and ends of epochs has numbers in it, and
/// each rank compares them with its own calls: ranks that differ would wait for one another without end. No packet is
/// sent for that alone, with one exception that `collectives::ask_rank_ahead` describes.

#include <cstdint>
#include <limits>
#include <string>

#include "amity/base/types.hpp"
#include "amity/core/reduction.hpp"

namespace amity::core {

/// A collective, as other ranks hear of it.
struct collective_call {
  std::uint32_t number = 0;
  std::uint32_t body = 0;  ///< number of the epoch in whose body it was called; 0: in none
  reduction operation = reduction::none;
};

/// Ranks that wait for the end of an epoch, and therefore make no other call before.
struct end_call {
  std::uint32_t calls = std::numeric_limits<std::uint32_t>::max();  ///< the least number of calls of one of them
  rank_t rank = no_rank;                                            ///< the waiting rank; `no_rank`: none waits

  /// Whichever is behind.
  void merge(const end_call& other) noexcept {
    if (other.rank != no_rank && other.calls < calls) *this = other;
  }
};

class call_order {
 public:
  explicit call_order(rank_t rank) noexcept : rank_(rank) {}

  /// This rank's calls. Each throws `error` if another rank is known to have made another one, or to wait for another.
  const collective_call& begin_collective(reduction operation);
  void begin_epoch();
  void end_body() noexcept;
  /// The rank waits for the end of the epoch, and makes no other call before.
  void await_end() noexcept;
  void close_epoch() noexcept;

  /// Throws `error` if rank `source`, which is or was in the collective `theirs`, and this rank can never meet.
  void compare(rank_t source, const collective_call& theirs) const;
  /// Throws `error` if ranks `one` and `other` are in different collectives.
  void compare(rank_t one, const collective_call& its, rank_t other, const collective_call& others) const;
  /// Compares with ranks that wait for the end of the epoch that this rank is in.
  void compare(const end_call& theirs);

  const collective_call& collective() const noexcept { return collective_; }
  /// This rank, if it waits for the end of the epoch.
  end_call awaited_end() const noexcept;
  /// "epoch 3", "the end of epoch 3"; empty outside of epochs.
  std::string describe_epoch() const;
  bool awaits_end() const noexcept { return stage_ == stage::awaiting; }

 private:
  enum class stage : std::uint8_t { outside, body, detecting, awaiting };

  void check_end() const;
  std::string place_in(const collective_call& its, const collective_call& others) const;
  [[noreturn]] void throw_difference(rank_t one, const std::string& its, rank_t other, const std::string& others) const;

  rank_t rank_;
  stage stage_ = stage::outside;
  std::uint32_t begun_ = 0;
  collective_call collective_;      ///< the last one
  std::uint32_t epoch_number_ = 0;  ///< of the last epoch, as a call
  std::uint64_t epochs_ = 0;
  end_call ends_;  ///< of this epoch: ranks that are known to wait for its end
};

}  // namespace amity::core
