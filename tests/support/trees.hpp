#pragma once

/// Trees of messages: each message says which further ones its handler sends, so that whatever the schedule, the same
/// messages are handled on the same ranks, and a sequential walk knows how many.

#include <array>
#include <cstdint>
#include <numeric>
#include <vector>

#include "amity/base/random.hpp"
#include "amity/base/types.hpp"

namespace amity::testing {

/// One message.
struct node {
  std::uint64_t key;
  std::uint64_t level;
};

struct trees {
  rank_t ranks;
  std::uint64_t seed;
  std::uint64_t roots;                 ///< a rank
  std::uint64_t depth;                 ///< of a tree: levels below its root
  std::array<std::uint8_t, 8> fanout;  ///< children of a node: one of these, by its key

  node root(rank_t rank, std::uint64_t number) const {
    return {splitmix64::mix(seed + static_cast<std::uint64_t>(rank) * 1'000'003 + number), 0};
  }
  rank_t home(const node& n) const {
    return static_cast<rank_t>(splitmix64::mix(n.key) % static_cast<std::uint64_t>(ranks));
  }

  /// Calls visit(root) for each message with which `rank` begins.
  template <class Visit>
  void for_each_root(rank_t rank, Visit&& visit) const {
    for (std::uint64_t number = 0; number < roots; ++number) visit(root(rank, number));
  }

  /// Calls visit(child) for each message that the handler of `n` sends.
  template <class Visit>
  void for_each_child(const node& n, Visit&& visit) const {
    if (n.level == depth) return;
    for (std::uint64_t child = 0; child < fanout[n.key % fanout.size()]; ++child) {
      visit(node{splitmix64::mix(n.key + child + 1), n.level + 1});
    }
  }

  /// What each rank handles in the end.
  struct totals {
    std::vector<std::uint64_t> handled;   ///< messages, by rank
    std::vector<std::uint64_t> key_sums;  ///< sums of their keys, by rank
    std::uint64_t messages() const { return std::accumulate(handled.begin(), handled.end(), std::uint64_t{0}); }
    std::uint64_t key_sum() const { return std::accumulate(key_sums.begin(), key_sums.end(), std::uint64_t{0}); }
  };

  totals walk() const {
    const auto size = static_cast<std::size_t>(ranks);
    totals result{.handled = std::vector<std::uint64_t>(size), .key_sums = std::vector<std::uint64_t>(size)};
    std::vector<node> open;
    for (rank_t rank = 0; rank < ranks; ++rank) for_each_root(rank, [&](const node& n) { open.push_back(n); });
    while (!open.empty()) {
      const node n = open.back();
      open.pop_back();
      ++result.handled[static_cast<std::size_t>(home(n))];
      result.key_sums[static_cast<std::size_t>(home(n))] += n.key;
      for_each_child(n, [&](const node& child) { open.push_back(child); });
    }
    return result;
  }
};

}  // namespace amity::testing
