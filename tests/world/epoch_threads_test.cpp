/// What epochs and message types promise beyond the plain case, on ranks of several threads: declared depths,
/// priorities, counters, ends that do not wait, and several worlds.

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "amity/amity.hpp"
#include "tests/support/jobs.hpp"
#include "tests/support/programs.hpp"

namespace amity {
namespace {

using testing::outcome_of;
using testing::run_job;
using testing::shape;

/// The program on every shape of job.
void on_threads(const std::function<void(world&)>& body) {
  for (const std::string fabric : {"sim", "threads"}) {
    for (const rank_t ranks : {1, 2, 3}) {
      for (const rank_t threads : {2, 3}) {
        SCOPED_TRACE(fabric + ", " + std::to_string(ranks) + " ranks, " + std::to_string(threads) + " threads");
        run_job(shape(fabric, ranks, threads, {"AMITY_PROGRESS_THREAD=1"}), body);
      }
    }
  }
}

TEST(epochs_of_threads, have_declared_depths_and_priorities) {
  on_threads([](world& w) {
    std::vector<std::uint64_t> handled(static_cast<std::size_t>(w.threads()) * 8);  // a cache line each
    const auto pass_on = [&](std::uint64_t lives, auto& self) {
      ++handled[static_cast<std::size_t>(self.thread_index()) * 8];
      if (lives % 8 > 0) self.send((w.rank() + 1) % w.size(), lives + 7);
    };
    const auto key = [](std::uint64_t lives) { return lives / 8; };
    auto urgent = w.message<std::uint64_t>(pass_on, parallel{key}, coalesce{.count = 5}, priority{});
    auto normal = w.message<std::uint64_t>(pass_on, parallel{key}, coalesce{.count = 3});
    for (const int depth : {3, any_depth, 7}) {
      const auto declared = w.request_depth(depth);
      for (auto& each : handled) each = 0;
      const std::uint64_t sum = w.epoch(
          [&](thread& own) {
            for (std::uint64_t i = 0; i < 20; ++i) {
              urgent.on(own).send((w.rank() + 1) % w.size(), 8 * i + 3);
              normal.on(own).send((w.rank() + 1) % w.size(), 8 * i + 3);
            }
          },
          [&](thread& own) { return handled[static_cast<std::size_t>(own.thread_index()) * 8]; });
      EXPECT_EQ(sum, std::uint64_t{4 * 40} * static_cast<std::uint64_t>(w.size() * w.threads()));
    }
    EXPECT_EQ(w.sum(urgent.counters().handled), w.sum(urgent.counters().sent));
    EXPECT_GT(urgent.counters().packets, 0u);
    EXPECT_GT(urgent.counters().mean_fill(), 0);
    EXPECT_LE(urgent.counters().mean_fill(), 1);
  });
}

/// Counts what each thread handles, in cache lines of their own.
struct tally {
  explicit tally(const world& w) : by_thread(static_cast<std::size_t>(w.threads()) * 8) {}
  std::uint64_t& of(rank_t thread) { return by_thread[static_cast<std::size_t>(thread) * 8]; }
  std::uint64_t all() const { return std::accumulate(by_thread.begin(), by_thread.end(), std::uint64_t{0}); }
  std::vector<std::uint64_t> by_thread;
};

/// Begins an epoch in which each thread of each rank sends 20 messages, of which each is passed on 3 times.
epoch::open_epoch begin_chains(world& w, const std::function<void(thread&, std::uint64_t)>& send) {
  return w.begin_epoch([&](thread& own) {
    EXPECT_EQ(own.count(), w.threads());
    for (std::uint64_t i = 0; i < 20; ++i) send(own, 8 * i + 3);
  });
}
std::uint64_t chain_messages(const world& w) {
  return std::uint64_t{4 * 20} * static_cast<std::uint64_t>(w.size() * w.threads());
}

/// A program with the message type of such epochs, in a world of its own.
void with_chains(world& w, const std::function<void(tally&, const std::function<epoch::open_epoch()>&)>& body) {
  tally handled(w);
  auto chain = w.message<std::uint64_t>(
      [&](std::uint64_t lives, auto& self) {
        ++handled.of(self.thread_index());
        if (lives % 8 > 0) self.send((w.rank() + 1) % w.size(), lives + 7);
      },
      parallel{[](std::uint64_t lives) { return lives / 8; }}, coalesce{.count = 5});
  body(handled, [&] {
    return begin_chains(
        w, [&](thread& own, std::uint64_t lives) { chain.on(own).send((w.rank() + 1) % w.size(), lives); });
  });
}

// Thread 0 only looks; what the others handle is in the sum all the same.
TEST(epochs_of_threads, end_without_waiting) {
  on_threads([](world& w) {
    with_chains(w, [&](tally& handled, const std::function<epoch::open_epoch()>& begin) {
      for (std::uint64_t round = 1; round <= 3; ++round) {
        auto period = begin();
        const auto value = [&] { return handled.all(); };
        std::optional<std::uint64_t> sum;
        if (w.rank() == 1) {
          sum = period.end(value);
        } else {
          while (!sum) sum = period.try_end(value);
        }
        EXPECT_EQ(sum, round * chain_messages(w));
        auto without_value = w.begin_epoch();
        while (!without_value.try_end()) {
        }
      }
    });
  });
}

TEST(epochs_of_threads, overlap_in_several_worlds) {
  on_threads([](world& w) {
    const auto half = w.split({.color = w.rank() % 2, .key = -w.rank()});
    EXPECT_EQ(half->threads(), w.threads());
    with_chains(w, [&](tally& in_job, const std::function<epoch::open_epoch()>& begin_in_job) {
      with_chains(*half, [&](tally& in_half, const std::function<epoch::open_epoch()>& begin_in_half) {
        auto first = begin_in_job();
        auto second = begin_in_half();
        while (!first.try_end()) {
        }
        EXPECT_EQ(second.end([&] { return in_half.all(); }), chain_messages(*half));
        EXPECT_EQ(w.sum(in_job.all()), chain_messages(w));
        // One inside the other.
        const std::uint64_t sum = w.epoch(
            [&](thread& own) {
              if (own.thread_index() > 0) return;
              auto inner = begin_in_half();
              EXPECT_EQ(inner.end([&] { return in_half.all(); }), 2 * chain_messages(*half));
            },
            [](thread&) { return 1; });
        EXPECT_EQ(sum, static_cast<std::uint64_t>(w.size() * w.threads()));
      });
    });
  });
}

// Rank 1 is busy elsewhere for a millisecond of virtual time; no call of rank 0 waits for it, nor for its own threads.
TEST(epochs_of_threads, never_wait_in_try_end) {
  const auto body = [](world& w) {
    auto message = w.message<int>([](int) {});
    auto period = w.begin_epoch();
    message.send(1 - w.rank(), 1);
    if (w.rank() == 1) testing::idle_until(w.endpoint().transport(), 1'000'000);
    std::uint64_t longest_ns = 0;
    for (bool ended = false; !ended;) {
      const std::uint64_t from_ns = w.now_ns();
      ended = period.try_end();
      longest_ns = std::max(longest_ns, w.now_ns() - from_ns);
    }
    if (w.rank() == 0) {
      EXPECT_LT(longest_ns, 10'000u);
      EXPECT_GT(w.now_ns(), 1'000'000u);
    }
  };
  run_job(shape("sim", 2, 3), body);
}

std::string failure_in(const std::string& fabric, const std::function<void(world&)>& body) {
  const auto [status, errors] = outcome_of(shape(fabric, 2, 2), body);
  EXPECT_EQ(status, 1);
  return errors;
}

TEST(epochs_of_threads, are_ended_by_a_call) {
  const std::string failure = failure_in("sim", [](world& w) {
    {
      auto period = w.begin_epoch();
      if (w.rank() == 1) period.end();
    }
    w.barrier();
  });
  EXPECT_EQ(failure,
            "amity: epoch (rank 0): epoch 1 was begun, and destroyed before its end; call end, or try_end until it "
            "tells the end\n");
}

// Messages to the own rank are counted when they are handled: a thread that holds some is not done, however long it has
// been busy with them.
TEST(epochs_of_threads, do_not_end_while_a_thread_holds_messages_of_its_own) {
  for (const std::string fabric : {"sim", "threads"}) {
    run_job(shape(fabric, 2, 1, {"AMITY_PROGRESS_THREAD=1"}), [](world& w) {
      constexpr int chain = 2000;
      std::atomic<int> handled = 0;
      auto on = w.message<int>(
          [&](int left, auto& self) {
            ++handled;
            if (left > 1) self.send(w.rank(), left - 1);
          },
          deliver_locally{});
      for (const bool waits : {true, false, true, false}) {
        handled = 0;
        auto period = w.begin_epoch([&] { on.send(w.rank(), chain); });
        if (waits) {
          period.end();
        } else {
          while (!period.try_end()) {
          }
        }
        EXPECT_EQ(handled, chain) << waits;
      }
    });
  }
}

// What one policy holds may come to another one that holds it for the own rank, in one and the same flush.
TEST(epochs_of_threads, do_not_end_while_combined_messages_wait_for_their_own_rank) {
  for (int seed = 1; seed <= 5; ++seed) {
    const std::string seeded = "AMITY_SIM_SEED=" + std::to_string(seed);
    run_job(shape("sim", 2, 2, {"AMITY_SIM_DELAY_NS_MAX=6000", seeded}), [](world& w) {
      constexpr int chain = 200;
      std::atomic<std::uint64_t> hops = 0;
      auto hop = w.message<int>(
          [&](int left, auto& self) {
            ++hops;
            if (left > 1) self.send((w.rank() + 1) % w.size(), left - 1);
          },
          parallel{});
      auto first = w.message<int>([&](int, auto& self) { hop.on(self).send((w.rank() + 1) % w.size(), chain); },
                                  combine{[](int key) { return key; }, [](int kept, int) { return kept; }},
                                  deliver_locally{}, parallel{});
      for (int round = 0; round < 5; ++round) {
        hops = 0;
        auto period = w.begin_epoch([&](thread& own) {
          if (w.rank() == 0 && own.thread_index() == 1) first.on(own).send(0, 7);
        });
        while (!period.try_end()) {
        }
        EXPECT_EQ(w.sum(hops.load()), std::uint64_t{chain});
      }
    });
  }
}

TEST(worlds_of_threads, are_destroyed_outside_their_epochs) {
  const std::string failure = failure_in("sim", [](world& w) {
    auto other = w.duplicate();
    if (w.rank() == 0) const_cast<epoch::epochs&>(other->epochs()).begin();
    other.reset();
    w.epoch([] {});
  });
  EXPECT_EQ(failure, "amity: world (rank 0): a world was destroyed inside its epoch; end the epoch before its world\n");
}

TEST(worlds_of_threads, end_in_the_program) {
  std::vector<std::unique_ptr<world>> kept(2);
  EXPECT_EQ(failure_in("sim", [&](world& w) { kept[static_cast<std::size_t>(w.rank())] = w.duplicate(); }),
            "amity: amity::run (rank 0): the program has ended before the worlds that it has made; there are still 1; "
            "let every world end inside the program, at the latest with it\n");
}

// What the other rank has made is taken down, on all its threads, by an exception that comes from nowhere.
TEST(worlds_of_threads, end_with_their_job) {
  for (const char* const fabric : {"sim", "threads"}) {
    EXPECT_EQ(failure_in(fabric,
                         [](world& w) {
                           const auto other = w.duplicate();
                           auto here = w.message<int>([](int) {}, parallel{});
                           auto there = other->message<int>([](int) {}, parallel{});
                           auto period = other->begin_epoch([&](thread& own) { there.on(own).send(1 - w.rank(), 1); });
                           if (w.rank() == 1) throw std::runtime_error("no more");
                           w.barrier();
                           period.end();
                         }),
              "amity: the program ended with an exception on rank 1: no more\n");
  }
}

}  // namespace
}  // namespace amity
