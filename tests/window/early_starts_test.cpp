/// When operations start: as soon as the epoch of their target permits it, or in the call that ends the epoch.

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "amity/window/window.hpp"
#include "tests/support/worlds.hpp"
#include "tests/window/counting.hpp"
#include "tests/window/paths.hpp"

namespace amity {
namespace {

using testing::counting;
using testing::packets_of;
using testing::run_counted;
using enum accumulate_op;
using numbers = std::vector<std::uint64_t>;

class early_windows : public testing::on_paths {
 protected:
  /// Whether some ranks use memory of others by loads and stores. Collective.
  static bool maps_another(world& w, window<std::uint64_t>& of) {
    const std::vector<rank_t> all = testing::everyone(w);
    const bool maps =
        std::ranges::any_of(all, [&](rank_t each) { return each != w.rank() && !of.mapped(each).empty(); });
    return w.sum(std::uint64_t{maps}) > 0;
  }
  /// Whether queued operations start only in calls on their window.
  static bool starts_in_calls() {
    const std::string& protocol = GetParam().protocol;
    return protocol == "send_recv" || protocol == "checked";
  }
};
INSTANTIATE_TEST_SUITE_P(window, early_windows, ::testing::ValuesIn(testing::jobs_of_windows({2, 3, 4}, 3)),
                         testing::name_of_job);

std::uint64_t load(const std::uint64_t& word) {
  return std::atomic_ref(const_cast<std::uint64_t&>(word)).load(std::memory_order_acquire);
}

// Rank 2 posts when rank 1 has seen the operations of rank 0, whose start names both.
TEST_P(early_windows, targets_are_reached_as_soon_as_each_has_posted) {
  run([](world& w) {
    if (w.size() < 3) return;
    auto shared = w.allocate_window<std::uint64_t>(2);
    const bool is_mapped = maps_another(w, shared);
    const bool sees_puts = !is_mapped && !GetParam().helped;  // else another thread stores them
    const auto targets = w.split({.color = w.rank() == 1 || w.rank() == 2 ? 1 : 0});
    const std::array<rank_t, 1> origin{0};
    for (std::uint64_t round = 1; round <= 5; ++round) {
      if (w.rank() == 0) {
        shared.start(std::array<rank_t, 2>{1, 2});
        // An operation on mapped memory waits for the post of its target.
        for (const rank_t target : is_mapped ? std::array{1, 2} : std::array{2, 1}) {
          shared.put(target, 0, round);
          shared.accumulate(sum, target, 1, 1);
        }
        shared.complete();
      } else if (w.rank() == 1) {
        shared.post(origin);
        while (load(shared.local()[1]) != round || (sees_puts && load(shared.local()[0]) != round))
          static_cast<void>(w.poll());
        targets->barrier();
        shared.wait();
      } else if (w.rank() == 2) {
        targets->barrier();
        shared.post(origin);
        shared.wait();
      }
      if (w.rank() == 1 || w.rank() == 2) {
        EXPECT_EQ(shared.local()[0], round);
        EXPECT_EQ(shared.local()[1], round);
      }
    }
    w.barrier();
  });
}

// Rank 1 holds the lock of its memory when rank 0 requests it. Rank 0 unlocks when rank 1 has seen the operations.
TEST_P(early_windows, operations_start_with_the_lock_and_not_with_unlock) {
  if (starts_in_calls()) return;
  run([](world& w) {
    auto shared = w.allocate_window<std::uint64_t>(2);
    if (maps_another(w, shared)) return;  // nothing is queued
    const bool sees_puts = !GetParam().helped;
    for (std::uint64_t round = 1; round <= 5; ++round) {
      if (w.rank() == 1) shared.lock(lock_kind::exclusive, 1);
      w.barrier();
      if (w.rank() == 0) {
        shared.lock(lock_kind::exclusive, 1);
        shared.put(1, 0, round);
        shared.accumulate(sum, 1, 1, 1);
      }
      w.barrier();
      if (w.rank() == 1) {
        shared.unlock(1);
        while (load(shared.local()[1]) != round || (sees_puts && load(shared.local()[0]) != round))
          static_cast<void>(w.poll());
      }
      w.barrier();
      if (w.rank() == 0) shared.unlock(1);
      w.barrier();
    }
  });
}

// Packets

/// Puts, gets and accumulates that fill several packets.
void operate(window<std::uint64_t>& on, rank_t target, const numbers& sent, numbers& got) {
  for (std::size_t i = 0; i < sent.size(); ++i) {
    on.put(target, 3 * i, sent[i]);
    on.get(target, 3 * i + 1, got[i]);
    on.accumulate(sum, target, 3 * i + 2, sent[i]);
  }
}

/// Packets of rank 0 for operations, and those of the call that ends their epoch.
struct epoch_packets {
  int before_end = 0;
  int at_end = 0;
};

/// In a fence epoch, an epoch of post and start, and a lock epoch whose lock has been granted.
std::vector<epoch_packets> packets_of_epochs(window_protocol protocol) {
  std::vector<epoch_packets> counts;
  run_counted(2, [&](world& w, counting& own) {
    const numbers sent(500, 1);
    numbers got(sent.size());
    auto shared = w.allocate_window<std::uint64_t>(3 * sent.size(), {.protocol = protocol});
    const std::array<rank_t, 1> other{testing::next_of(w)};
    const auto note = [&](const std::function<void()>& end) {
      if (w.rank() == 1) return end();
      epoch_packets made;
      made.before_end = packets_of(own, [&] { operate(shared, 1, sent, got); });
      made.at_end = packets_of(own, end);
      counts.push_back(made);
    };
    shared.lock_all();
    shared.put(other[0], 0, 1);  // this rank knows the memory of the other one afterwards
    shared.unlock_all();

    shared.fence(window_assert::no_precede);
    note([&] { shared.fence(window_assert::no_succeed); });

    if (w.rank() == 1) shared.post(other);
    w.barrier();
    if (w.rank() == 0) shared.start(other);
    note([&] { w.rank() == 0 ? shared.complete() : shared.wait(); });

    if (w.rank() == 0) {
      shared.lock(lock_kind::exclusive, 1);
      for (int i = 0; i < 1000; ++i) static_cast<void>(w.poll());  // the grant arrives
      note([&] { shared.unlock(1); });
    }
    w.barrier();
    if (w.rank() == 1) {
      EXPECT_EQ(shared.local()[2], 3u);
    }
    w.barrier();
  });
  return counts;
}

TEST(window_packets, operations_of_send_recv_leave_in_the_call_that_ends_their_epoch) {
  const std::vector<epoch_packets> counts = packets_of_epochs(window_protocol::send_recv);
  ASSERT_EQ(counts.size(), 3u);
  for (const epoch_packets& each : counts) {
    EXPECT_EQ(each.before_end, 0);
    EXPECT_GE(each.at_end, 1500);
  }
}

TEST(window_packets, buffered_operations_leave_when_their_packet_is_full) {
  const std::vector<epoch_packets> counts = packets_of_epochs(window_protocol::buffered);
  ASSERT_EQ(counts.size(), 3u);
  for (const epoch_packets& each : counts) {
    EXPECT_GE(each.before_end, 5);
    EXPECT_LT(each.at_end, 10);
  }
}

}  // namespace
}  // namespace amity
