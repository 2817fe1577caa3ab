#pragma once

/// Collectives over the members of a group: barrier, reduction of one word, and reduce-scatter of counts.
///
/// A state machine without waiting: the calls that start a collective take the values of this member, `on_packet` takes
/// the parts of other members, and `done` reports that the result is complete. All members start the same collectives
/// in the same order, one at a time. A member may be one collective ahead of another member, never two: it leaves a
/// collective only after all members have started it.
///
/// Barrier and reductions run over the binomial tree of `tree.hpp`. The reduce-scatter halves what remains in each of
/// ceil(log2(members)) rounds, for any number of members, and each member sends at most members - 1 counts, without
/// zeros at both ends of a round: J. L. Traff, "Optimal, Non-pipelined Reduce-scatter and Allreduce Algorithms", 2024.
/// Its first call allocates 12 bytes per member and the memory of one part; later calls allocate nothing.

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "amity/base/types.hpp"
#include "amity/core/reduction.hpp"

namespace amity::core {

class group_collectives {
 public:
  /// Delivers a part to another member, now or later, exactly once, in any order. May call `on_packet` before it
  /// returns.
  using send_function = std::function<void(rank_t member, bytes_view part)>;

  /// The size of each part of a barrier or reduction, and the least maximum of all parts.
  static constexpr std::size_t word_part_bytes = 16;
  static constexpr std::size_t part_bytes_min = word_part_bytes + sizeof(std::uint64_t);

  /// No part exceeds `part_bytes_max`, which is at least `part_bytes_min`.
  group_collectives(rank_t member, rank_t members, std::size_t part_bytes_max, send_function send);

  /// Start a collective after the one before is done. `counts` has a word for each member. Throw `error` if another
  /// member is known to have started another collective.
  void start(reduction operation, std::uint64_t value);
  void start_reduce_scatter(std::span<const std::uint64_t> counts);

  bool done() const noexcept { return finished_ == started_; }
  /// The result of the last collective: the reduced word, or the sum of the counts that all members gave for this one.
  std::uint64_t result() const noexcept { return result_; }

  /// Takes a part that `source` has sent to this member. Throws `error`, which names the source, if the part is invalid
  /// or belongs to another collective than the one of this member.
  void on_packet(rank_t source, bytes_view part);

 private:
  struct header;
  static constexpr int rounds_max = 31;
  /// Sums of counts: sum i is that of the member which is i members after this one, cyclically.
  struct sums {
    std::vector<std::uint64_t> of_members;
    std::array<rank_t, rounds_max> received{};  ///< counts in each round
  };

  void begin(reduction operation);
  void take_value(rank_t source, const header& about, bytes_view content, bool early);
  void take_result(rank_t source, const header& about, bytes_view content, bool early);
  void take_counts(rank_t source, const header& about, bytes_view content, bool early);
  void combine_values();
  void exchange_counts();
  void send_counts(int round);
  void send_value(rank_t dest, std::uint8_t form, std::uint64_t value) const;
  void finish(std::uint64_t result);
  rank_t sums_before(int round) const noexcept { return ((members_ - 1) >> round) + 1; }
  rank_t counts_in(int round) const noexcept { return sums_before(round) - sums_before(round + 1); }
  [[noreturn]] void throw_invalid(rank_t source, std::string_view content) const;
  [[noreturn]] void throw_difference(rank_t one, reduction its, rank_t other, reduction others) const;

  rank_t member_;
  rank_t members_;
  std::size_t part_bytes_max_;
  send_function send_;
  std::uint32_t started_ = 0;
  std::uint32_t finished_ = 0;
  reduction operation_ = reduction::none;
  reduction early_operation_ = reduction::none;  ///< of the next collective, if a part of it has arrived
  rank_t early_source_ = no_rank;                ///< of such a part
  std::uint64_t result_ = 0;

  std::uint64_t own_ = 0;
  std::vector<std::uint64_t> values_;  ///< of the children, in their order: sums of doubles are reproducible
  std::uint32_t arrived_ = 0;          ///< a bit for each child
  bool combined_ = false;              ///< the value of the subtree is complete

  int rounds_;
  int round_ = 0;         ///< the next one that this member sends counts in
  bool sending_ = false;  ///< `part_` is in use
  sums sums_;
  sums early_;  ///< of the next collective; what arrives early belongs to the first half
  std::vector<std::byte> part_;
};

}  // namespace amity::core
