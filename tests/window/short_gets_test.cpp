/// Short gets over the network: which of them become one read, where their bytes go, and when they start.

#include "amity/window/short_gets.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <numeric>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "amity/core/memory.hpp"
#include "amity/window/window.hpp"
#include "tests/support/worlds.hpp"
#include "tests/window/paths.hpp"
#include "tests/window/remote_counter.hpp"

namespace amity {
namespace {

using testing::everyone;
using testing::next_of;

constexpr std::size_t segment_bytes = std::size_t{1} << 16;

std::byte value_at(std::size_t at) { return static_cast<std::byte>(at * 7 + at / 256); }

/// Gets of rank 0 from a segment of rank 1, whose bytes are `value_at`, as gets from several targets.
class tested_gets {
 public:
  tested_gets(core::endpoint& own, const fabric::testing::remote_counter& network, const core::remote_segment& from,
              std::size_t count)
      : gets(own.own_engine()), own_(own), network_(network) {
    while (targets.size() < count) targets.emplace_back(from);
  }

  void add(std::size_t at, std::span<std::byte> into, std::size_t target = 0) {
    own_.wait_until("a place", [&] { return gets.try_add(targets[target], at, into); });
    added_.push_back({.at = at, .into = into});
  }
  /// Starts what is collected, and looks whether all bytes have arrived.
  void finish() {
    const auto done = [](const detail::target_gets& each) { return each.done(); };
    own_.wait_until("short gets", [&] { return !gets.try_start_all() && std::ranges::all_of(targets, done); });
    for (const auto& [at, into] : added_) {
      for (std::size_t i = 0; i < into.size(); ++i) EXPECT_EQ(into[i], value_at(at + i)) << "byte " << at + i;
    }
    added_.clear();
  }
  /// Reads that have started since the last call.
  std::size_t reads() {
    const std::size_t all = network_.gets();
    return all - std::exchange(reads_before_, all);
  }
  std::size_t finish_and_count() {
    finish();
    return reads();
  }

  detail::short_gets gets;
  std::deque<detail::target_gets> targets;

 private:
  struct added {
    std::size_t at;
    std::span<std::byte> into;
  };

