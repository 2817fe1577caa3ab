/// Owners that take over the accumulates on their memory while others accumulate there.

#include <sys/syscall.h>
#include <array>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <span>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "amity/base/remote_fence.hpp"
#include "amity/window/direct_accumulates.hpp"
#include "amity/window/dynamic_window.hpp"
#include "tests/support/forbidden_calls.hpp"
#include "tests/support/texts.hpp"
#include "tests/support/worlds.hpp"
#include "tests/window/paths.hpp"

namespace amity {
namespace {

using testing::everyone;
using testing::next_of;
using enum accumulate_op;

// The words of one origin and one owner

constexpr rank_t tested_owner = 2;
using accumulate_mode = detail::direct_accumulates::mode;
constexpr std::array accumulate_modes{accumulate_mode::plain, accumulate_mode::fences, accumulate_mode::counts};

TEST(direct_accumulates, stay_visible_until_end) {
  for (const accumulate_mode how : accumulate_modes) {
    detail::accumulate_words own{}, there{};
    detail::direct_accumulates origin;
    origin.start(own, how);
    EXPECT_FALSE(own.uses(tested_owner));
    int applied = 0;
    EXPECT_TRUE(origin.try_apply(&there, tested_owner, [&] {
      ++applied;
      EXPECT_TRUE(own.uses(tested_owner));
      EXPECT_EQ(own.uses(tested_owner - 1), how == accumulate_mode::counts);
      if (how != accumulate_mode::counts) return;
      // Another thread.
      EXPECT_TRUE(origin.try_apply(&there, tested_owner + 1, [] {}));
      EXPECT_TRUE(own.uses(tested_owner));
    }));
    EXPECT_EQ(applied, 1);
    EXPECT_FALSE(own.uses(tested_owner));
  }
}

TEST(direct_accumulates, leave_accumulates_to_owners_that_take_over) {
  for (const accumulate_mode how : accumulate_modes) {
    detail::accumulate_words own{}, there{};
    detail::direct_accumulates origin;
    origin.start(own, how);
    there.by_owner.store(1, std::memory_order_relaxed);
    EXPECT_FALSE(origin.try_apply(&there, tested_owner, [] { ADD_FAILURE() << "the owner has taken over"; }));
    EXPECT_FALSE(own.uses(tested_owner));
    int applied = 0;
    EXPECT_TRUE(origin.try_apply(nullptr, tested_owner, [&] { ++applied; }));  // memory that no other thread uses
    EXPECT_EQ(applied, 1);
  }
}

// Plain loads and stores of the owner lose an accumulate that comes between them.
TEST(direct_accumulates, never_meet_stores_of_owners_that_have_taken_over) {
  const bool fences = !permit_remote_fences();
  for (int round = 0; round < 200; ++round) {
    detail::accumulate_words own{}, there{}, elsewhere{};
    detail::direct_accumulates origin;
    origin.start(own, fences ? accumulate_mode::fences : accumulate_mode::plain);
    std::uint64_t element = 0, other_element = 0, applied = 0;
    std::atomic<bool> has_begun = false, ends = false;
    std::thread accumulates([&] {
      const auto add = [](std::uint64_t& to) { std::atomic_ref(to).fetch_add(1, std::memory_order_relaxed); };
      while (!ends.load(std::memory_order_relaxed)) {
        if (origin.try_apply(&there, tested_owner, [&] { add(element); })) ++applied;
        origin.try_apply(&elsewhere, tested_owner + 1, [&] { add(other_element); });
        has_begun.store(true, std::memory_order_relaxed);
      }
    });
    while (round % 2 == 0 && !has_begun.load(std::memory_order_relaxed)) std::this_thread::yield();
    there.by_owner.store(1, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_seq_cst);
    EXPECT_TRUE(fences || force_remote_fences());
    while (own.uses(tested_owner)) std::this_thread::yield();
    for (int i = 0; i < 100; ++i) {
      element += 1;
      std::atomic_signal_fence(std::memory_order_seq_cst);  // one by one
    }
    ends.store(true, std::memory_order_relaxed);
    accumulates.join();
    ASSERT_EQ(element, applied + 100);
  }
}

// Windows

class owned_windows : public testing::on_paths {
 protected:
  /// Whether another thread of the rank carries out records.
  static bool has_helper() { return GetParam().helped && GetParam().protocol != "checked"; }
};
INSTANTIATE_TEST_SUITE_P(window, owned_windows, ::testing::ValuesIn(testing::jobs_of_windows({1, 2, 3, 4}, 3)),
                         testing::name_of_job);

std::uint64_t sum_of(std::span<std::uint64_t> memory) {
  std::uint64_t all = 0;
  for (std::uint64_t& each : memory) all += std::atomic_ref(each).load(std::memory_order_relaxed);
  return all;
}

/// Lets others run, without a call of Amity.
void let_others_run() {
  for (int i = 0; i < 20; ++i) std::this_thread::yield();
}

// An accumulate of many elements is probably under way when the owner takes over.
TEST_P(owned_windows, change_only_in_calls_of_their_owner) {
  if (has_helper()) return;
  run([](world& w) {
    constexpr std::size_t count_max = 1 << 15;
    constexpr int looks = 3;
    auto shared = w.allocate_window<std::uint64_t>(w.rank() == 0 ? count_max : 1);
    const bool maps = w.rank() > 0 && !shared.mapped(0).empty();
    const bool any_maps = w.max(std::int64_t{maps}) != 0;
    const std::size_t count = any_maps ? count_max : 64;
    const auto memory = shared.local().first(w.rank() == 0 ? count : 1);
    const auto last = std::atomic_ref(memory.back());
    std::uint64_t accumulates = 0;
    w.barrier();
    shared.lock_all();
    if (w.rank() > 0) {
      const std::vector<std::uint64_t> ones(count, 1);
      for (; last.load(std::memory_order_relaxed) == 0; ++accumulates) {  // until the owner stores there
        shared.accumulate(sum, 0, 0, std::span<const std::uint64_t>(ones));
        shared.flush(0);
      }
    } else {
      while (w.size() > 1 && last.load(std::memory_order_relaxed) == 0) w.poll();
      shared.take_over_accumulates();
      for (int look = 0; look < looks; ++look) {
        const std::uint64_t before = sum_of(memory);
        let_others_run();
        for (std::uint64_t& each : memory) each += 1000;
        let_others_run();
        EXPECT_EQ(sum_of(memory), before + 1000 * count) << look;
        for (int i = 0; i < 10; ++i) w.poll();
      }
      for (rank_t other = 1; other < w.size(); ++other) shared.accumulate(replace, other, 0, 1);
    }
    shared.unlock_all();
    const std::uint64_t expected = w.sum(accumulates) + 1000 * looks;
    if (w.rank() > 0) return;
    EXPECT_EQ(std::ranges::count(memory, expected), static_cast<std::ptrdiff_t>(count));
  });
}

/// Each form of accumulates that changes elements: adds 1 to each of two elements that others use, too. Returns how
/// many calls the element at `at` and the one behind it have been part of.
void add_in_each_form(window<std::uint64_t>& on, rank_t target, std::size_t at,
                      const std::shared_ptr<const layout>& two) {
  const std::vector<std::uint64_t> ones(2, 1);
  std::vector<std::uint64_t> before(2);
  std::uint64_t seen = 0;
  on.accumulate(sum, target, at, 1);
  on.fetch_and_op(sum, target, at + 1, 1, seen);
  on.accumulate(sum, target, at, std::span<const std::uint64_t>(ones));
  on.get_accumulate(sum, target, at, std::span<const std::uint64_t>(ones), std::span(before));
  on.accumulate(sum, target, at, two, ones);
  on.get_accumulate(sum, target, at, two, ones, std::span(before));
  on.get_accumulate(no_op, target, at + 1, {}, std::span(&seen, 1));
  on.flush(target);
  for (std::uint64_t expected = seen;; expected = seen) {
    on.compare_and_swap(target, at + 1, expected, expected + 1, seen);
    on.flush(target);
    if (seen == expected) break;
  }
  on.rget_accumulate(sum, target, at, std::span<const std::uint64_t>(ones).first(1), std::span(before).first(1)).wait();
}
constexpr std::uint64_t forms = 6;

// All ranks change the memory of all, each takes over in the middle, and handlers of messages add by loads and stores.
TEST_P(owned_windows, let_handlers_use_elements) {
  // A checked window is served by the thread of the program, and handlers run on the progress thread.
  if (GetParam().helped && GetParam().protocol == "checked") return;
  run([](world& w) {
    constexpr std::uint64_t rounds = 40;
    auto shared = w.allocate_window<std::uint64_t>(2, {.name = "sums"});
    const auto two = std::make_shared<const layout>(layout::strided(2, 8, 8));
    const auto memory = shared.local();
    auto add = w.message<std::uint64_t>([&](const std::uint64_t& by) {
      memory[0] += by;
      memory[1] += by;
    });
    std::atomic<int> taken = 0;
    auto has_taken = w.message<int>([&](const int&) { ++taken; });
    shared.lock_all();
    w.epoch([&] {
      for (std::uint64_t i = 0; i < rounds; ++i) {
        for (const rank_t target : everyone(w)) add_in_each_form(shared, target, 0, two);
        if (i != rounds / 2) continue;
        shared.take_over_accumulates();
        shared.take_over_accumulates();  // without effect
        for (const rank_t each : everyone(w)) has_taken.send(each, 0);
      }
      while (taken < w.size()) w.poll();
      for (std::uint64_t i = 0; i < rounds; ++i) {
        for (const rank_t target : everyone(w)) {
          add_in_each_form(shared, target, 0, two);
          add.send(target, 1);
        }
      }
    });
    shared.unlock_all();
    w.barrier();
    const std::uint64_t expected = static_cast<std::uint64_t>(w.size()) * rounds * (2 * forms + 1);
    EXPECT_EQ(memory[0], expected);
    EXPECT_EQ(memory[1], expected);
    w.barrier();
  });
}

// Results show the order of one origin.
TEST_P(owned_windows, keep_order_of_accumulates) {
  run([](world& w) {
    constexpr std::uint64_t count = 200;
    std::vector<std::uint64_t> own(static_cast<std::size_t>(w.size()));
    auto allocated = w.allocate_window<std::uint64_t>(own.size());
    auto created = w.create_window(std::span(own));
    const auto place = static_cast<std::size_t>(w.rank());
    for (window<std::uint64_t>* const each : {&allocated, &created}) {
      w.barrier();
      each->lock_all();
      for (const rank_t target : everyone(w)) {
        std::vector<std::uint64_t> before(count + 1);
        for (std::uint64_t i = 1; i <= count; ++i) {
          if (i == count / 2 && target == w.rank()) each->take_over_accumulates();
          i % 5 == 0 ? each->compare_and_swap(target, place, i - 1, i, before[i])
                     : each->fetch_and_op(replace, target, place, i, before[i]);
          if (i % 50 == 0) each->flush_local(target);
        }
        each->flush(target);
        for (std::uint64_t i = 1; i <= count; ++i) ASSERT_EQ(before[i], i - 1) << "rank " << w.rank();
      }
      each->unlock_all();
      w.barrier();
      EXPECT_EQ(std::ranges::count(each->local(), count), w.size());
    }
  });
}

// Others that wait in a synchronization of the node have sent records before it.
TEST_P(owned_windows, complete_accumulates_in_all_epochs) {
  run([](world& w) {
    auto shared = w.allocate_window<std::uint64_t>(1);
    const rank_t next = next_of(w), previous = testing::previous_of(w);
    shared.take_over_accumulates();
    for (std::uint64_t round = 1; round <= 20; ++round) {
      shared.fence(window_assert::no_precede);
      for (const rank_t target : everyone(w)) shared.accumulate(sum, target, 0, 1);
      shared.fence(window_assert::no_succeed);
      EXPECT_EQ(shared.local()[0], round * (static_cast<std::uint64_t>(w.size()) + 2) - 2);
      w.barrier();
      shared.post(std::span(&previous, 1));
      shared.start(std::span(&next, 1));
      shared.accumulate(sum, next, 0, 1);
      shared.complete();
      shared.wait();
      EXPECT_EQ(shared.local()[0], round * (static_cast<std::uint64_t>(w.size()) + 2) - 1);
      w.barrier();
      shared.lock(lock_kind::exclusive, next);
      shared.accumulate(sum, next, 0, 1);
      shared.unlock(next);
      w.barrier();
    }
  });
}

TEST_P(owned_windows, work_with_attached_memory_and_pairs) {
  run([](world& w) {
    const auto ranks = static_cast<std::uint64_t>(w.size());
    std::vector<std::uint64_t> attached(1);
    auto dynamic = w.create_dynamic_window();
    dynamic.attach(std::span(attached));
    const auto addresses = testing::exchange_words(w, dynamic_window::address_of(attached.data()));
    auto numbers = dynamic.as<std::uint64_t>();
    auto pairs = w.allocate_window<value_location<double, int>>(1);
    dynamic.lock_all();
    pairs.lock_all();
    for (int round = 0; round < 20; ++round) {
      if (round == w.rank()) {
        dynamic.take_over_accumulates();
        pairs.take_over_accumulates();
      }
      for (const rank_t target : everyone(w)) {
        numbers.accumulate(sum, target, addresses[static_cast<std::size_t>(target)], 1);
        pairs.accumulate(maximum_location, target, 0, {1.0 * round, w.rank()});
      }
    }
    pairs.unlock_all();
    dynamic.unlock_all();
    w.barrier();
    EXPECT_EQ(attached[0], 20 * ranks);
    EXPECT_EQ(pairs.local()[0], (value_location<double, int>{19.0, 0}));
    w.barrier();
  });
}

// A system without membarrier

void accumulate_and_take_over(world& w) {
  auto shared = w.allocate_window<std::uint64_t>(1);
  const auto memory = shared.local();
  shared.lock_all();
  for (int i = 0; i < 1000; ++i) {
    for (const rank_t target : everyone(w)) shared.accumulate(sum, target, 0, 1);
    if (i >= 500) memory[0] += 1;
    if (i == 499) shared.take_over_accumulates();
    if (i % 8 == 0) shared.flush_all();
  }
  shared.unlock_all();
  w.barrier();
  EXPECT_EQ(memory[0], static_cast<std::uint64_t>(1000 * w.size() + 500));
  w.barrier();
}

TEST(owned_window_faults, refused_fences_in_one_rank_make_all_fence) {
  testing::processes("").run(3, {}, [](fabric::fabric& whole) {
    if (whole.rank() == 1) testing::forbid({SYS_membarrier}, EPERM);
    world w(whole, {});
    accumulate_and_take_over(w);
  });
}

TEST(owned_window_faults, fences_refused_later_are_errors) {
  testing::processes("").run(2, {}, [](fabric::fabric& whole) {
    world w(whole, {});
    auto shared = w.allocate_window<std::uint64_t>(1, {.name = "grid"});
    const bool had_fences = permit_remote_fences();
    w.barrier();
    const bool forbids = w.rank() == 1 && testing::forbid({SYS_membarrier}, EPERM);
    if (had_fences && forbids) {
      testing::expect_error([&] { shared.take_over_accumulates(); },
                            {"window::take_over_accumulates", "window 'grid'", "membarrier", "permit"});
    } else {
      shared.take_over_accumulates();
    }
    shared.lock_all();
    shared.accumulate(sum, next_of(w), 0, 1);
    shared.unlock_all();
    w.barrier();
    EXPECT_EQ(shared.local()[0], 1u);
    w.barrier();
  });
}

TEST(owned_window_faults, handlers_take_over_nothing) {
  testing::expect_parts(
      testing::failure_in_worlds(2,
                                 [](world& w) {
                                   auto shared = w.allocate_window<int>(1);
                                   auto ask = w.message<int>([&](const int&) { shared.take_over_accumulates(); });
                                   w.epoch([&] { ask.send(next_of(w), 1); });
                                 }),
      {"window::take_over_accumulates", "handler"});
}

}  // namespace
}  // namespace amity
