/// Windows whose memory all ranks use by loads and stores, in addition to operations.

#include <array>
#include <atomic>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "amity/window/window.hpp"
#include "tests/support/texts.hpp"
#include "tests/support/worlds.hpp"
#include "tests/window/paths.hpp"

namespace amity {
namespace {

using testing::next_of;
using testing::previous_of;
using enum accumulate_op;

class shared_windows : public testing::on_paths {
 protected:
  /// Runs `body` if the fabric maps memory. Otherwise creation fails on all ranks, and the world still works.
  void run_if_mapped(const testing::world_body& body) const {
    run([&](world& w) {
      const bool can = creates(w);
      const std::string& kind = GetParam().kind.name;
      const bool must = w.size() == 1 || kind == "threads" || kind == "shm" ||
                        (kind == "processes" && std::getenv("FABRIC") == nullptr);
      EXPECT_TRUE(can || !must);
      EXPECT_EQ(w.min(std::int64_t{can}), w.max(std::int64_t{can}));
      auto other = w.allocate_window<int>(1);
      if (can) body(w);
      w.barrier();
    });
  }

 private:
  static bool creates(world& w) {
    try {
      auto shared = w.allocate_shared_window<int>(10);
      return true;
    } catch (const error& refused) {
      testing::expect_parts(refused.what(), {"world::allocate_shared_window", "call allocate_window"});
      return false;
    }
  }
};
INSTANTIATE_TEST_SUITE_P(window, shared_windows, ::testing::ValuesIn(testing::jobs_of_windows({1, 2, 3, 4}, 3)),
                         testing::name_of_job);

/// Elements of a rank: none, few, and more than pages.
std::size_t elements_of(rank_t rank, int variant) {
  return std::array<std::size_t, 4>{0, 3, 70'000, 1}[static_cast<std::size_t>(rank + variant) % 4];
}

TEST_P(shared_windows, memory_is_contiguous) {
  run_if_mapped([](world& w) {
    for (int variant = 0; variant < 4; ++variant) {
      auto shared = w.allocate_shared_window<std::uint64_t>(elements_of(w.rank(), variant));
      EXPECT_EQ(shared.local().data(), shared.mapped(w.rank()).data());
      const std::uint64_t* next = nullptr;
      for (rank_t rank = 0; rank < w.size(); ++rank) {
        const auto there = shared.mapped(rank);
        ASSERT_EQ(there.size(), elements_of(rank, variant)) << rank;
        for (const std::uint64_t each : there) ASSERT_EQ(each, 0u);
        if (there.empty()) continue;
        if (next != nullptr) {
          EXPECT_EQ(there.data(), next) << rank;
        }
        next = there.data() + there.size();
      }
      w.barrier();
      const auto there = shared.mapped(next_of(w));
      for (std::size_t i = 0; i < there.size(); ++i) there[i] = i + static_cast<std::size_t>(w.rank());
      w.barrier();
      for (std::size_t i = 0; i < shared.local().size(); ++i)
        ASSERT_EQ(shared.local()[i], i + static_cast<std::size_t>(previous_of(w)));
      w.barrier();
    }
  });
}

TEST_P(shared_windows, memory_of_each_rank_begins_page) {
  run_if_mapped([](world& w) {
    constexpr std::size_t page = 4096;
    auto shared = w.allocate_shared_window<int>(static_cast<std::size_t>(w.rank() + 1), {}, shared_placement::separate);
    for (rank_t rank = 0; rank < w.size(); ++rank) {
      const auto there = shared.mapped(rank);
      ASSERT_EQ(there.size(), static_cast<std::size_t>(rank + 1));
      if (w.size() == 1) continue;  // that memory is not shared
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(there.data()) % page, 0u);
    }
    w.barrier();
    shared.mapped(next_of(w))[0] = w.rank() + 1;
    w.barrier();
    EXPECT_EQ(shared.local()[0], previous_of(w) + 1);
    w.barrier();
  });
}

// Each kind of path reaches the same memory: loads, stores, atomics of the processor, and records.
TEST_P(shared_windows, operations_and_loads_see_one_memory) {
  run_if_mapped([](world& w) {
    using number = std::complex<double>;
    auto shared = w.allocate_shared_window<number>(3);
    const rank_t next = next_of(w), previous = previous_of(w);
    const auto own = static_cast<double>(w.rank() + 1);
    shared.lock(lock_kind::exclusive, next);
    shared.put(next, 0, number(own));
    shared.accumulate(sum, next, 1, number(own));
    shared.mapped(next)[2] = own;
    shared.unlock(next);
    w.barrier();
    const number expected(previous + 1);
    EXPECT_EQ(shared.local()[0], expected);
    EXPECT_EQ(shared.local()[1], expected);
    EXPECT_EQ(shared.local()[2], expected);
    number seen, loaded = shared.mapped(next)[1];
    shared.fence();
    shared.get(next, 2, seen);
    shared.fence(window_assert::no_store | window_assert::no_succeed);
    EXPECT_EQ(seen, number(own));
    EXPECT_EQ(loaded, number(own));
    EXPECT_THROW(
        [&] {
          shared.fence();
          shared.put(next, 3, number());
        }(),
        error);
    shared.fence(window_assert::no_succeed);
  });
}

// A rank that waits for a store of another one serves its operations.
TEST_P(shared_windows, sync_orders_stores_and_makes_progress) {
  run_if_mapped([](world& w) {
    if (w.size() == 1) return;
    struct cell {
      std::int64_t data, flag;
    };
    auto shared = w.allocate_shared_window<cell>(1);
    auto numbers = w.allocate_window<std::complex<double>>(1);
    const auto flag_of = [&](rank_t rank) { return std::atomic_ref(shared.mapped(rank)[0].flag); };
    // Atomic for the thread sanitizer, which does not follow fences.
    const auto data_of = [&](rank_t rank) { return std::atomic_ref(shared.mapped(rank)[0].data); };
    constexpr int rounds = 100;
    for (std::int64_t round = 1; round <= rounds; ++round) {
      if (w.rank() == 0) {
        numbers.lock(lock_kind::shared, 1);
        numbers.accumulate(sum, 1, 0, 1.0);  // rank 1 carries it out
        numbers.unlock(1);
        data_of(1).store(round, std::memory_order_relaxed);
        shared.sync();
        flag_of(1).store(round, std::memory_order_relaxed);
        while (flag_of(0).load(std::memory_order_relaxed) < round) shared.sync();
      } else if (w.rank() == 1) {
        while (flag_of(1).load(std::memory_order_relaxed) < round) shared.sync();
        shared.sync();
        ASSERT_EQ(data_of(1).load(std::memory_order_relaxed), round);
        flag_of(0).store(round, std::memory_order_relaxed);
      }
    }
    w.barrier();
    if (w.rank() == 1) {
      EXPECT_EQ(numbers.local()[0], std::complex<double>(rounds));
    }
    w.barrier();
  });
}

// Memory and handles of windows that have ended are used again.
TEST_P(shared_windows, creations_reuse_memory) {
  run_if_mapped([](world& w) {
    for (int i = 0; i < 20; ++i) {
      auto shared = w.allocate_shared_window<std::byte>(i % 2 == 0 ? 100 : std::size_t{1} << 20);
      for (const std::byte each : shared.local()) ASSERT_EQ(each, std::byte{0});
      const auto there = shared.mapped(next_of(w));
      w.barrier();
      there.front() = there.back() = std::byte{1};
      w.barrier();
      EXPECT_EQ(shared.local().back(), std::byte{1});
    }
  });
}

TEST(window_errors, shared_window_names_ranks_of_other_nodes) {
  const auto failure_of_nodes = [](rank_t ranks) {
    return testing::failure_of([&] {
      testing::run_worlds(testing::simulated("sim", {.node_ranks = 2}), ranks,
                          [](world& w) { static_cast<void>(w.allocate_shared_window<int>(1, {.name = "grid"})); });
    });
  };
  testing::expect_parts(failure_of_nodes(5), {"world::allocate_shared_window (rank ", "window 'grid'",
                                              "not on the node of rank 0: rank 2, 3, 4", "ranks are on one node"});
  testing::expect_parts(failure_of_nodes(12), {"rank 2, 3, 4, 5, 6, 7, 8, 9 and 2 others"});
}

TEST(window_errors, shared_window_needs_placement) {
  testing::expect_parts(testing::failure_in_worlds(2,
                                                   [](world& w) {
                                                     static_cast<void>(w.allocate_shared_window<int>(
                                                         1, {.name = "grid"}, shared_placement::none));
                                                   }),
                        {"world::allocate_shared_window (rank ", "window 'grid': the placement is none",
                         "contiguous or separate, or call allocate_window"});
}

TEST(window_errors, size_of_one_rank_of_shared_window_is_error_of_all) {
  testing::run_worlds(testing::threads("threads"), 3, [](world& w) {
    for (const auto where : {shared_placement::contiguous, shared_placement::separate}) {
      const std::size_t bytes = w.rank() == 1 ? std::size_t{1} << 62 : 8;
      EXPECT_THROW(static_cast<void>(w.allocate_shared_window<std::byte>(bytes, {}, where)), error);
    }
    EXPECT_EQ(w.sum(std::uint64_t{1}), 3u);
  });
}

TEST(window_errors, shared_window_needs_mapped_memory) {
  testing::expect_parts(
      testing::failure_of([] {
        testing::run_worlds(testing::simulated("sim", {.node_ranks = 2}), 2,
                            [](world& w) { static_cast<void>(w.allocate_shared_window<int>(1, {.name = "grid"})); });
      }),
      {"world::allocate_shared_window (rank ", "window 'grid'", "cannot map the memory", "AMITY_FABRIC=shm"});
  const struct {
    std::array<std::size_t, 2> counts;
    std::string_view text;
  } cases[]{{{std::size_t{1} << 50, std::size_t{1} << 50}, "rank 0 asks for 9007199254740992 bytes, and all ranks"},
            {{1, std::size_t{1} << 50}, "rank 1 asks for 9007199254740992 bytes"},
            {{std::size_t{1} << 43, 1}, "rank 0 asks for 70368744177664 bytes, and all ranks together for more than"},
            {{1, std::size_t{1} << 61}, "rank 1 asks for 2^64 bytes or more"}};
  for (const auto& [counts, text] : cases) {
    testing::expect_parts(testing::failure_of([&] {
                            testing::run_worlds(testing::threads("threads"), 2, [&](world& w) {
                              static_cast<void>(w.allocate_shared_window<std::uint64_t>(
                                  counts[static_cast<std::size_t>(w.rank())], {.name = "grid"}));
                            });
                          }),
                          {"world::allocate_shared_window (rank ", "window 'grid': ", text, "allocate less"});
  }
}

}  // namespace
}  // namespace amity