  core::endpoint& own_;
  const fabric::testing::remote_counter& network_;
  std::vector<added> added_;
  std::size_t reads_before_ = 0;
};

void run_short_gets(const std::function<void(tested_gets&)>& body, std::size_t targets = 1,
                    const testing::setting_changes& changes = {}) {
  fabric::sim::run(2, {}, [&](fabric::fabric& whole) {
    fabric::testing::remote_counter counted(whole);
    world w(counted, testing::configured(changes));
    core::memory& memory = w.endpoint().memory();
    const core::local_segment local = memory.allocate(segment_bytes);
    for (std::size_t i = 0; i < segment_bytes; ++i) local.data[i] = value_at(i);
    std::vector<core::remote_segment> all = core::exchange(w.endpoint(), local);
    w.barrier();
    if (w.rank() == 0) {
      tested_gets of(w.endpoint(), counted, all[1], targets);
      body(of);
    }
    w.barrier();
    for (core::remote_segment& each : all) memory.close(each);
    w.barrier();
    memory.release(local);
    return 0;
  });
}

TEST(short_gets, neighbors_with_places_of_their_own_are_one_read) {
  run_short_gets([](tested_gets& of) {
    std::vector<std::byte> seen(64 * 8);
    for (std::size_t i = 0; i < 64; ++i) of.add(80 + 8 * i, std::span(seen).subspan(8 * (63 - i), 8));
    EXPECT_EQ(of.reads(), 0u);
    EXPECT_EQ(of.finish_and_count(), 1u);
    EXPECT_EQ(of.gets.buffers(), 1u);
  });
}

TEST(short_gets, neighbors_for_one_place_need_no_buffer) {
  run_short_gets([](tested_gets& of) {
    std::vector<std::byte> seen(detail::short_gets::read_bytes_max);
    for (std::size_t i = 0; i < seen.size(); ++i) of.add(3 + i, std::span(seen).subspan(i, 1));
    EXPECT_EQ(of.finish_and_count(), 1u);
    EXPECT_EQ(of.gets.buffers(), 0u);
  });
}

TEST(short_gets, bytes_that_overlap_or_precede_join) {
  run_short_gets([](tested_gets& of) {
    std::array<std::vector<std::byte>, 6> seen;
    const std::array<std::size_t, 6> at{1000, 1010, 1000, 900, 880, 950}, bytes{20, 30, 1, 100, 20, 200};
    for (std::size_t i = 0; i < seen.size(); ++i) {
      seen[i].resize(bytes[i]);
      of.add(at[i], seen[i]);
    }
    EXPECT_EQ(of.finish_and_count(), 1u);
  });
}

TEST(short_gets, gap_begins_another_read) {
  run_short_gets([](tested_gets& of) {
    std::vector<std::byte> seen(40);
    of.add(100, std::span(seen).first(10));
    of.add(111, std::span(seen).subspan(10, 10));
    EXPECT_EQ(of.reads(), 1u);
    of.add(100, std::span(seen).subspan(20, 10));
    EXPECT_EQ(of.reads(), 1u);
    EXPECT_EQ(of.finish_and_count(), 1u);
  });
}

// Such a get may have to see what was written in between.
TEST(short_gets, read_that_has_started_takes_no_gets) {
  run_short_gets([](tested_gets& of) {
    std::vector<std::byte> seen(30);
    of.add(0, std::span(seen).first(10));
    EXPECT_TRUE(of.gets.try_start(of.targets[0]));
    EXPECT_TRUE(of.targets[0].is_reading());
    of.add(0, std::span(seen).subspan(10, 10));
    of.add(10, std::span(seen).subspan(20, 10));
    EXPECT_FALSE(of.targets[0].done());
    EXPECT_EQ(of.finish_and_count(), 2u);
  });
}

TEST(short_gets, size_of_read_is_bounded) {
  run_short_gets([](tested_gets& of) {
    constexpr std::size_t bytes = detail::short_gets::get_bytes_max, count = 40;
    static_assert(detail::short_gets::read_bytes_max == 8 * bytes);
    std::vector<std::byte> seen(count * bytes);
    for (std::size_t i = 0; i < count; ++i) of.add(i * bytes, std::span(seen).subspan((i ^ 1) * bytes, bytes));
    EXPECT_EQ(of.finish_and_count(), count / 8);
  });
}

TEST(short_gets, number_of_places_is_bounded) {
  run_short_gets([](tested_gets& of) {
    constexpr std::size_t count = detail::short_gets::pieces_max;
    std::vector<std::byte> seen(3 * count);
    for (std::size_t i = 0; i < 3 * count; ++i) of.add(500, std::span(seen).subspan(i, 1));
    EXPECT_EQ(of.finish_and_count(), 3u);
  });
}

/// Gets two bytes from each target, which need a buffer. Returns the number of reads.
std::size_t read_pairs(tested_gets& of) {
  std::vector<std::byte> seen(2 * of.targets.size());
  for (std::size_t i = 0; i < of.targets.size(); ++i) {
    of.add(10 * i, std::span(seen).subspan(2 * i + 1, 1), i);
    of.add(10 * i + 1, std::span(seen).subspan(2 * i, 1), i);
  }
  return of.finish_and_count();
}

TEST(short_gets, without_free_buffer_gets_do_not_join) {
  constexpr std::size_t buffers = detail::short_gets::buffers_max;
  const auto body = [](std::size_t most) {
    return [most](tested_gets& of) {
      for (int round = 0; round < 3; ++round) {  // the buffers serve again
        EXPECT_EQ(read_pairs(of), most + 2 * (of.targets.size() - most));
        EXPECT_EQ(of.gets.buffers(), most);
      }
    };
  };
  run_short_gets(body(buffers), buffers + 3);
  run_short_gets(body(1), 3, {{"AMITY_CORE_SPILL_BYTES_HIGH_WATER", "32k"}, {"AMITY_CORE_SPILL_BYTES_MAX", "64k"}});
}

// Windows

using window_body = std::function<void(window<std::uint64_t>&, const fabric::testing::remote_counter&)>;

/// Runs `body` on rank 0 in a job whose network takes 1 ms. Element i of each rank has the value i. Returns the reads.
std::size_t reads_of_window(window_protocol protocol, const window_body& body, rank_t ranks = 2) {
  std::size_t reads = 0;
  fabric::sim::run(ranks, {.latency_ns = 1'000'000}, [&](fabric::fabric& whole) {
    fabric::testing::remote_counter counted(whole);
    world w(counted, {});
    auto shared = w.allocate_window<std::uint64_t>(1000, {.protocol = protocol});
    std::iota(shared.local().begin(), shared.local().end(), std::uint64_t{0});
    w.barrier();
    if (w.rank() == 0) body(shared, counted);
    w.barrier();
    if (w.rank() == 0) reads = counted.gets();
    return 0;
  });
  return reads;
}

/// Gets elements of these targets in turn, each to a place of its own, and completes them.
void get_neighbors(window<std::uint64_t>& shared, const std::vector<rank_t>& targets,
                   const std::function<void()>& complete) {
  constexpr std::size_t count = 100;
  std::vector<std::uint64_t> seen(2 * count * targets.size());
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t k = 0; k < targets.size(); ++k) shared.get(targets[k], 5 + i, seen[2 * (count * k + i)]);
  }
  complete();
  for (std::size_t i = 0; i < seen.size(); i += 2) EXPECT_EQ(seen[i], 5 + i / 2 % count);
}

