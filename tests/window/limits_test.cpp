/// Windows at the limits of numbers and memory, and locks that many ranks want.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "amity/window/window.hpp"
#include "tests/core/poorer.hpp"
#include "tests/support/cases.hpp"
#include "tests/support/jobs.hpp"
#include "tests/support/texts.hpp"
#include "tests/support/worlds.hpp"
#include "tests/window/paths.hpp"
#include "tests/window/resources.hpp"

namespace amity {
namespace {

using testing::everyone;
using testing::next_of;
using testing::previous_of;
using enum accumulate_op;

/// `usual`, or `many` in long tests.
template <class Number>
Number number_of_cases(Number usual, Number many) {
  return std::getenv("LONG_TESTS") != nullptr ? many : usual;
}

class limited_windows : public testing::on_paths {
 protected:
  /// Ranks are processes that a network connects, where each window takes a hundred times as long.
  static bool is_over_network() { return GetParam().kind.name == "ofi" || std::getenv("FABRIC") != nullptr; }
};
INSTANTIATE_TEST_SUITE_P(window, limited_windows, ::testing::ValuesIn(testing::jobs_of_windows({2, 3, 4}, 2)),
                         testing::name_of_job);

// Locks

// The other ranks hold shared locks one after the other, and end when the exclusive one has stored its mark.
TEST_P(limited_windows, shared_locks_do_not_starve_exclusive_one) {
  run([](world& w) {
    const rank_t writer = w.size() - 1;
    auto shared = w.allocate_window<std::uint64_t>(1);
    w.barrier();
    if (w.rank() == writer) {
      for (int i = 0; i < 20; ++i) {
        shared.lock(lock_kind::exclusive, 0);
        std::uint64_t seen = 0;
        shared.get(0, 0, seen);
        shared.flush(0);
        shared.put(0, 0, seen + 1);
        shared.unlock(0);
      }
    } else {
      for (std::uint64_t seen = 0; seen < 20;) {
        shared.lock(lock_kind::shared, 0);
        shared.get(0, 0, seen);
        shared.unlock(0);
      }
    }
    w.barrier();
  });
}

// Two ranks inside lock_all use two targets in different orders, while others wait to lock these exclusively.
TEST(window_locks, lock_all_does_not_wait_behind_ranks_that_wait) {
  for (const testing::job_kind& kind : testing::all_paths()) {
    SCOPED_TRACE(kind.name);
    run_worlds(kind, 6, [](world& w) {
      auto shared = w.allocate_window<int>(1);
      const bool reads = w.rank() == 2 || w.rank() == 3, writes = w.rank() >= 4;
      const rank_t first = w.rank() % 2;
      for (int round = 1; round <= 5; ++round) {
        if (reads) {
          shared.lock_all();
          shared.accumulate(accumulate_op::sum, first, 0, 1);
          shared.flush(first);
        }
        w.barrier();
        if (writes) shared.lock(lock_kind::exclusive, first);
        w.barrier();
        if (reads) {
          shared.accumulate(accumulate_op::sum, 1 - first, 0, 1);
          shared.flush(1 - first);
        }
        w.barrier();
        if (reads) shared.unlock_all();
        if (writes) {
          int before = 0;
          shared.get(first, 0, before);
          shared.flush(first);
          EXPECT_EQ(before, 3 * round - 1);
          shared.put(first, 0, before + 1);
          shared.unlock(first);
        }
        w.barrier();
      }
      if (w.rank() < 2) {
        EXPECT_EQ(shared.local()[0], 15);
      }
    });
  }
}

// Two ranks lock exclusively one after the other without a pause, until a third one inside lock_all has told them to
// end.
TEST(window_locks, lock_all_enters_between_exclusive_locks) {
  for (const testing::job_kind& kind : testing::all_paths()) {
    SCOPED_TRACE(kind.name);
    run_worlds(kind, 4, [](world& w) {
      auto shared = w.allocate_window<int>(2);
      for (int round = 1; round <= 3; ++round) {
        if (w.rank() == 3) {
          shared.lock_all();
          shared.put(0, 0, round);
          shared.unlock_all();
        } else if (w.rank() > 0) {
          for (int seen = 0; seen < round;) {
            shared.lock(lock_kind::exclusive, 0);
            shared.get(0, 0, seen);
            shared.unlock(0);
          }
        }
        w.barrier();
      }
    });
  }
}

// Ranks lock the memory of a rank that is in a fence already, and whose operations they refuse until they call it, too.
TEST(window_locks, are_granted_by_ranks_that_are_in_a_fence) {
  for (const testing::job_kind& kind : testing::all_paths()) {
    SCOPED_TRACE(kind.name);
    run_worlds(kind, 3, [](world& w) {
      auto fenced = w.allocate_window<int>(1), locked = w.allocate_window<int>(1);
      for (int round = 1; round <= 5; ++round) {
        for (window<int>* const in : {&fenced, &locked}) {
          if (w.rank() > 0) {
            in->lock(lock_kind::exclusive, 0);
            in->accumulate(accumulate_op::sum, 0, 0, 1);
            in->unlock(0);
          }
          fenced.fence(window_assert::no_precede);
          if (w.rank() == 0) {
            for (const rank_t target : {1, 2}) fenced.put(target, 0, round);
          }
          fenced.fence(window_assert::no_succeed);
        }
        EXPECT_EQ(fenced.local()[0], w.rank() == 0 ? 2 * round : round);
        EXPECT_EQ(locked.local()[0], w.rank() == 0 ? 2 * round : 0);
        w.barrier();
      }
    });
  }
}

// Rank 1 holds the lock; all operations of rank 2 are queued, and start in program order after the grant.
TEST(window_schedules, operations_queued_for_lock_start_in_order) {
  constexpr std::size_t count = 100'000;
  for (const window_protocol protocol : {window_protocol::automatic, window_protocol::send_recv}) {
    fabric::sim::run(3, {.credits = 4}, [&](fabric::fabric& whole) {
      fabric::testing::poorer own(whole, false);
      world w(own, {});
      auto shared = w.allocate_window<std::uint64_t>(1, {.protocol = protocol});
      if (w.rank() == 1) {
        shared.lock(lock_kind::exclusive, 0);
        shared.accumulate(replace, 0, 0, 7);
        shared.flush(0);
      }
      w.barrier();  // rank 1 has the lock
      std::vector<std::uint64_t> before(count + 100);
      const auto fetch = [&](std::span<std::uint64_t> into) {
        for (std::uint64_t& each : into) shared.fetch_and_op(sum, 0, 0, 1, each);
      };
      if (w.rank() == 2) {
        shared.lock(lock_kind::exclusive, 0);
        fetch(std::span(before).first(count));
      }
      w.barrier();
      if (w.rank() == 1) {
        shared.accumulate(sum, 0, 0, 1);
        shared.unlock(0);
      }
      w.barrier();
      if (w.rank() == 2) {
        for (int i = 0; i < 1000; ++i) static_cast<void>(w.poll());  // the grant arrives
        fetch(std::span(before).subspan(count));
        shared.unlock(0);
        std::size_t wrong = 0;
        for (std::size_t i = 0; i < before.size(); ++i) wrong += before[i] != 8 + i;
        EXPECT_EQ(wrong, 0u);
      }
      w.barrier();
      if (w.rank() == 0) {
        EXPECT_EQ(shared.local()[0], 8 + before.size());
      }
      w.barrier();
      return 0;
    });
  }
}

// Memory

void put_much(world& w, window<std::uint64_t>& on, std::size_t blocks, std::size_t block) {
  std::vector<std::uint64_t> sent(blocks * block);
  for (std::size_t i = 0; i < sent.size(); ++i) sent[i] = i + 1;
  const rank_t next = next_of(w), before = previous_of(w);
  const auto put = [&] {
    for (std::size_t i = 0; i < blocks; ++i) on.put(next, i * block, std::span(sent).subspan(i * block, block));
  };
  const auto check_and_clear = [&] {
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < sent.size(); ++i) wrong += std::exchange(on.local()[i], 0u) != i + 1;
    EXPECT_EQ(wrong, 0u);
    w.barrier();
  };
  on.fence(window_assert::no_precede);
  put();
  on.fence(window_assert::no_succeed);
  check_and_clear();
  on.post(std::span(&before, 1));
  on.start(std::span(&next, 1));
  put();
  on.complete();
  on.wait();
  check_and_clear();
  on.lock(lock_kind::exclusive, next);
  put();
  on.unlock(next);
  w.barrier();
  check_and_clear();
}

// An epoch with far more data than may wait to be sent.
TEST_P(limited_windows, puts_exceed_memory_of_waiting_messages) {
  if (GetParam().ranks != 2) return;
  const std::size_t mib = GetParam().kind.name.starts_with("rough") ? 4 : 16;
  run(
      [&](world& w) {
        const std::size_t bytes = mib << 20;
        constexpr std::size_t block = 1 << 15;
        std::vector<std::uint64_t> own(bytes / 8);
        auto created = w.create_window(std::span(own));
        put_much(w, created, bytes / 8 / block, block);
      },
      {{"AMITY_CORE_SPILL_BYTES_HIGH_WATER", "64k"}, {"AMITY_CORE_SPILL_BYTES_MAX", "1m"}});
}

/// Bytes that rank 0 keeps at most while it puts single words in an epoch that starts none before its end.
std::size_t peak_of_queued_puts(const testing::setting_changes& changes) {
  std::size_t peak = 0;
  testing::run_worlds(
      testing::simulated("sim", {}), 2,
      [&](world& w) {
        constexpr std::size_t count = 20'000;
        auto shared = w.allocate_window<std::uint64_t>(count);
        shared.fence(window_assert::no_precede);
        if (w.rank() == 0) {
          for (std::size_t i = 0; i < count; ++i) shared.put(1, i, i + 1);
          peak = w.endpoint().own_engine().bound().bytes_peak();
        }
        shared.fence(window_assert::no_succeed);
        for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(shared.local()[i], w.rank() == 1 ? i + 1 : 0);
      },
      testing::configured(changes, testing::configured({{"AMITY_WINDOW_PROTOCOL", "send_recv"}})));
  return peak;
}

TEST(queued_operations, bound_of_memory_holds) {
  EXPECT_GE(peak_of_queued_puts({}), 20'000u * sizeof(std::uint64_t));
  constexpr std::size_t bound = std::size_t{256} << 10;
  EXPECT_LE(peak_of_queued_puts(
                {{"AMITY_CORE_SPILL_BYTES_HIGH_WATER", "64k"}, {"AMITY_CORE_SPILL_BYTES_MAX", std::to_string(bound)}}),
            bound);
}

// Rank 1 never calls post. The puts that fit half of the bound are queued; the next one waits, and reports name its
// wait.
TEST(queued_operations, missing_post_is_reported_beyond_bound) {
  constexpr std::size_t bound = std::size_t{256} << 10;
  constexpr std::size_t block = 1024;  // words
  std::size_t begun = 0;
  const std::string text = testing::failure_in_worlds(
      2,
      [&](world& w) {
        auto shared = w.allocate_window<std::uint64_t>(block);
        const std::vector<std::uint64_t> words(block);
        if (w.rank() == 0) {
          const rank_t target = 1;
          shared.start(std::span(&target, 1));
          for (; begun < 10'000; ++begun) shared.put(1, 0, words);
          shared.complete();
        }
        w.barrier();
      },
      testing::configured({{"AMITY_WINDOW_PROTOCOL", "send_recv"},
                           {"AMITY_CORE_SPILL_BYTES_HIGH_WATER", "64k"},
                           {"AMITY_CORE_SPILL_BYTES_MAX", std::to_string(bound)}}));
  testing::expect_parts(text,
                        {"deadlock", "window::put of window 'window', start epoch, target 1: waits for its post"});
  EXPECT_GT(begun, 100u);
}

// Long tests use 9 GiB of memory.
TEST(large_windows, large_transfers_arrive_whole) {
  const std::size_t count = number_of_cases(std::size_t{1} << 22, (std::size_t{9} << 28) / 8);  // 32 MiB, or 2.25 GiB
  for (const char* const protocol : {"automatic", "buffered"}) {
    testing::run_worlds(
        testing::processes(""), 2,
        [=](world& w) {
          auto shared = w.allocate_window<std::uint64_t>(w.rank() == 0 ? count : 0);
          if (w.rank() == 1) {
            std::vector<std::uint64_t> sent(count), got(1000);
            for (std::size_t i = 0; i < count; ++i) sent[i] = i;
            shared.lock(lock_kind::exclusive, 0);
            shared.put(0, 0, sent);
            shared.flush(0);
            shared.get(0, count - 1000, std::span(got));
            shared.unlock(0);
            EXPECT_EQ(got.back(), count - 1);
          }
          w.barrier();
          std::size_t wrong = 0;
          for (std::size_t i = 0; i < shared.local().size(); ++i) wrong += shared.local()[i] != i;
          EXPECT_EQ(wrong, 0u);
        },
        testing::configured({{"AMITY_WINDOW_PROTOCOL", protocol}}));
  }
}

// Memory that one rank does not get

TEST_P(limited_windows, failure_of_one_rank_is_error_of_all) {
  run([](world& w) {
    const std::size_t bytes = w.rank() == w.size() - 1 ? std::size_t{1} << 62 : 8;
    const std::string reason =
        w.rank() == w.size() - 1 ? "bytes is not possible" : fmt::format("rank {} has no memory for it", w.size() - 1);
    for (int times = 0; times < 3; ++times)
      testing::expect_parts(testing::failure_of([&] { static_cast<void>(w.allocate_window<std::byte>(bytes)); }),
                            {"window (rank " + std::to_string(w.rank()), reason});
    auto shared = w.allocate_window<int>(1);
    shared.fence(window_assert::no_precede);
    shared.put(next_of(w), 0, 7);
    shared.fence(window_assert::no_succeed);
    EXPECT_EQ(shared.local()[0], 7);
  });
}

// Numbers of windows

TEST_P(limited_windows, thousands_live_at_once) {
  if (GetParam().ranks != 2 || GetParam().protocol != "automatic") return;
  const std::size_t count = number_of_cases(is_over_network() ? 512 : 2048, 4096);
  run([count](world& w) {
    std::vector<window<std::uint32_t>> all;
    all.reserve(count);
    const std::ptrdiff_t more_max = testing::sanitized ? 2000 : 200;  // a sanitizer has memory of its own
    const std::ptrdiff_t mappings_max = testing::count_resources(w).mappings + more_max;
    for (std::size_t i = 0; i < count; ++i) all.push_back(w.allocate_window<std::uint32_t>(1));
    EXPECT_LT(testing::count_resources(w).mappings, mappings_max);
    for (std::size_t i = 0; i < count; ++i) {
      all[i].lock(lock_kind::exclusive, next_of(w));
      all[i].accumulate(sum, next_of(w), 0, static_cast<std::uint32_t>(i));
      all[i].unlock(next_of(w));
    }
    w.barrier();
    for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(all[i].local()[0], i);
    EXPECT_LT(testing::count_resources(w).mappings, mappings_max);  // those of the other rank are mapped
    while (!all.empty()) all.pop_back();
  });
}

TEST_P(limited_windows, creations_reuse_numbers_and_memory) {
  if (GetParam().ranks != 2 || GetParam().protocol != "automatic") return;
  const std::string& kind = GetParam().kind.name;
  // 100,000 is more than the mappings that a process may have. Virtual time has a limit.
  const bool is_real = kind == "threads" || kind == "processes";
  const int count = number_of_cases(is_over_network() ? 200 : 2000, is_real ? 100'000 : 40'000);
  run([count](world& w) {
    std::vector<std::uint64_t> own(1);
    for (int i = 0; i < count; ++i) {
      own[0] = 0;
      auto made = i % 2 == 0 ? w.allocate_window<std::uint64_t>(1) : w.create_window(std::span(own));
      made.fence(window_assert::no_precede);
      made.accumulate(sum, next_of(w), 0, 1);
      made.fence(window_assert::no_succeed);
      ASSERT_EQ(made.local()[0], 1u);
    }
  });
}

// Members of overlapping worlds create windows at the same time, in other orders on different ranks.
TEST_P(limited_windows, overlapping_worlds_create_at_once) {
  run([](world& w) {
    const auto pairs = w.split({.color = w.rank() / 2, .key = w.rank()});
    const auto halves = w.split({.color = w.rank() % 2, .key = -w.rank()});
    const auto copy = w.duplicate();
    for (int round = 0; round < 30; ++round) {
      std::vector<window<std::int64_t>> made;
      std::vector<world*> worlds;
      std::vector<std::int64_t> values;  // the same on all members of a window
      const auto make = [&](world& in, std::int64_t value) {
        made.push_back(in.allocate_window<std::int64_t>(1));
        worlds.push_back(&in);
        values.push_back(value);
      };
      // Groups of one world are disjoint, so that each may create another number of windows.
      for (int i = 0; i <= w.rank() / 2; ++i) make(*pairs, 1000 + i);
      for (int i = 0; i <= w.rank() % 2; ++i) make(*halves, 2000 + i);
      make(*copy, 3000);
      make(w, 4000);
      for (std::size_t i = 0; i < made.size(); ++i) {
        made[i].lock_all();
        for (rank_t target = 0; target < worlds[i]->size(); ++target) made[i].accumulate(sum, target, 0, values[i]);
        made[i].unlock_all();
      }
      w.barrier();
      for (std::size_t i = 0; i < made.size(); ++i) ASSERT_EQ(made[i].local()[0], worlds[i]->size() * values[i]);
      w.barrier();
      while (!made.empty()) made.pop_back();
    }
  });
}

}  // namespace
}  // namespace amity
