/// Synchronization of windows: what arrives early, what assertions remove, and whom calls wait for.

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "amity/fabric/checked.hpp"
#include "amity/window/window.hpp"
#include "tests/core/poorer.hpp"
#include "tests/support/cases.hpp"
#include "tests/support/worlds.hpp"
#include "tests/window/paths.hpp"

namespace amity {
namespace {

using testing::everyone;
using testing::next_of;
using testing::previous_of;
using enum accumulate_op;

class synchronized_windows : public testing::on_paths {};
INSTANTIATE_TEST_SUITE_P(window, synchronized_windows, ::testing::ValuesIn(testing::jobs_of_windows({1, 2, 3, 4}, 3)),
                         testing::name_of_job);

/// Lets other ranks run ahead, or this one.
void skew(world& w, std::mt19937_64& random) {
  const std::uint64_t polls = random() % 4 == 0 ? random() % 200 : random() % 4;
  for (std::uint64_t i = 0; i < polls; ++i) static_cast<void>(w.poll());
}

fabric::sim::sim_options rough_schedule(std::uint64_t seed) {
  return {.seed = seed,
          .delay_ns_max = seed % 2 == 0 ? 100'000u : 0u,
          .remote_delay_ns_max = seed % 3 == 0 ? 0u : 500'000u,
          .credits = static_cast<std::uint32_t>(2 + seed % 7),
          .ordered = seed % 4 != 0};
}

/// Runs `body` on random schedules, with remote memory and with records alone.
void on_rough_schedules(std::uint64_t usual, rank_t ranks, window_protocol protocol,
                        const std::function<void(world&, window_protocol, std::mt19937_64&)>& body) {
  for (std::uint64_t seed = 1; seed <= testing::cases(usual); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    fabric::sim::run(ranks, rough_schedule(seed), [&](fabric::fabric& whole) {
      fabric::testing::poorer own(whole, seed % 5 != 0);
      world w(own, {});
      std::mt19937_64 random(seed * 1000 + static_cast<std::uint64_t>(w.rank()));
      body(w, protocol, random);
      w.barrier();
      return 0;
    });
    if (::testing::Test::HasFailure()) return;
  }
}

// Puts take longer than packets. The packets that end epochs must not arrive before their data.
TEST(window_schedules, ends_of_epochs_follow_delayed_puts) {
  on_rough_schedules(60, 3, window_protocol::rma, [](world& w, window_protocol protocol, std::mt19937_64& random) {
    constexpr std::size_t count = 300;
    auto shared = w.allocate_window<std::uint64_t>(count, {.protocol = protocol});
    const rank_t next = next_of(w), before = previous_of(w);
    std::vector<std::uint64_t> sent(count);
    const auto put = [&](std::uint64_t round) {
      sent.assign(count, 1000 * round + static_cast<std::uint64_t>(w.rank()));
      shared.put(next, 0, std::span<const std::uint64_t>(sent));
      shared.put(next, 7, sent[7]);
    };
    const auto expect = [&](std::uint64_t round) {
      for (const std::uint64_t each : shared.local())
        ASSERT_EQ(each, 1000 * round + static_cast<std::uint64_t>(before)) << "round " << round;
    };
    for (std::uint64_t round = 1; round <= 12; ++round) {
      skew(w, random);
      if (round % 3 == 0) {
        shared.fence(window_assert::no_precede);
        put(round);
        shared.fence(window_assert::no_succeed);
      } else if (round % 3 == 1) {
        shared.post(std::span(&before, 1));
        shared.start(std::span(&next, 1));
        put(round);
        shared.complete();
        shared.wait();
      } else {
        shared.lock(lock_kind::exclusive, next);
        put(round);
        if (round % 2 == 0) shared.flush(next);
        shared.unlock(next);
        w.barrier();
      }
      expect(round);
      w.barrier();
    }
  });
}

// Where packets arrive behind the data of puts, complete waits for no round trip.
TEST(window_schedules, complete_follows_puts_that_the_fabric_keeps_in_order) {
  constexpr std::uint64_t latency_ns = 1'000'000;
  fabric::sim::run(2, {.latency_ns = latency_ns}, [=](fabric::fabric& own) {
    EXPECT_TRUE(own.caps().remote.puts_before_packets);
    world w(own, {});
    constexpr std::size_t count = 8192;
    auto shared = w.allocate_window<std::uint64_t>(count, {.protocol = window_protocol::rma});
    const std::vector<rank_t> other{1 - w.rank()};
    std::vector<std::uint64_t> sent(count);
    shared.lock_all();
    shared.put(other[0], 0, std::uint64_t{1});  // now this rank knows the memory of the other one
    shared.unlock_all();
    for (std::uint64_t round = 1; round <= 5; ++round) {
      if (w.rank() == 1) shared.post(other);
      w.barrier();
      if (w.rank() == 1) {
        shared.wait();
        for (const std::uint64_t each : shared.local()) EXPECT_EQ(each, round);
        continue;
      }
      sent.assign(count, round);
      const std::uint64_t begin_ns = w.now_ns();
      shared.start(other);
      shared.put(1, 0, std::span<const std::uint64_t>(sent));
      shared.complete();
      EXPECT_LT(w.now_ns() - begin_ns, latency_ns);
      std::ranges::fill(sent, 0);
    }
    w.barrier();
    return 0;
  });
}

// A rank that has left a fence starts operations of the next epoch, while others are still in this one.
TEST(window_schedules, fences_do_not_count_operations_of_next_epoch) {
  on_rough_schedules(60, 4, window_protocol::automatic, [](world& w, window_protocol, std::mt19937_64& random) {
    // Rounds alternate between two halves: the owner reads one, while others write the other one.
    const auto ranks = static_cast<std::size_t>(w.size());
    auto shared = w.allocate_window<std::uint64_t>(2 * ranks);
    std::vector<std::uint64_t> own(2 * ranks);
    auto created = w.create_window(std::span(own));
    shared.fence(window_assert::no_precede);
    created.fence(window_assert::no_precede);
    for (std::uint64_t round = 1; round <= 12; ++round) {
      const std::size_t half = (round % 2) * ranks;
      for (const rank_t target : everyone(w)) {
        shared.put(target, half + static_cast<std::size_t>(w.rank()), round);
        created.accumulate(sum, target, half + static_cast<std::size_t>(w.rank()), 1);
        skew(w, random);
      }
      shared.fence();
      created.fence();
      for (std::size_t origin = 0; origin < ranks; ++origin) {
        ASSERT_EQ(shared.local()[half + origin], round);
        ASSERT_EQ(created.local()[half + origin], (round + 1) / 2);
      }
    }
    shared.fence(window_assert::no_succeed);
    created.fence(window_assert::no_succeed);
  });
}

// Fences that end no epoch may follow one another.
TEST(window_schedules, fences_without_operations_follow_one_another) {
  on_rough_schedules(60, 4, window_protocol::automatic, [](world& w, window_protocol, std::mt19937_64& random) {
    const auto ranks = static_cast<std::size_t>(w.size());
    auto shared = w.allocate_window<std::uint64_t>(2 * ranks);
    for (std::uint64_t round = 1; round <= 12; ++round) {
      const std::size_t half = (round % 2) * ranks;
      for (std::uint64_t i = 0; i <= round % 3; ++i) shared.fence(window_assert::no_precede);
      for (const rank_t target : everyone(w)) {
        shared.accumulate(sum, target, half + static_cast<std::size_t>(w.rank()), std::uint64_t{1});
        skew(w, random);
      }
      shared.fence();
      for (std::size_t origin = 0; origin < ranks; ++origin)
        ASSERT_EQ(shared.local()[half + origin], (round + 1) / 2) << "round " << round;
    }
    shared.fence(window_assert::no_succeed);
  });
}

// Rank 0 is in complete and waits for the post of rank 2. Rank 1 has left wait by then, and posts again.
TEST(window_schedules, posts_during_complete_belong_to_next_epoch) {
  on_rough_schedules(60, 3, window_protocol::automatic, [](world& w, window_protocol, std::mt19937_64& random) {
    auto shared = w.allocate_window<std::uint64_t>(1);
    const std::vector<rank_t> origin{0}, targets{1, 2};
    for (std::uint64_t round = 1; round <= 12; ++round) {
      if (w.rank() == 0) {
        shared.start(targets);
        for (const rank_t target : targets) shared.put(target, 0, round);
        shared.complete();
        continue;
      }
      if (w.rank() == 2) skew(w, random);
      shared.local()[0] = 0;
      shared.post(origin);
      shared.wait();
      ASSERT_EQ(shared.local()[0], round);
    }
  });
}

// Members leave the creation and the end of a window at different times, and use it at once.
TEST(window_schedules, members_use_windows_that_others_still_create_or_end) {
  on_rough_schedules(40, 4, window_protocol::automatic, [](world& w, window_protocol, std::mt19937_64& random) {
    for (std::int64_t round = 1; round <= 6; ++round) {
      skew(w, random);
      auto shared = w.allocate_window<std::int64_t>(1);
      const bool is_late = random() % 2 == 0;
      if (is_late) skew(w, random);
      const lock_kind kind = round % 2 == 0 ? lock_kind::shared : lock_kind::exclusive;
      for (const rank_t target : everyone(w)) {
        shared.lock(kind, target);
        shared.accumulate(sum, target, 0, 1);
        shared.unlock(target);
      }
      if (round % 3 == 0) {
        const rank_t next = next_of(w), before = previous_of(w);
        shared.post(std::span(&before, 1));
        shared.start(std::span(&next, 1));
        shared.accumulate(sum, next, 0, 1);
        shared.complete();
        shared.wait();
      }
      if (round % 2 == 0) {
        w.barrier();
        ASSERT_EQ(shared.local()[0], w.size() + (round % 3 == 0 ? 1 : 0));
      }
    }
  });
}

// Assertions of fences

constexpr std::array fence_assertions{window_assert::none, window_assert::no_precede, window_assert::no_succeed,
                                      window_assert::no_precede | window_assert::no_succeed};

bool has_assertion(window_assert all, window_assert one) {
  return (static_cast<unsigned>(all) & static_cast<unsigned>(one)) != 0;
}

// Operations follow a fence if neither it nor the next one excludes them. The other assertions differ between ranks.
TEST_P(synchronized_windows, fences_work_with_each_combination_of_assertions) {
  run([](world& w) {
    auto shared = w.allocate_window<std::uint64_t>(1);
    const auto local_assertion = [&w](unsigned step, bool operations_follow) {
      const unsigned which = step + static_cast<unsigned>(w.rank());
      return (which % 2 == 0 ? window_assert::no_store : window_assert::none) |
             (which % 3 == 0 && !operations_follow ? window_assert::no_put : window_assert::none);
    };
    std::uint64_t expected = 0;
    for (unsigned sequence = 0; sequence < 64; ++sequence) {
      const std::array<window_assert, 4> fences{fence_assertions[sequence % 4], fence_assertions[sequence / 4 % 4],
                                                fence_assertions[sequence / 16], window_assert::no_succeed};
      const auto are_between = [&](std::size_t before, std::size_t after) {
        return after < fences.size() && !has_assertion(fences[before], window_assert::no_succeed) &&
               !has_assertion(fences[after], window_assert::no_precede);
      };
      for (std::size_t i = 0; i < fences.size(); ++i) {
        const bool precedes = i > 0 && are_between(i - 1, i);
        if (precedes) {
          shared.accumulate(sum, next_of(w), 0, 1);
          ++expected;
        }
        shared.fence(fences[i] | local_assertion(sequence + static_cast<unsigned>(i), are_between(i, i + 1)));
        if (precedes) {
          EXPECT_EQ(shared.local()[0], expected) << "sequence " << sequence << ", fence " << i;
        }
        w.barrier();  // the owner has read its memory
      }
    }
  });
}

// More members than a round of their barrier tells.
TEST(nodes, nine_ranks_synchronize_by_stores) {
  for (const testing::job_kind& kind : {testing::threads(""), testing::processes("")}) {
    testing::run_worlds(kind, 9, [](world& w) {
      auto shared = w.allocate_window<std::uint64_t>(9);
      const auto own = static_cast<std::size_t>(w.rank());
      shared.fence(window_assert::no_precede);
      for (std::uint64_t round = 1; round <= 50; ++round) {
        for (const rank_t each : everyone(w)) shared.put(each, own, round);
        shared.fence();
        for (const std::uint64_t seen : shared.local()) ASSERT_EQ(seen, round);
        shared.fence();
      }
      shared.fence(window_assert::no_succeed);
      const rank_t next = next_of(w), before = previous_of(w);
      for (std::uint64_t round = 1; round <= 50; ++round) {
        shared.post(std::span(&before, 1));
        shared.start(std::span(&next, 1));
        shared.put(next, 0, round);
        shared.complete();
        shared.wait();
        ASSERT_EQ(shared.local()[0], round);
      }
    });
  }
}

TEST_P(synchronized_windows, fence_that_excludes_operations_waits_for_no_rank) {
  if (GetParam().protocol == "checked") return;  // ranks compare their promises, and wait for that
  run([](world& w) {
    auto shared = w.allocate_window<int>(1);
    constexpr window_assert both = window_assert::no_precede | window_assert::no_succeed;
    if (w.rank() == 0) {
      for (int i = 0; i < 5; ++i) shared.fence(both);
    }
    w.barrier();  // the other ranks call their fences after it
    if (w.rank() > 0) {
      for (int i = 0; i < 5; ++i) shared.fence(both);
    }
    shared.fence();
    shared.accumulate(sum, next_of(w), 0, 1);
    shared.fence(window_assert::no_succeed);
    EXPECT_EQ(shared.local()[0], 1);
  });
}

TEST_P(synchronized_windows, locks_follow_fence_without_operations) {
  run([](world& w) {
    auto shared = w.allocate_window<int>(1);
    for (int round = 1; round <= 5; ++round) {
      shared.fence();
      shared.lock(lock_kind::exclusive, next_of(w));
      shared.accumulate(sum, next_of(w), 0, 1);
      shared.unlock(next_of(w));
      w.barrier();
      EXPECT_EQ(shared.local()[0], round);
      w.barrier();
      shared.fence();
      shared.lock_all();
      shared.unlock_all();
    }
    shared.fence(window_assert::no_succeed);
  });
}

// Post, start, complete, wait

// Operations on a target start when its post is there, while the origin waits for something else: here in a barrier.
TEST_P(synchronized_windows, queued_operations_start_before_the_epoch_ends) {
  const std::string& protocol = GetParam().protocol;
  if (protocol == "send_recv" || protocol == "checked") return;  // they start in calls on the window
  if (GetParam().helped) return;                                 // another thread would store to what rank 1 looks at
  run([](world& w) {
    if (w.size() < 2) return;
    constexpr std::size_t count = 5000;
    auto shared = w.allocate_window<std::uint64_t>(2 * count);
    const std::vector<rank_t> other{w.rank() == 0 ? 1 : 0};
    const bool is_mapped = w.rank() < 2 && !shared.mapped(other[0]).empty();
    if (w.sum(std::uint64_t{is_mapped}) > 0) return;  // nothing is queued
    std::vector<std::uint64_t> sent(count), got(count);
    const auto rows = std::make_shared<const layout>(layout::strided(count, 8, 16));
    for (std::uint64_t round = 1; round <= 5; ++round) {
      if (w.rank() == 0) {
        shared.start(other);
        sent.assign(count, round);
        shared.put(1, 1, rows, std::span<const std::uint64_t>(sent));
        shared.get(1, 0, rows, std::span(got));
        shared.put(1, 0, 77 + round);
        w.barrier();
        w.barrier();  // rank 1 has seen all
        shared.complete();
        EXPECT_EQ(got[count - 1], 0u);
      } else if (w.rank() == 1) {
        w.barrier();
        shared.post(other);
        const auto words = shared.local();
        while (words[0] != 77 + round || words[2 * count - 1] != round) w.poll();
        w.barrier();
        shared.wait();
      } else {
        w.barrier();
        w.barrier();
      }
    }
    w.barrier();
  });
}

TEST_P(synchronized_windows, empty_groups_wait_for_no_rank) {
  run([](world& w) {
    auto shared = w.allocate_window<int>(1);
    if (w.rank() == 0) {  // no other rank takes part
      shared.post({});
      shared.start({});
      shared.complete();
      EXPECT_TRUE(shared.test());
      shared.start({});
      shared.complete();
      shared.post({});
      shared.wait();
    }
    w.barrier();
    if (w.rank() == 0) {
      const std::vector<rank_t> all = everyone(w);
      shared.post(std::span(all).subspan(1));
      shared.wait();
      EXPECT_EQ(shared.local()[0], w.size() - 1);
    } else {
      const rank_t target = 0;
      shared.post({});
      shared.start(std::span(&target, 1));
      shared.accumulate(sum, target, 0, 1);
      shared.complete();
      shared.wait();
    }
  });
}

// Rank 0 only polls window `first`; others use window `second` of its memory.
TEST_P(synchronized_windows, poll_of_one_window_serves_others) {
  run([](world& w) {
    auto first = w.allocate_window<int>(1);
    std::vector<int> own(1);
    auto second = w.create_window(std::span(own));
    const std::vector<rank_t> all = everyone(w);
    if (w.rank() == 0) {
      first.post(std::span(all).subspan(1));
      while (!first.test()) {
      }
      EXPECT_EQ(own[0], 2 * (w.size() - 1));
    } else {
      for (int i = 0; i < 2; ++i) {
        second.lock(lock_kind::exclusive, 0);
        int seen = 0;
        second.get(0, 0, seen);
        second.flush(0);
        second.put(0, 0, seen + 1);
        second.unlock(0);
      }
      first.start(std::span(all).first(1));
      first.complete();
    }
    w.barrier();
  });
}

TEST(window_packets, send_recv_does_not_collect) {
  testing::simulated("sim", {}).run(2, {}, [](fabric::fabric& whole) {
    fabric::testing::drowsy own(whole, whole.caps().remote.woken_bytes_max);  // counts packets
    world w(own, {});
    auto shared = w.allocate_window<int>(8, {.protocol = window_protocol::send_recv});
    const std::vector<int> numbers{1, 2, 3, 4, 5, 6, 7, 8};
    shared.fence(window_assert::no_precede);
    const int before = own.packets();
    for (std::size_t i = 0; i < numbers.size(); ++i) shared.put(next_of(w), i, std::span(numbers).subspan(i, 1));
    shared.fence(window_assert::no_succeed);
    EXPECT_GE(own.packets() - before, 8);
    EXPECT_TRUE(std::ranges::equal(shared.local(), numbers));
    w.barrier();
  });
}

TEST(window_packets, complete_leaves_with_operations) {
  testing::simulated("sim", {}).run(2, {}, [](fabric::fabric& whole) {
    fabric::testing::drowsy own(whole, whole.caps().remote.woken_bytes_max);  // counts packets
    world w(own, {});
    auto shared = w.allocate_window<int>(4, {.protocol = window_protocol::buffered});
    const std::array<rank_t, 1> other{next_of(w)};
    for (int epoch = 1; epoch <= 2; ++epoch) {
      if (w.rank() == 0) {
        const int before = own.packets();
        shared.start(other);
        shared.put(1, 0, 5);
        shared.accumulate(sum, 1, 1, 6);
        shared.complete();
        // In the first epoch, the target is asked for its description.
        EXPECT_EQ(own.packets() - before, epoch == 1 ? 2 : 1);
      } else {
        shared.post(other);
        shared.wait();
        EXPECT_EQ(shared.local()[0], 5);
        EXPECT_EQ(shared.local()[1], 6 * epoch);
      }
      w.barrier();
    }
  });
}

// Members that sleep in a fence announce it, and are sent a record then. Others are sent nothing.
TEST(window_signals, fences_wake_members_that_sleep) {
  std::atomic<const fabric::testing::drowsy*> sleeper = nullptr;  // rank 1
  std::atomic<int> fences = 0;                                    // that rank 1 has begun
  testing::threads("threads").run(2, {}, [&](fabric::fabric& whole) {
    fabric::testing::drowsy own(whole, whole.caps().remote.woken_bytes_max);  // counts packets
    if (own.rank() == 1) sleeper = &own;
    world w(own, {});
    auto shared = w.allocate_window<int>(1);
    shared.fence(window_assert::no_precede);
    int packets = 0;
    for (int round = 0; round < 20; ++round) {
      if (w.rank() == 1) fences = round + 1;
      while (w.rank() == 0 && (fences <= round || !sleeper.load()->is_asleep())) std::this_thread::yield();
      const int before = own.packets();
      shared.fence();
      packets += own.packets() - before;
    }
    if (w.rank() == 0) {
      EXPECT_GT(packets, 0);
    }
    shared.fence(window_assert::no_succeed);
    w.barrier();
  });
}

}  // namespace
}  // namespace amity