TEST(short_window_gets, neighbors_are_few_reads) {
  const auto reads = [](window_protocol protocol, const std::vector<rank_t>& targets) {
    return reads_of_window(
        protocol,
        [&](window<std::uint64_t>& shared, const fabric::testing::remote_counter&) {
          shared.lock_all();
          for (const rank_t each : targets) shared.put(each, 999, std::uint64_t{0});  // the locks are held afterwards
          shared.flush_all();
          get_neighbors(shared, targets, [&] { shared.flush_all(); });
          shared.unlock_all();
        },
        3);
  };
  EXPECT_LE(reads(window_protocol::rma, {1}), 3u);
  EXPECT_LE(reads(window_protocol::automatic, {1}), 3u);
  EXPECT_LE(reads(window_protocol::rma, {1, 2}), 6u);
  EXPECT_EQ(reads(window_protocol::send_recv, {1}), 100u);
}

TEST(short_window_gets, queued_neighbors_are_one_read) {
  EXPECT_EQ(reads_of_window(window_protocol::rma,
                            [](window<std::uint64_t>& shared, const fabric::testing::remote_counter&) {
                              shared.lock(lock_kind::exclusive, 1);
                              get_neighbors(shared, {1}, [&] { shared.unlock(1); });
                            }),
            1u);
}

// A single get takes no longer than before, also if the program computes before it completes it.
TEST(short_window_gets, first_starts_in_its_call_and_others_when_idle) {
  fabric::sim::run(2, {.latency_ns = 1'000'000}, [&](fabric::fabric& whole) {
    fabric::testing::remote_counter counted(whole);
    world w(counted, {});
    auto shared = w.allocate_window<std::uint64_t>(8, {.protocol = window_protocol::rma});
    std::iota(shared.local().begin(), shared.local().end(), std::uint64_t{1});
    w.barrier();
    std::array<std::uint64_t, 6> seen{};
    shared.lock_all();
    if (w.rank() == 0) {
      shared.put(1, 7, std::uint64_t{8});  // the lock is held afterwards
      shared.flush(1);
      shared.get(1, 0, seen[5]);
      EXPECT_EQ(counted.gets(), 1u);
      for (std::size_t i = 1; i < 6; ++i) shared.get(1, i, seen[5 - i]);
      EXPECT_EQ(counted.gets(), 1u);
    }
    w.barrier();
    EXPECT_EQ(counted.gets(), w.rank() == 0 ? 2u : 0u);
    shared.unlock_all();
    if (w.rank() == 0) {
      EXPECT_EQ(seen, (std::array<std::uint64_t, 6>{6, 5, 4, 3, 2, 1}));
    }
    w.barrier();
    return 0;
  });
}

