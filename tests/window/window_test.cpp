/// Windows on every fabric, and on each path: by loads and stores, by the fabric's remote memory, and by records.

#include <array>
#include <complex>
#include <cstdint>
#include <memory>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "amity/window/window.hpp"
#include "tests/core/poorer.hpp"
#include "tests/support/cases.hpp"
#include "tests/support/texts.hpp"
#include "tests/support/worlds.hpp"
#include "tests/window/paths.hpp"

namespace amity {
namespace {

using testing::everyone;
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

TEST_P(windows, everyone_posts_to_everyone) {
  run([](world& w) {
    auto shared = w.allocate_window<int>(static_cast<std::size_t>(w.size()));
    const std::vector<rank_t> all = everyone(w);
    for (int round = 1; round <= 10; ++round) {
      shared.post(all);
      shared.start(all);
      for (const rank_t each : all) shared.put(each, static_cast<std::size_t>(w.rank()), round * (w.rank() + 1));
      shared.complete();
      shared.wait();
      for (const rank_t each : all) EXPECT_EQ(shared.local()[static_cast<std::size_t>(each)], round * (each + 1));
      w.barrier();
    }
    shared.post({});
    shared.start({});
    shared.complete();
    shared.wait();
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

TEST_P(windows, readers_and_writers_alternate) {
  run([](world& w) {
    auto shared = w.allocate_window<std::uint64_t>(8);
    for (std::uint64_t i = 0; i < 30; ++i) {
      const bool writes = (i + static_cast<std::uint64_t>(w.rank())) % 3 == 0;
      shared.lock(writes ? lock_kind::exclusive : lock_kind::shared, 0);
      std::vector<std::uint64_t> seen(8);
      shared.get(0, 0, std::span(seen));
      shared.flush(0);
      for (const std::uint64_t each : seen) EXPECT_EQ(each, seen[0]);
      if (writes) {
        for (std::uint64_t& each : seen) ++each;
        shared.put(0, 0, std::span<const std::uint64_t>(seen));
        shared.flush_local(0);
      }
      shared.unlock(0);
    }
    w.barrier();
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

TEST_P(windows, layouts_reach_blocks) {
  run([](world& w) {
    constexpr std::size_t rows = 30, columns = 20;
    auto shared = w.allocate_window<std::int64_t>(rows * columns);
    const auto column = std::make_shared<const layout>(
        layout::strided(rows, sizeof(std::int64_t), static_cast<std::ptrdiff_t>(columns * sizeof(std::int64_t))));
    const rank_t next = next_of(w), before = (w.rank() + w.size() - 1) % w.size();
    std::vector<std::int64_t> ours(rows), theirs(rows);
    shared.fence();
    for (std::size_t c = 0; c < columns; ++c) {
      std::iota(ours.begin(), ours.end(), static_cast<std::int64_t>(1000 * c) + w.rank());
      shared.put(next, c, column, ours);
      shared.fence();
      shared.accumulate(sum, next, c, column, ours);
      shared.fence();
      shared.get(next, c, column, std::span(theirs));
      shared.fence();
      for (std::size_t r = 0; r < rows; ++r) {
        EXPECT_EQ(theirs[r], 2 * ours[r]);
        EXPECT_EQ(shared.local()[r * columns + c], 2 * static_cast<std::int64_t>(1000 * c + r) + 2 * before);
      }
      shared.fence();
    }
    shared.fence(window_assert::no_succeed);
  });
}

TEST_P(windows, memory_of_program_serves) {
  run([](world& w) {
    std::vector<std::uint16_t> own(1001);
    auto shared = w.create_window(std::span(own).subspan(1));
    EXPECT_EQ(shared.local().data(), own.data() + 1);
    const rank_t next = next_of(w), before = (w.rank() + w.size() - 1) % w.size();
    std::vector<std::uint16_t> sent(1000, static_cast<std::uint16_t>(w.rank() + 1)), got(1000);
    shared.lock(lock_kind::shared, next);
    shared.put(next, 0, std::span<const std::uint16_t>(sent));
    shared.flush(next);
    shared.get(next, 0, std::span(got));
    shared.flush(next);
    shared.accumulate(sum, next, 999, std::uint16_t{5});
    shared.unlock(next);
    w.barrier();
    EXPECT_EQ(got, sent);
    EXPECT_EQ(own[0], 0);
    EXPECT_EQ(own[1], before + 1);
    EXPECT_EQ(own[1000], before + 6);
    w.barrier();
  });
}

TEST_P(windows, sizes_differ) {
  run([](world& w) {
    auto shared = w.allocate_window<int>(w.rank() % 2 == 0 ? 0 : 3);
    shared.fence();
    for (rank_t target = 1; target < w.size(); target += 2) shared.accumulate(sum, target, 2, 1);
    shared.put(0, 0, std::span<const int>());
    shared.fence(window_assert::no_succeed);
    if (w.rank() % 2 == 1) {
      EXPECT_EQ(shared.local()[2], w.size());
    }
  });
}

TEST_P(windows, many_live_at_once) {
  run([](world& w) {
    std::vector<window<int>> all;
    for (int i = 0; i < 40; ++i) all.push_back(w.allocate_window<int>(2));
    for (window<int>& each : all) each.fence();
    for (std::size_t i = 0; i < all.size(); ++i) all[i].put(next_of(w), 1, static_cast<int>(i) + 1);
    for (window<int>& each : all) each.fence(window_assert::no_succeed);
    for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i].local()[1], static_cast<int>(i) + 1);
    while (!all.empty()) all.pop_back();
  });
}

// An accumulate that takes a record must not be overtaken by one that is a store.
TEST_P(windows, accumulates_keep_their_order) {
  run([](world& w) {
    auto shared = w.allocate_window<double>(2000);
    const rank_t next = next_of(w);
    const std::vector<double> ones(2000, 1.0);
    shared.lock(lock_kind::shared, next);
    for (int i = 0; i < 10; ++i) {
      shared.accumulate(sum, next, 0, ones);
      shared.accumulate(replace, next, 1999, static_cast<double>(i));
    }
    double last = 0;
    shared.fetch_and_op(no_op, next, 1999, 0.0, last);
    shared.unlock(next);
    EXPECT_EQ(last, 9);
    w.barrier();
    EXPECT_EQ(shared.local()[0], 10);
    EXPECT_EQ(shared.local()[1999], 9);
    w.barrier();
  });
}

TEST_P(windows, parts_of_a_world_have_windows) {
  run([](world& w) {
    const auto part = w.split({.color = w.rank() % 2, .key = -w.rank()});
    auto ours = part->allocate_window<int>(1);
    auto all = w.allocate_window<int>(1);
    ours.fence();
    all.fence();
    ours.accumulate(sum, 0, 0, 1);
    all.accumulate(sum, 0, 0, 1);
    ours.fence(window_assert::no_succeed);
    all.fence(window_assert::no_succeed);
    if (part->rank() == 0) {
      EXPECT_EQ(ours.local()[0], part->size());
    }
    if (w.rank() == 0) {
      EXPECT_EQ(all.local()[0], w.size());
    }
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

// A wait for a request alone ends: it sends packets that are not full.
TEST_P(windows, requests_end_alone) {
  run([](world& w) {
    auto shared = w.allocate_window<std::int64_t>(200);
    const rank_t next = next_of(w);
    shared.lock_all();
    std::vector<std::int64_t> ours(100, w.rank() + 1), theirs(100), previous(100);
    shared.rput(next, 0, ours).wait();
    ours.assign(100, -1);  // the buffer may change
    shared.flush(next);
    window_request got = shared.rget(next, 0, theirs);
    while (!got.test()) {
    }
    EXPECT_EQ(theirs, std::vector<std::int64_t>(100, w.rank() + 1));
    shared.raccumulate(sum, next, 100, theirs).wait();
    std::vector<window_request> many;
    std::vector<std::int64_t> each(100);
    for (std::size_t i = 0; i < each.size(); ++i)
      many.push_back(
          shared.rget_accumulate(sum, next, 100 + i, std::span(theirs).subspan(i, 1), std::span(each).subspan(i, 1)));
    for (window_request& one : many) one.wait();
    EXPECT_EQ(each, theirs);
    shared.unlock_all();
    w.barrier();
    EXPECT_EQ(shared.local()[100], 2 * (1 + (w.rank() + w.size() - 1) % w.size()));
    w.barrier();
  });
}

// Errors

std::string failure_in_window(const std::function<void(world&, window<int>&)>& body) {
  return testing::failure_in_worlds(2, [&](world& w) {
    auto shared = w.allocate_window<int>(4, {.name = "grid"});
    if (w.rank() == 0) body(w, shared);
    w.barrier();
  });
}

TEST(window_errors, name_call_window_and_remedy) {
  testing::expect_parts(failure_in_window([](world&, window<int>& w) { w.put(1, 0, 1); }),
                        {"window::put (rank 0)", "window 'grid'", "no access epoch is open", "call fence, start"});
  testing::expect_parts(failure_in_window([](world&, window<int>& w) {
                          w.lock(lock_kind::shared, 1);
                          w.put(2, 0, 1);
                        }),
                        {"window::put", "rank 2 is not a member", "0 to 1"});
  testing::expect_parts(failure_in_window([](world&, window<int>& w) {
                          w.lock(lock_kind::shared, 1);
                          w.put(1, 4, 1);
                        }),
                        {"window::put", "4 bytes at offset 16 are out of range", "rank 1 has 16 bytes"});
  testing::expect_parts(failure_in_window([](world&, window<int>& w) { w.put(1, 4, 1); }),
                        {"window::put", "no access epoch is open"});  // the place is wrong, too
  testing::expect_parts(failure_in_window([](world&, window<int>& w) { w.unlock(1); }),
                        {"window::unlock", "call lock"});
  testing::expect_parts(failure_in_window([](world&, window<int>& w) { w.complete(); }), {"window::complete", "start"});
  testing::expect_parts(failure_in_window([](world&, window<int>& w) { w.wait(); }), {"window::wait", "call post"});
  testing::expect_parts(failure_in_window([](world&, window<int>& w) {
                          w.start({});
                          w.start({});
                        }),
                        {"window::start", "the epoch of a start is open", "call complete"});
  testing::expect_parts(failure_in_window([](world&, window<int>& w) { w.flush(1); }), {"window::flush", "lock"});
  testing::expect_parts(failure_in_window([](world&, window<int>& w) {
                          w.lock(lock_kind::shared, 1);
                          w.accumulate(maximum_location, 1, 0, 1);
                        }),
                        {"window::accumulate", "maximum_location is not defined on"});
}

TEST(window_errors, name_wrong_arguments) {
  using numbers = std::vector<int>;
  testing::expect_parts(failure_in_window([](world&, window<int>& w) { w.lock(lock_kind::none, 1); }),
                        {"window::lock", "a lock of kind none", "choose shared or exclusive"});
  testing::expect_parts(failure_in_window([](world&, window<int>& w) {
                          w.post(std::vector<rank_t>{1, 1});
                        }),
                        {"window::post", "rank 1 is named twice"});
  testing::expect_parts(failure_in_window([](world&, window<int>& w) {
                          numbers two(2), three(3);
                          w.lock(lock_kind::shared, 1);
                          w.get_accumulate(sum, 1, 0, three, two);
                        }),
                        {"window::get_accumulate", "12 bytes of operands, and 8 for what was there before"});
  testing::expect_parts(failure_in_window([](world&, window<int>& w) {
                          numbers two(2);
                          w.lock(lock_kind::shared, 1);
                          w.get_accumulate(sum, 1, 0, {}, two);
                        }),
                        {"window::get_accumulate", "sum without operands"});
  testing::expect_parts(failure_in_window([](world&, window<int>& w) {
                          numbers two(2);
                          w.lock(lock_kind::shared, 1);
                          w.accumulate(sum, 1, 0, std::make_shared<const layout>(layout::strided(4, 2, 4)), two);
                        }),
                        {"window::accumulate", "not whole elements of"});
  testing::expect_parts(failure_in_window([](world&, window<int>& w) {
                          numbers two(2);
                          w.lock(lock_kind::shared, 1);
                          w.put(1, 0, std::make_shared<const layout>(layout::strided(4, 4, 8)), two);
                        }),
                        {"window::put", "8 bytes of data for a layout of 16 bytes"});
  testing::expect_parts(failure_in_window([](world&, window<int>& w) {
                          const numbers two(2);
                          w.lock(lock_kind::shared, 1);
                          w.accumulate(sum, 1, 0, std::shared_ptr<const layout>(), two);
                        }),
                        {"window::accumulate", "the layout is a null pointer"});
  testing::expect_parts(failure_in_window([](world&, window<int>& w) {
                          const numbers two(2);
                          w.lock(lock_kind::shared, 1);
                          w.put(1, 0, std::shared_ptr<const layout>(), two);
                        }),
                        {"window::put", "the layout is a null pointer"});
  testing::expect_parts(failure_in_window([](world&, window<int>& w) {
                          w.lock(lock_kind::shared, 1);
                          w.put(1, std::size_t{1} << 62, 1);
                        }),
                        {"window::put", "out of range"});
}

// Rank 1 never gives the lock back; the simulator reports where rank 0 waits.
TEST(window_errors, wait_for_lock_names_holder) {
  testing::expect_parts(
      testing::failure_in_worlds(2,
                                 [](world& w) {
                                   auto shared = w.allocate_window<int>(1, {.name = "grid"});
                                   if (w.rank() == 1) {
                                     shared.lock(lock_kind::exclusive, 0);
                                     shared.put(0, 0, 1);
                                     shared.flush(0);
                                   }
                                   w.barrier();
                                   if (w.rank() == 0) shared.lock(lock_kind::exclusive, 0);
                                   w.barrier();
                                 }),
      {"window::lock of window 'grid', lock epoch, target 0: waits for its lock, which rank 1 holds"});
}

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
