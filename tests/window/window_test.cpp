/// Windows on every fabric, and on each path: by loads and stores, by the fabric's remote memory, and by records.

#include <array>
#include <complex>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "amity/window/window.hpp"
#include "tests/core/poorer.hpp"
#include "tests/support/cases.hpp"
#include "tests/support/texts.hpp"
#include "tests/support/worlds.hpp"
#include "tests/window/paths.hpp"

namespace amity {
namespace {

using testing::next_of;
using enum accumulate_op;

class windows : public testing::on_paths {};
INSTANTIATE_TEST_SUITE_P(window, windows, ::testing::ValuesIn(testing::jobs_of_windows({1, 2, 3, 4}, 3)),
                         testing::name_of_job);

TEST_P(windows, fences_end_puts_and_gets) {
  run([](world& w) {
    auto shared = w.allocate_window<std::uint64_t>(100);
    for (const std::uint64_t each : shared.local()) EXPECT_EQ(each, 0u);
    const auto rank = static_cast<std::uint64_t>(w.rank());
    const auto before = static_cast<std::uint64_t>((w.rank() + w.size() - 1) % w.size());
    shared.fence(window_assert::no_precede);
    for (std::uint64_t round = 1; round <= 20; ++round) {
      for (std::size_t i = 0; i < 50; ++i) shared.put(next_of(w), i, 1000 * rank + round + i);
      shared.fence();
      for (std::size_t i = 0; i < 50; ++i) EXPECT_EQ(shared.local()[i], 1000 * before + round + i);
      std::vector<std::uint64_t> own(50);
      shared.get(next_of(w), 0, std::span(own));
      shared.fence();
      for (std::size_t i = 0; i < 50; ++i) EXPECT_EQ(own[i], 1000 * rank + round + i);
    }
    shared.fence(window_assert::no_succeed);
  });
}

TEST_P(windows, start_waits_for_posts) {
  run([](world& w) {
    auto shared = w.allocate_window<int>(4);
    const rank_t next = next_of(w), before = (w.rank() + w.size() - 1) % w.size();
    for (int round = 1; round <= 20; ++round) {
      shared.local()[0] = -round;
      shared.post(std::span(&before, 1));
      shared.start(std::span(&next, 1));
      int seen = 0;
      shared.get(next, 0, seen);
      shared.put(next, 1, 100 * w.rank() + round);
      shared.accumulate(sum, next, 2, 1);
      shared.complete();
      EXPECT_EQ(seen, -round);
      if (round % 2 == 0) {
        shared.wait();
      } else {
        while (!shared.test()) {
        }
      }
      EXPECT_EQ(shared.local()[1], 100 * before + round);
      EXPECT_EQ(shared.local()[2], round);
    }
  });
}

// No instruction covers a pair: its accumulates travel as records, also to members that map the memory.
TEST_P(windows, wait_sees_accumulates_of_pairs) {
  using pair = value_location<double, int>;
  run([](world& w) {
    auto shared = w.allocate_window<pair>(64);
    std::vector<rank_t> others;
    for (rank_t each = 0; each < w.size(); ++each) {
      if (each != w.rank()) others.push_back(each);
    }
    for (int round = 1; round <= 10; ++round) {
      shared.post(others);
      shared.start(others);
      const std::vector<pair> values(64, pair{1.0 * round, round});
      for (const rank_t each : others) shared.accumulate(accumulate_op::replace, each, 0, values);
      shared.complete();
      shared.wait();
      for (const pair& each : shared.local()) EXPECT_EQ(each.location, others.empty() ? 0 : round);
    }
  });
}

TEST_P(windows, exclusive_locks_exclude) {
  run([](world& w) {
    auto counter = w.allocate_window<std::uint64_t>(2);
    constexpr int times = 50;
    for (int i = 0; i < times; ++i) {
      for (rank_t target = 0; target < w.size(); ++target) {
        counter.lock(lock_kind::exclusive, target);
        std::uint64_t one = 0, other = 0;
        counter.get(target, 0, one);
        counter.get(target, 1, other);
        counter.flush(target);
        EXPECT_EQ(one, other);
        counter.put(target, 0, one + 1);
        counter.put(target, 1, other + 1);
        counter.unlock(target);
      }
    }
    w.barrier();
    EXPECT_EQ(counter.local()[0], static_cast<std::uint64_t>(times * w.size()));
  });
}

TEST_P(windows, atomics_are_exact) {
  run([](world& w) {
    auto shared = w.allocate_window<std::uint64_t>(3);
    constexpr std::uint64_t times = 40;
    const auto ranks = static_cast<std::uint64_t>(w.size());
    shared.lock_all();
    std::vector<bool> taken(times * ranks);
    for (std::uint64_t i = 0; i < times; ++i) {
      std::uint64_t ticket = 0;
      shared.fetch_and_op(sum, 0, 0, 1, ticket);
      shared.flush(0);
      ASSERT_LT(ticket, taken.size());
      EXPECT_FALSE(taken[ticket]);
      taken[ticket] = true;
      for (std::uint64_t seen = 0, expected = 0;; expected = seen) {
        shared.compare_and_swap(0, 1, expected, expected + 1, seen);
        shared.flush(0);
        if (seen == expected) break;
      }
      shared.accumulate(maximum, w.size() - 1, 2, ticket);
    }
    shared.unlock_all();
    w.barrier();
    if (w.rank() == 0) {
      EXPECT_EQ(shared.local()[0], times * ranks);
      EXPECT_EQ(shared.local()[1], times * ranks);
    }
    if (w.rank() == w.size() - 1) {
      EXPECT_EQ(shared.local()[2], times * ranks - 1);
    }
  });
}

TEST_P(windows, pairs_and_complex_numbers_combine) {
  run([](world& w) {
    using pair = value_location<double, int>;
    auto maxima = w.allocate_window<pair>(2);
    auto numbers = w.allocate_window<std::complex<double>>(2);
    maxima.fence();
    numbers.fence();
    for (int i = 0; i < 10; ++i) {
      maxima.accumulate(maximum_location, 0, 1, pair{static_cast<double>(i * (w.rank() + 1)), w.rank()});
      numbers.accumulate(sum, w.size() - 1, 0, std::complex<double>(1, w.rank()));
    }
    maxima.fence();
    numbers.fence();
    if (w.rank() == 0) {
      EXPECT_EQ(maxima.local()[1], (pair{9.0 * w.size(), w.size() - 1}));
    }
    if (w.rank() == w.size() - 1) {
      EXPECT_EQ(numbers.local()[0], std::complex<double>(10 * w.size(), 5 * w.size() * (w.size() - 1)));
    }
    maxima.fence(window_assert::no_succeed);
    numbers.fence(window_assert::no_succeed);
  });
}

TEST_P(windows, large_operations_arrive_whole) {
  run([](world& w) {
    constexpr std::size_t count = 50'000;
    auto shared = w.allocate_window<std::uint32_t>(count);
    std::vector<std::uint32_t> ours(count), theirs(count), previous(count);
    for (std::size_t i = 0; i < count; ++i)
      ours[i] = static_cast<std::uint32_t>(i) + static_cast<std::uint32_t>(w.rank());
    const rank_t next = next_of(w);
    const auto before = static_cast<std::uint32_t>((w.rank() + w.size() - 1) % w.size());
    shared.fence();
    shared.put(next, 0, std::span<const std::uint32_t>(ours));
    shared.fence();
    shared.get_accumulate(sum, next, 0, ours, previous);
    shared.fence();
    shared.get(next, 0, std::span(theirs));
    shared.fence(window_assert::no_succeed);
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < count; ++i) {
      wrong += shared.local()[i] != 2 * (static_cast<std::uint32_t>(i) + before);
      wrong += previous[i] != ours[i];
      wrong += theirs[i] != 2 * ours[i];
    }
    EXPECT_EQ(wrong, 0u);
  });
}

// A rank that has left a fence locks a target that is still in it.
TEST(window_schedules, locks_see_what_fence_has_ended) {
  for (std::uint64_t seed = 1; seed <= testing::cases(1500); ++seed) {
    fabric::sim::run(3, {.seed = seed, .delay_ns_max = 200'000}, [](fabric::fabric& whole) {
      fabric::testing::poorer own(whole, false);
      world w(own, {});
      auto shared = w.allocate_window<int>(1);
      for (int round = 1; round <= 8; ++round) {
        shared.fence(window_assert::no_precede);
        if (w.rank() == 1) shared.put(0, 0, round);
        shared.fence(window_assert::no_succeed);
        if (w.rank() == 2) {
          int seen = 0;
          shared.lock(lock_kind::shared, 0, round % 2 == 0 ? window_assert::none : window_assert::no_check);
          shared.get(0, 0, seen);
          shared.unlock(0);
          EXPECT_EQ(seen, round);
        }
        w.barrier();
      }
      return 0;
    });
    if (::testing::Test::HasFailure()) return;
  }
}

// Each rank in turn makes no progress when it has its window. The others must have theirs before it makes some again.
TEST(window_schedules, members_with_window_owe_no_progress) {
  constexpr std::uint64_t idle_ns = 5'000'000;
  constexpr rank_t ranks = 4;
  for (std::uint64_t seed = 1; seed <= testing::cases(100); ++seed) {
    for (const std::uint32_t node_ranks : {1, 2, 4}) {
      fabric::sim::run(ranks, {.seed = seed, .node_ranks = node_ranks, .delay_ns_max = 20'000},
                       [&](fabric::fabric& whole) {
                         world w(whole, {});
                         auto shared = w.allocate_window<int>(1);
                         EXPECT_LT(whole.now_ns(), idle_ns) << "seed " << seed << ", ranks on a node " << node_ranks;
                         if (w.rank() == static_cast<rank_t>(seed % ranks)) testing::idle_until(whole, idle_ns);
                         w.barrier();
                         return 0;
                       });
    }
    if (::testing::Test::HasFailure()) return;
  }
}

// Values that wait for a lock, and are too large for a record alone.
TEST_P(windows, held_values_stay) {
  run([](world& w) {
    using block = std::array<int, 800>;
    auto shared = w.allocate_window<block>(static_cast<std::size_t>(w.size()));
    for (int round = 1; round <= 5; ++round) {
      for (rank_t target = 0; target < w.size(); ++target) {
        shared.lock(lock_kind::exclusive, target);
        block value;
        value.fill(100 * w.rank() + round);
        shared.put(target, static_cast<std::size_t>(w.rank()), value);
        value.fill(-1);
        shared.unlock(target);
      }
      w.barrier();
      for (rank_t origin = 0; origin < w.size(); ++origin) {
        block expected;
        expected.fill(100 * origin + round);
        EXPECT_EQ(shared.local()[static_cast<std::size_t>(origin)], expected);
      }
      w.barrier();
    }
  });
}

// Rounds of progress serve the locks of a window, though the last window of another world ends.
TEST_P(windows, ends_in_other_worlds_leave_locks) {
  run([](world& w) {
    const auto copy = w.duplicate();
    auto ours = w.allocate_window<int>(1);
    for (int round = 0; round < 10; ++round) {
      auto theirs = std::make_unique<window<int>>(copy->allocate_window<int>(1));
      if (w.rank() > 0) ours.lock(lock_kind::exclusive, 0);
      w.barrier();  // one rank has the lock, and the others wait for it
      theirs.reset();
      if (w.rank() > 0) {
        ours.accumulate(sum, 0, 0, 1);
        ours.unlock(0);
      }
    }
    w.barrier();
    if (w.rank() == 0) {
      EXPECT_EQ(ours.local()[0], 10 * (w.size() - 1));
    }
    w.barrier();
  });
}

// An owner that holds its own lock uses its memory by loads and stores.
TEST_P(windows, own_lock_is_held_at_once) {
  run([](world& w) {
    auto shared = w.allocate_window<std::int64_t>(1);
    for (int i = 0; i < 50; ++i) {
      shared.lock(lock_kind::exclusive, 0);
      if (w.rank() == 0) {
        ++shared.local()[0];
      } else {
        std::int64_t seen = 0;
        shared.get(0, 0, seen);
        shared.flush(0);
        shared.put(0, 0, seen + 1);
      }
      shared.unlock(0);
    }
    w.barrier();
    if (w.rank() == 0) {
      EXPECT_EQ(shared.local()[0], 50 * w.size());
    }
    w.barrier();
  });
}

// Errors

TEST(window_errors, end_inside_epoch_is_named) {
  testing::expect_parts(testing::failure_in_worlds(2,
                                                   [](world& w) {
                                                     auto shared = w.allocate_window<int>(1, {.name = "grid"});
                                                     shared.lock(lock_kind::shared, 0);
                                                     { auto gone = std::move(shared); }
                                                     w.barrier();
                                                   }),
                        {"the end of a window", "window 'grid'", "this rank holds locks"});
}

TEST(window_errors, world_destroyed_before_its_window) {
  const auto destroy = [] {
    testing::failure_in_worlds(1, [](world& w) {
      auto outer = w.allocate_window<int>(1, {.name = "outer"});
      auto copy = w.duplicate();
      auto grid = copy->allocate_window<int>(1, {.name = "grid"});
      copy.reset();
    });
  };
  EXPECT_DEATH(destroy(), "amity: world .rank 0.: a world was destroyed before its window 'grid'; destroy windows");
}

}  // namespace
}  // namespace amity