TEST(short_window_gets, failure_drops_what_is_collected) {
  const std::string failure = testing::failure_in_worlds(2, [](world& w) {
    auto shared = w.allocate_window<std::uint64_t>(8, {.protocol = window_protocol::rma});
    std::array<std::uint64_t, 8> seen{};
    shared.lock_all();
    shared.put(next_of(w), 0, std::uint64_t{1});
    shared.flush(next_of(w));
    for (std::size_t i = 0; i < 8; ++i) shared.get(next_of(w), 7 - i, seen[i]);
    throw std::runtime_error("the program has failed");
  });
  EXPECT_NE(failure.find("the program has failed"), std::string::npos);
}

// The network may take longer than packets.
TEST(short_window_gets, locks_are_left_behind_reads) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    fabric::sim::run(3, {.seed = seed, .remote_delay_ns_max = 500'000}, [](fabric::fabric& whole) {
      world w(whole, {});
      auto shared = w.allocate_window<std::uint64_t>(2, {.protocol = window_protocol::rma});
      std::array<std::uint64_t, 2> seen{};
      for (std::uint64_t round = 1; round <= 20; ++round) {
        const bool writes = w.rank() == 1;
        shared.lock(writes ? lock_kind::exclusive : lock_kind::shared, 0);
        for (std::size_t i = 0; i < 2; ++i) writes ? shared.put(0, i, round) : shared.get(0, i, seen[1 - i]);
        shared.unlock(0);
        EXPECT_EQ(seen[0], seen[1]);
      }
      w.barrier();
      return 0;
    });
  }
}

class short_get_windows : public testing::on_paths {};
INSTANTIATE_TEST_SUITE_P(window, short_get_windows, ::testing::ValuesIn(testing::jobs_of_windows({2, 3}, 3)),
                         testing::name_of_job);

/// Gets of a rank, of any size up to more than a short one, from its part of the memory of each rank.
class reader {
 public:
  static constexpr std::size_t part_bytes = 6000;

  explicit reader(world& w)
      : w_(w),
        memory_(w.allocate_window<std::uint8_t>(part_bytes * static_cast<std::size_t>(w.size()))),
        random_(static_cast<std::uint64_t>(w.rank())),
        known_(static_cast<std::size_t>(w.size()), std::vector<std::uint8_t>(part_bytes)),
        last_(static_cast<std::size_t>(w.size())),
        seen_(std::size_t{1} << 18) {}

  window<std::uint8_t>& memory() { return memory_; }
  std::mt19937_64& random() { return random_; }

  void put(rank_t target) {
    std::vector<std::uint8_t>& known = known_[static_cast<std::size_t>(target)];
    const place where = next_place(target);
    for (std::size_t i = 0; i < where.bytes; ++i) known[where.at + i] = static_cast<std::uint8_t>(random_());
    memory_.put(target, first() + where.at, std::span<const std::uint8_t>(known).subspan(where.at, where.bytes));
  }
  window_request get(rank_t target) {
    const place where = next_place(target);
    used_ += random_() % 2;  // half of them continue the place of the get before
    const std::span<std::uint8_t> into(seen_.data() + used_, where.bytes);
    used_ += where.bytes;
    started_.push_back({.target = target, .from = where, .into = into});
    return memory_.rget(target, first() + where.at, into);
  }
  /// All gets are complete.
  void check() {
    for (const started& each : started_) {
      const auto known = std::span<const std::uint8_t>(known_[static_cast<std::size_t>(each.target)]);
      ASSERT_TRUE(std::ranges::equal(each.into, known.subspan(each.from.at, each.from.bytes)))
          << each.from.bytes << " bytes at " << each.from.at << " of rank " << each.target;
    }
    started_.clear();
    std::ranges::fill(seen_, std::uint8_t{0});
    used_ = 0;
  }

 private:
  struct place {
    std::size_t at = 0, bytes = 0;
  };
  struct started {
    rank_t target;
    place from;
    std::span<std::uint8_t> into;
  };

  std::size_t first() const { return part_bytes * static_cast<std::size_t>(w_.rank()); }

  /// After, before or over the last place of this target, or elsewhere.
  place next_place(rank_t target) {
    place& last = last_[static_cast<std::size_t>(target)];
    const std::size_t bytes = 1 + (random_() % 16 == 0 ? random_() % 700 : random_() % 20);
    std::size_t at = random_() % part_bytes;
    switch (random_() % 8) {
      case 0:
        at = last.at >= bytes ? last.at - bytes : 0;
        break;
      case 1:
        at = last.at + last.bytes / 2;
        break;
      case 2:
        break;
      default:
        at = last.at + last.bytes;
    }
    last = {.at = std::min(at, part_bytes - bytes), .bytes = bytes};
    return last;
  }

