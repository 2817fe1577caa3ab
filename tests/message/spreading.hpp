#pragma once

/// A program whose result shows that policies keep their laws, with each set of policies that it is given.

#include <cstdint>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "amity/amity.hpp"
#include "amity/base/random.hpp"
#include "offers.hpp"
#include "tests/support/sanitizer.hpp"

namespace amity::testing {

/// Smallest values by key that spread: a rank that improves a key offers it to two other keys. The result does not
/// depend on the order of offers, on how often one comes, or on which of two for one key comes first.
class spreading {
 public:
  static constexpr std::uint32_t keys = 97;
  static constexpr std::uint32_t none = ~std::uint32_t{0};
  using table = std::vector<std::uint32_t>;

  explicit spreading(std::uint64_t seed) : seed_(seed) {}

  std::vector<offer> roots(rank_t rank) const {
    splitmix64 random(splitmix64::mix(seed_ + static_cast<std::uint64_t>(rank)));
    std::vector<offer> all;
    for (int i = 0; i < 6; ++i) all.push_back(any(random, 3));
    all.push_back(all.front());
    return all;
  }
  template <class Send>
  void spread(const offer& improved, Send&& send) const {
    if (improved.value > 40) return;
    splitmix64 random(splitmix64::mix(seed_ ^ improved.key));
    for (int i = 0; i < 2; ++i) {
      offer next = any(random, 9);
      next.value += improved.value + 1;
      send(next);
      if (i == 0) send(next);
    }
  }

  table reference(rank_t ranks) const {
    table best(keys, none);
    std::vector<offer> open;
    for (rank_t rank = 0; rank < ranks; ++rank) {
      for (const offer& o : roots(rank)) open.push_back(o);
    }
    while (!open.empty()) {
      const offer o = open.back();
      open.pop_back();
      if (o.value >= best[o.key]) continue;
      best[o.key] = o.value;
      spread(o, [&](const offer& next) { open.push_back(next); });
    }
    return best;
  }

 private:
  static offer any(splitmix64& random, std::uint64_t values) {
    return {.key = static_cast<std::uint32_t>(random.below(keys)),
            .value = static_cast<std::uint32_t>(random.below(values))};
  }
  std::uint64_t seed_;
};

/// The keys of this rank are those of the sequential result.
inline void expect_result(world& w, const spreading& program, const spreading::table& best) {
  const cyclic_map owners(spreading::keys, w.size());
  const spreading::table expected = program.reference(w.size());
  for (std::uint32_t key = 0; key < spreading::keys; ++key) {
    if (owners.owner(key) != w.rank()) continue;
    EXPECT_EQ(best[key], expected[key]) << "key " << key;
  }
}

inline void expect_counted(world& w, const message_counters& seen, std::uint64_t calls) {
  EXPECT_EQ(seen.sent + seen.dropped + seen.combined, calls);
  EXPECT_EQ(w.sum(seen.sent), w.sum(seen.handled));
}

/// Runs two epochs of one program with the policies and compares each rank's keys with the sequential result.
template <class... Policies>
void run_spreading(world& w, std::uint64_t seed, Policies... policies) {
  const cyclic_map owners(spreading::keys, w.size());
  std::uint64_t calls = 0;
  spreading::table best;
  const spreading* work = nullptr;
  const auto send_to_owner = [&](auto& message, const offer& o) {
    ++calls;
    if constexpr ((detail::is_address<Policies> || ...)) {
      message.send(o);
    } else {
      message.send(owners.owner(o.key), o);
    }
  };
  auto offers = w.message<offer>(
      [&](const offer& o, auto& self) {
        ASSERT_EQ(owners.owner(o.key), w.rank());
        if (o.value >= best[o.key]) return;
        best[o.key] = o.value;
        work->spread(o, [&](const offer& next) { send_to_owner(self, next); });
      },
      policies...);
  for (std::uint64_t epoch = 0; epoch < 2; ++epoch) {
    const spreading program(seed * 2 + epoch);
    work = &program;
    best.assign(spreading::keys, spreading::none);
    w.epoch([&] {
      for (const offer& o : program.roots(w.rank())) send_to_owner(offers, o);
    });
    SCOPED_TRACE(seed);
    expect_result(w, program, best);
  }
  expect_counted(w, offers.counters(), calls);
}

/// Calls run(policies...) for each legal order of some of: address, unique, combine, `more` if there are any, coalesce;
/// caches of any kind.
template <class Cache, class Run, class... More>
void for_all_orders(const Cache& cache, rank_t ranks, Run&& run, const More&... more) {
  const address to_owner{[owners = cyclic_map(spreading::keys, ranks)](const offer& o) { return owners.owner(o.key); }};
  const unique<Cache> once{cache};
  const combine best_of{key_of, smaller, cache};
  const coalesce few{.count = 3};
  const auto with_or_without = [](const auto& policy, auto&& next) {
    next(std::tuple(policy));
    if constexpr (!sanitized) next(std::tuple());  // smaller sets: policy_sets.hpp
  };
  with_or_without(to_owner, [&](const auto& first) {
    with_or_without(once, [&](const auto& second) {
      with_or_without(best_of, [&](const auto& third) {
        with_or_without(few, [&](const auto& last) {
          std::apply(run, std::tuple_cat(first, second, third, std::tuple(more...), last));
        });
      });
    });
  });
}

}  // namespace amity::testing
