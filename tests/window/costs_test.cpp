/// What operations and synchronization of windows cost: packets, rounds of progress, mappings and file descriptors.

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <span>
#include <thread>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "amity/window/window.hpp"
#include "amity/window/window_epochs.hpp"
#include "tests/support/worlds.hpp"
#include "tests/window/counting.hpp"
#include "tests/window/paths.hpp"
#include "tests/window/resources.hpp"

namespace amity {
namespace {

using testing::counting;
using testing::everyone;
using testing::next_of;
using testing::packets_of;
using testing::run_counted;
using enum accumulate_op;

// Records

TEST(window_packets, layouts_travel_once_to_each_target) {
  run_counted(3, [](world& w, counting& own) {
    constexpr std::size_t blocks = 2000;
    std::vector<layout::block> irregular;
    for (std::size_t i = 0; i < blocks; ++i)
      irregular.push_back({.offset = static_cast<std::ptrdiff_t>(3 * i + i % 2), .bytes = 1});
    const auto make = [&] { return std::make_shared<const layout>(layout::indexed(irregular)); };
    auto shared = w.allocate_window<std::uint8_t>(3 * blocks + 1);
    const std::vector<std::uint8_t> sent(blocks, 9);
    shared.lock_all();
    if (w.rank() == 0) {
      for (const rank_t target : {1, 2}) {
        shared.put(target, 0, std::uint8_t{1});  // the lock is held afterwards
        shared.flush(target);
        const auto put = [&](const std::shared_ptr<const layout>& there) {
          return packets_of(own, [&] {
            shared.put(target, 0, there, sent);
            shared.flush(target);
          });
        };
        const int first = put(make());
        EXPECT_GE(first, 8);                                    // 32 KB describe the layout
        for (int i = 0; i < 5; ++i) EXPECT_LE(put(make()), 3);  // equal layouts are the same one
      }
    }
    shared.unlock_all();
    w.barrier();
    if (w.rank() > 0) {
      EXPECT_EQ(std::ranges::count(shared.local(), 9), static_cast<std::ptrdiff_t>(blocks));
    }
  });
}

TEST(window_packets, replies_of_buffered_gets_are_coalesced) {
  run_counted(2, [](world& w, counting& own) {
    constexpr int count = 200;
    auto shared = w.allocate_window<std::uint64_t>(count, {.protocol = window_protocol::buffered});
    std::iota(shared.local().begin(), shared.local().end(), std::uint64_t{1});
    std::vector<std::uint64_t> seen(count);
    shared.fence(window_assert::no_precede);
    const int packets = packets_of(own, [&] {
      if (w.rank() == 0) {
        for (std::size_t i = 0; i < count; ++i) shared.get(1, i, seen[i]);
      }
      shared.fence(window_assert::no_succeed);
    });
    EXPECT_LT(packets, 20);  // of rank 1: replies, and parts of the fence
    if (w.rank() == 0) {
      EXPECT_TRUE(std::ranges::equal(seen, shared.local()));
    }
  });
}

TEST(window_packets, promised_posts_send_nothing) {
  run_counted(2, [](world& w, counting& own) {
    auto shared = w.allocate_window<int>(1);
    const rank_t other = next_of(w);
    for (const window_assert promised : {window_assert::none, window_assert::no_check}) {
      const bool is_promised = promised == window_assert::no_check;
      if (w.rank() == 0) {
        EXPECT_EQ(packets_of(own, [&] { shared.post(std::span(&other, 1), promised); }), is_promised ? 0 : 1);
      }
      w.barrier();
      if (w.rank() == 1) {
        shared.start(std::span(&other, 1), promised);
        shared.put(0, 0, 5);
        shared.complete();
      } else {
        shared.wait();
      }
      w.barrier();
    }
  });
}

TEST(window_packets, promised_locks_send_nothing) {
  run_counted(2, [](world& w, counting& own) {
    auto shared = w.allocate_window<int>(1);
    const auto put_in_all = [&](window_assert promised) {
      shared.lock_all(promised);
      shared.put(1, 0, 5);
      shared.unlock_all();
    };
    if (w.rank() == 0) {
      put_in_all(window_assert::none);  // it knows the memory of the other one afterwards
      for (const lock_kind kind : {lock_kind::shared, lock_kind::exclusive}) {
        EXPECT_EQ(packets_of(own, [&] { shared.lock(kind, 1); }), 1);
        EXPECT_EQ(packets_of(own, [&] { shared.unlock(1); }), 1);
        EXPECT_EQ(packets_of(own, [&] { shared.lock(kind, 1, window_assert::no_check); }), 0);
        EXPECT_EQ(packets_of(own, [&] { shared.unlock(1); }), 0);
      }
      const int packets = packets_of(own, [&] { put_in_all(window_assert::none); });
      EXPECT_EQ(packets_of(own, [&] { put_in_all(window_assert::no_check); }), packets - 1);
    }
    w.barrier();
  });
}

// Nothing to do

/// Polls and packets of flushes without an operation.
void expect_free_flushes(world& w, const counting& own) {
  auto shared = w.allocate_window<int>(1);
  shared.lock_all();
  for (const rank_t target : everyone(w)) shared.accumulate(sum, target, 0, 1);
  shared.flush_all();
  w.barrier();
  const int packets = own.packets(), polls = own.polls();
  for (int i = 0; i < 10; ++i) {
    shared.flush(next_of(w));
    shared.flush_all();
    shared.flush_local(next_of(w));
    shared.flush_local_all();
  }
  EXPECT_EQ(own.packets(), packets);
  EXPECT_EQ(own.polls(), polls);
  shared.unlock_all();
}

TEST(window_costs, empty_flush_does_nothing_for_any_number_of_ranks) {
  for (const rank_t ranks : {1, 2, 16, 64}) run_counted(ranks, expect_free_flushes);
}

/// Runs `body` on threads that map the memory of each other.
void run_mapped(rank_t ranks, const testing::counted_body& body) {
  testing::threads("threads").run(ranks, {}, [&](fabric::fabric& whole) {
    counting own(whole, true);
    world w(own, {});
    body(w, own);
    w.barrier();
  });
}

TEST(window_costs, empty_flush_of_mapped_memory_does_nothing_for_any_number_of_ranks) {
  for (const rank_t ranks : {1, 2, 16}) run_mapped(ranks, expect_free_flushes);
}

// Also after stores.
TEST(window_costs, flush_of_mapped_memory_makes_no_progress) {
  run_mapped(3, [](world& w, const counting& own) {
    auto shared = w.allocate_window<int>(1);
    shared.lock_all();
    for (const rank_t target : everyone(w)) shared.accumulate(sum, target, 0, 1);
    shared.flush_all();
    w.barrier();
    const int packets = own.packets(), polls = own.polls();
    for (int i = 0; i < 10; ++i) {
      shared.accumulate(sum, next_of(w), 0, 1);
      shared.flush(next_of(w));
      shared.accumulate(sum, next_of(w), 0, 1);
      shared.flush_all();
    }
    EXPECT_EQ(own.packets(), packets);
    EXPECT_EQ(own.polls(), polls);
    shared.unlock_all();
  });
}

// The fence is the only work of a flush of mapped memory.
TEST(window_costs, flush_fences_only_after_stores) {
  run_mapped(2, [](world& w, const counting&) {
    detail::direct_access direct;
    detail::window_epochs epochs(w.team(), direct, {.bytes = 8}, {}, nullptr);
    const rank_t next = next_of(w);
    const std::array<std::byte, 4> sent{};
    const auto put = [&] {
      epochs.begin("test", {.kind = detail::operation_kind::put, .target = next, .at = 0, .from = sent}, false);
    };
    epochs.lock_all(window_assert::none);
    put();
    EXPECT_TRUE(direct.stored);
    EXPECT_FALSE(direct.always_fences);
    epochs.flush_local(next);
    EXPECT_TRUE(direct.stored);
    epochs.flush_local_all();
    EXPECT_TRUE(direct.stored);
    epochs.flush(next);
    EXPECT_FALSE(direct.stored);
    put();
    EXPECT_TRUE(direct.stored);
    epochs.flush_all();
    EXPECT_FALSE(direct.stored);
    epochs.flush(next);
    EXPECT_FALSE(direct.stored);
    epochs.unlock_all();
  });
}

// Loads and stores

TEST(window_costs, mapped_operations_poll_in_each_64th_call) {
  testing::threads("threads").run(2, {}, [](fabric::fabric& whole) {
    counting own(whole, true);
    world w(own, {});
    auto shared = w.allocate_window<std::uint64_t>(4);
    const rank_t next = next_of(w);
    shared.lock_all();
    shared.put(next, 0, 0);  // the lock is held afterwards
    std::uint64_t seen = 0;
    const auto operate = [&](int times) {
      for (int i = 0; i < times; ++i) {
        shared.put(next, 0, 1);
        shared.get(next, 0, seen);
        shared.accumulate(sum, next, 1, 1);
        shared.compare_and_swap(next, 2, 0, 0, seen);
      }
    };
    const int before = own.polls();
    operate(160);
    EXPECT_EQ(own.polls() - before, 10);
    const auto polls_of_gets = [&] {
      const int polls = own.polls();
      for (int i = 0; i < 640; ++i) shared.get(next, 0, seen);
      return own.polls() - polls;
    };
    EXPECT_EQ(polls_of_gets(), 10);  // each kind counts and polls

    bool has_operated = false;
    const auto in_handler = w.endpoint().add_handler("operate", [&](core::request&) {
      const int polls = own.polls();
      operate(160);
      EXPECT_EQ(own.polls(), polls);
      has_operated = true;
    });
    w.barrier();
    w.endpoint().request_short(w.rank(), in_handler);
    w.endpoint().wait_until("the handler", [&] { return has_operated; });
    shared.unlock_all();
    w.barrier();
    EXPECT_EQ(shared.local()[1], 320u);
    w.endpoint().remove_handler(in_handler);
  });
}

// Resources

class window_resources : public testing::on_jobs {};
INSTANTIATE_TEST_SUITE_P(window, window_resources, ::testing::ValuesIn(testing::some_jobs()),
                         [](const auto& tested) { return std::get<0>(tested.param).name; });

void create_and_use(world& w, int times) {
  std::vector<std::uint64_t> own(1000);
  for (int i = 0; i < times; ++i) {
    auto small = w.allocate_window<std::uint64_t>(100);
    auto large = w.allocate_window<std::uint64_t>(std::size_t{1} << 16);  // 512 KiB
    auto created = w.create_window(std::span(own));
    for (window<std::uint64_t>* const each : {&small, &large, &created}) {
      each->lock(lock_kind::shared, next_of(w));
      each->put(next_of(w), 5, 1);
      each->unlock(next_of(w));
    }
  }
  w.barrier();
}

TEST_P(window_resources, end_with_windows) {
  run([](world& w) {
    create_and_use(w, 20);
    const testing::resources before = testing::count_resources(w);
    create_and_use(w, 200);
    const testing::resources after = testing::count_resources(w);
    EXPECT_EQ(after.descriptors, before.descriptors);
    EXPECT_LE(after.mappings, before.mappings + 16);  // the allocator of the C library has some of its own
  });
}

TEST(window_threads, first_use_of_mapped_member_needs_no_progress_there) {
  std::atomic<bool> used = false;
  testing::run_worlds(testing::threads("threads"), 3, [&](world& w) {
    auto shared = w.allocate_window<int>(1);
    if (w.rank() == 0) {
      EXPECT_EQ(shared.mapped(1).size(), 1u);
      shared.lock(lock_kind::exclusive, 2);
      shared.put(2, 0, 7);
      shared.unlock(2);
      used = true;
    } else {
      while (!used) std::this_thread::yield();
    }
    EXPECT_EQ(shared.local()[0], w.rank() == 2 ? 7 : 0);
    w.barrier();
  });
}

// Ranks of a process share its table of segments. Windows on both sides of the size up to which they share mappings.
TEST(window_threads, groups_create_windows_at_once) {
  testing::run_worlds(testing::threads("threads"), 4, [](world& w) {
    const auto pair = w.split({.color = w.rank() / 2});
    for (int round = 0; round < 40; ++round) {
      std::vector<window<std::uint8_t>> made;
      for (const std::size_t bytes : {std::size_t{1}, (std::size_t{256} << 10) - 64, (std::size_t{256} << 10) - 63,
                                      std::size_t{256} << 10, (std::size_t{256} << 10) + 1})
        made.push_back(pair->allocate_window<std::uint8_t>(bytes));
      const auto count_all = [&](std::uint8_t value) {
        for (window<std::uint8_t>& each : made)
          EXPECT_EQ(std::ranges::count(each.local(), value), static_cast<std::ptrdiff_t>(each.local().size()));
        pair->barrier();
      };
      count_all(0);
      for (window<std::uint8_t>& each : made) {
        each.lock(lock_kind::exclusive, next_of(*pair));
        const std::vector<std::uint8_t> sent(each.local().size(), static_cast<std::uint8_t>(w.rank() + 1));
        each.put(next_of(*pair), 0, std::span(sent));
        each.unlock(next_of(*pair));
      }
      pair->barrier();
      count_all(static_cast<std::uint8_t>((w.rank() ^ 1) + 1));
      if (round % 2 == 0) std::ranges::rotate(made, made.begin() + 2);
      while (!made.empty()) made.pop_back();
    }
  });
}

}  // namespace
}  // namespace amity