  world& w_;
  window<std::uint8_t> memory_;
  std::mt19937_64 random_;
  std::vector<std::vector<std::uint8_t>> known_;  ///< of each rank, the part of this one
  std::vector<place> last_;
  std::vector<std::uint8_t> seen_;
  std::size_t used_ = 0;
  std::vector<started> started_;
};

TEST_P(short_get_windows, gets_of_all_sizes_see_puts_before_them) {
  run([](world& w) {
    reader own(w);
    window<std::uint8_t>& memory = own.memory();
    const std::vector<rank_t> all = everyone(w);
    const auto each_target = [&](int times, auto&& use) {
      for (int i = 0; i < times; ++i) use(all[own.random()() % all.size()]);
    };
    const auto put = [&](rank_t target) {
      own.put(target);
      memory.flush(target);
    };
    const auto get = [&](rank_t target) { own.get(target); };
    memory.lock_all();
    for (int round = 0; round < 12; ++round) {
      each_target(10, put);
      each_target(60, get);
      switch (round % 4) {
        case 0:
          memory.flush_all();
          break;
        case 1:
          memory.flush_local_all();
          break;
        case 2:
          for (const rank_t target : all) memory.flush(target);
          break;
        default:
          for (const rank_t target : all) memory.flush_local(target);
      }
      own.check();
    }
    each_target(60, get);
    memory.unlock_all();
    own.check();

    for (const rank_t target : all) {
      memory.lock(lock_kind::shared, target);
      for (int i = 0; i < 30; ++i) own.get(target);
      memory.unlock(target);
      own.check();
    }
    for (int round = 0; round < 4; ++round) {
      memory.fence();
      each_target(60, get);
      memory.fence();
      own.check();
      for (const rank_t target : all) own.put(target);
      memory.fence(window_assert::no_succeed);
    }
    for (int round = 0; round < 4; ++round) {
      memory.post(all);
      memory.start(all);
      each_target(60, get);
      memory.complete();
      own.check();
      memory.wait();
    }
  });
}

TEST_P(short_get_windows, requests_of_gets_end_alone) {
  run([](world& w) {
    reader own(w);
    window<std::uint8_t>& memory = own.memory();
    const rank_t next = next_of(w);
    memory.lock_all();
    own.put(next);
    memory.flush(next);
    for (int round = 0; round < 10; ++round) {
      std::vector<window_request> requests;
      for (int i = 0; i < 1 + 10 * round; ++i) requests.push_back(own.get(next));
      if (round % 2 == 0) {
        requests.back().wait();
      } else {
        while (!requests.back().test()) {
        }
      }
      for (window_request& each : requests) EXPECT_TRUE(each.test());
      own.check();
    }
    memory.unlock_all();
    w.barrier();
  });
}

// Results in blocks are unpacked from packed copies, which short gets bring, too.
TEST_P(short_get_windows, results_in_blocks_arrive) {
  run([](world& w) {
    constexpr std::size_t count = 40;
    auto shared = w.allocate_window<std::uint32_t>(2 * count);
    std::iota(shared.local().begin(), shared.local().end(), static_cast<std::uint32_t>(1000 * w.rank()));
    w.barrier();
    const auto pair = std::make_shared<const layout>(layout::contiguous(2 * sizeof(std::uint32_t)));
    const auto apart =
        std::make_shared<const layout>(layout::strided(2, sizeof(std::uint32_t), count * sizeof(std::uint32_t)));
    std::vector<std::uint32_t> seen(2 * count);
    const rank_t next = next_of(w);
    shared.lock_all();
    for (std::size_t i = 0; i < count; ++i) shared.get(next, 2 * i, pair, {&seen[i], apart});
    shared.flush_local(next);
    for (std::size_t i = 0; i < 2 * count; ++i)
      EXPECT_EQ(seen[i], static_cast<std::uint32_t>(1000 * next) + 2 * (i % count) + i / count);
    shared.unlock_all();
    w.barrier();
  });
}

}  // namespace
}  // namespace amity
