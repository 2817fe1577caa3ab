#pragma once

/// Sets of policies, all that there are of each size: a program whose result does not depend on the order of
/// its messages, on how often one comes, or on which of two for one key comes first, has the same result with each set.

#include <bit>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

#include "amity/amity.hpp"
#include "amity/base/random.hpp"
#include "tests/support/programs.hpp"

namespace amity::testing {

/// A way to `key` of that length.
struct way {
  std::uint32_t key;
  std::uint32_t length;
};

/// Shortest ways to keys in a random graph, from roots of each thread.
class shortest_ways {
 public:
  static constexpr std::uint32_t keys = 53;
  static constexpr std::uint32_t none = ~std::uint32_t{0};

  explicit shortest_ways(std::uint64_t seed) : seed_(seed) {}

  way root(rank_t number) const {
    return {.key = at(static_cast<std::uint64_t>(number) + 1000, 0) % keys, .length = 0};
  }
  template <class Visit>
  void for_each_next(const way& w, Visit&& visit) const {
    for (std::uint64_t i = 0; i < 3; ++i)
      visit(way{.key = at(w.key, 2 * i) % keys, .length = w.length + 1 + at(w.key, 2 * i + 1) % 9});
  }

  std::vector<std::uint32_t> reference(rank_t roots) const {
    std::vector<std::uint32_t> best(keys, none);
    std::vector<way> open;
    for (rank_t i = 0; i < roots; ++i) open.push_back(root(i));
    while (!open.empty()) {
      const way w = open.back();
      open.pop_back();
      if (w.length >= best[w.key]) continue;
      best[w.key] = w.length;
      for_each_next(w, [&](const way& next) { open.push_back(next); });
    }
    return best;
  }

 private:
  std::uint32_t at(std::uint64_t key, std::uint64_t i) const {
    return static_cast<std::uint32_t>(splitmix64::mix(seed_ ^ (key * 64 + i)));
  }
  std::uint64_t seed_;
};

inline constexpr std::size_t policy_count = 8;

/// The policies whose bits are set in `Mask`, in their order.
template <unsigned Mask>
auto policies(const cyclic_map& owner) {
  const auto key_of = [](const way& w) { return w.key; };
  const auto shorter = [](const way& a, const way& b) { return a.length <= b.length ? a : b; };
  const auto all = std::tuple(address{[owner](const way& w) { return owner(w.key); }}, unique{direct_mapped{16}},
                              combine{key_of, shorter, hash_table{16}}, deliver_locally{.count = 3}, route{grid{}},
                              parallel{key_of}, coalesce{.count = 5}, priority{1});
  static_assert(std::tuple_size_v<decltype(all)> == policy_count);
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    const auto chosen = [&]<std::size_t Index>(std::integral_constant<std::size_t, Index>) {
      if constexpr ((Mask >> Index & 1u) != 0) {
        return std::tuple(std::get<Index>(all));
      } else {
        return std::tuple<>();
      }
    };
    return std::tuple_cat(chosen(std::integral_constant<std::size_t, I>{})...);
  }
  (std::make_index_sequence<policy_count>{});
}

template <unsigned Mask>
void find_shortest_ways(world& w, std::uint64_t seed) {
  constexpr bool addressed = (Mask & 1u) != 0;
  const shortest_ways graph(seed);
  const cyclic_map owner(shortest_ways::keys, w.size());
  std::vector<std::uint32_t> best(shortest_ways::keys, shortest_ways::none);
  const auto send = [&](auto& type, const way& found) {
    if constexpr (addressed) {
      type.send(found);
    } else {
      type.send(owner(found.key), found);
    }
  };
  const auto improve = [&](const way& found, auto& self) {
    if (found.length >= best[found.key]) return;
    best[found.key] = found.length;
    graph.for_each_next(found, [&](const way& next) { send(self, next); });
  };
  auto found =
      std::apply([&](const auto&... chosen) { return w.message<way>(improve, chosen...); }, policies<Mask>(owner));
  w.epoch([&](thread& t) { send(found.on(t), graph.root(w.rank() * w.threads() + t.thread_index())); });

  const auto expected = graph.reference(w.size() * w.threads());
  for (std::uint32_t key = 0; key < shortest_ways::keys; ++key) {
    if (owner(key) != w.rank()) continue;
    EXPECT_EQ(best[key], expected[key]) << "policies " << Mask << ", key " << key;
  }
  const message_counters counted = found.counters();
  EXPECT_EQ(w.sum(counted.sent), w.sum(counted.handled)) << "policies " << Mask;
}

/// Every set of `SizeMin` to `SizeMax` policies whose number is `Part` modulo `Parts`, one after the other in one job.
template <int SizeMin, int SizeMax, unsigned Part, unsigned Parts, unsigned Mask = 0>
void run_policy_sets(world& w, std::uint64_t seed) {
  if constexpr (Mask < 1u << policy_count) {
    constexpr int size = std::popcount(Mask);
    if constexpr (SizeMin <= size && size <= SizeMax && Mask % Parts == Part) find_shortest_ways<Mask>(w, seed);
    run_policy_sets<SizeMin, SizeMax, Part, Parts, Mask + 1>(w, seed);
  }
}

/// On every fabric, on 1, 2, 3, 4 and 8 ranks of 1, 2 and 4 threads.
template <int SizeMin, int SizeMax, unsigned Part = 0, unsigned Parts = 1>
void test_policy_sets() {
#ifdef __SANITIZE_THREAD__  // it cannot follow memory that processes share
  const std::vector<std::string> fabrics{"threads"};
#else
  const std::vector<std::string> fabrics{"sim", "threads", "shm"};
#endif
  std::uint64_t seed = 1;
  for (const std::string& fabric : fabrics) {
    for (const rank_t ranks : {1, 2, 3, 4, 8}) {
      for (const rank_t threads : {1, 2, 4}) {
        SCOPED_TRACE(fabric + " " + std::to_string(ranks) + " x " + std::to_string(threads));
        run_job(shape(fabric, ranks, threads, {"AMITY_SIM_REORDER_PERCENT=30", "AMITY_SIM_DELAY_NS_MAX=3000"}),
                [seed](world& w) { run_policy_sets<SizeMin, SizeMax, Part, Parts>(w, seed); });
        ++seed;
      }
    }
  }
}

}  // namespace amity::testing
