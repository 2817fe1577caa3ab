/// Random programs in worlds that are made of one another.

#include <cstdint>

#include "amity/base/random.hpp"
#include "amity/world/world.hpp"
#include "tests/support/cases.hpp"
#include "tests/support/worlds.hpp"

namespace amity {
namespace {

using testing::failure_of;

/// A message in one of two worlds, and what its handler sends: of the first world's messages some in the second.
struct node {
  std::uint64_t key;
  std::uint32_t level;
  std::uint32_t world;  ///< 0: that of the inner epoch; 1: that of the outer
};

template <class Visit>
void for_each_child(const node& n, Visit&& visit) {
  if (n.level == 4) return;
  for (std::uint64_t child = 0; child < n.key % 4; ++child) {
    const std::uint64_t key = splitmix64::mix(n.key + child + 1);
    visit(node{key, n.level + 1, n.world == 1 || key % 3 == 0 ? 1u : 0u});
  }
}

struct totals {
  std::uint64_t messages[2] = {0, 0};
};

void walk(const node& n, totals& all) {
  ++all.messages[n.world];
  for_each_child(n, [&](const node& child) { walk(child, all); });
}

/// Inner and outer epochs in worlds that are made of one another, in a random network; their sums are those of a walk.
void random_program(std::uint64_t seed) {
  splitmix64 random(seed);
  const auto ranks = static_cast<rank_t>(1 + random.below(8));
  const fabric::sim::sim_options network{
      .seed = seed,
      .delay_ns_max = random.below(2) * random.below(20'000),
      .reorder_percent = static_cast<std::uint32_t>(random.below(2) * random.below(100)),
      .credits = static_cast<std::uint32_t>(1 + random.below(8)),
      .packet_bytes = 528};
  const std::uint64_t colors = 1 + random.below(3), roots = 1 + random.below(40), bound = 1 + random.below(20);
  testing::run_worlds(testing::simulated("random", network), ranks, [&](world& w) {
    const auto outer =
        w.split({.color = static_cast<std::int64_t>(static_cast<std::uint64_t>(w.rank()) % colors),
                 .key = static_cast<std::int64_t>(splitmix64::mix(seed + static_cast<std::uint64_t>(w.rank())) >> 1)});
    const auto inner = outer->split({.key = -outer->rank()});
    const auto size = static_cast<std::uint64_t>(outer->size());
    const auto home = [&](const node& n) { return static_cast<rank_t>(splitmix64::mix(n.key) % size); };
    const auto root = [&](rank_t rank, std::uint64_t number) {
      return node{splitmix64::mix(seed * 1000 + static_cast<std::uint64_t>(rank) * 100 + number), 0, 0};
    };
    totals expected, seen;
    for (rank_t rank = 0; rank < outer->size(); ++rank) {
      for (std::uint64_t number = 0; number < roots; ++number) walk(root(rank, number), expected);
    }
    auto in_outer = outer->message<node>(
        [&](const node& n, auto& self) {
          ++seen.messages[1];
          for_each_child(n, [&](const node& child) { self.send(home(child), child); });
        },
        coalesce{.count = bound});
    auto in_inner = inner->message<node>(
        [&](const node& n, auto& self) {
          ++seen.messages[0];
          for_each_child(n, [&](const node& child) {
            if (child.world == 0) {
              self.send(home(child), child);
            } else {
              in_outer.send(home(child), child);
            }
          });
        },
        coalesce{.count = bound});
    const auto all_outer = outer->epoch(
        [&] {
          const auto all_inner = inner->epoch(
              [&] {
                for (std::uint64_t number = 0; number < roots; ++number) {
                  const node n = root(outer->rank(), number);
                  in_inner.send(home(n), n);
                }
              },
              [&] { return seen.messages[0]; });
          EXPECT_EQ(all_inner, expected.messages[0]) << "seed " << seed;
        },
        [&] { return seen.messages[1]; });
    EXPECT_EQ(all_outer, expected.messages[1]) << "seed " << seed;
    outer->barrier();
  });
}

TEST(random_worlds, end_neither_early_nor_never) {
  for (std::uint64_t seed = 1; seed <= testing::cases(300); ++seed) {
    EXPECT_EQ(failure_of([&] { random_program(seed); }), "") << "seed " << seed;
    if (::testing::Test::HasFailure()) break;
  }
}

}  // namespace
}  // namespace amity
