/// Windows that several threads of a rank use at once, with a serialized engine.

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "amity/core/endpoint.hpp"
#include "amity/core/engine_lock.hpp"
#include "amity/core/team.hpp"
#include "amity/window/dynamic_window.hpp"
#include "tests/core/poorer.hpp"
#include "tests/support/program_threads.hpp"
#include "tests/window/paths.hpp"

namespace amity {
namespace {

using testing::no_failures;
using testing::program_threads;

constexpr std::size_t threads_of_program = 4;

/// A rank whose threads share one engine.
class threaded_rank {
 public:
  threaded_rank(fabric::fabric& transport, const settings& config)
      : own_(team_.enter(transport, config, core::engine::threading::serialized)) {}
  ~threaded_rank() { team_.leave(0); }

  /// Each wait on a seat has ended by a wake-up. Waits for mapped locks have none.
  void expect_wakes() const { EXPECT_EQ(own_.own_engine().lock()->seats().expired(), 0u); }
  core::team& team() noexcept { return team_; }
  rank_t rank() const noexcept { return own_.rank(); }
  rank_t size() const noexcept { return own_.size(); }
  rank_t next() const noexcept { return (rank() + 1) % size(); }
  rank_t previous() const noexcept { return (rank() + size() - 1) % size(); }
  void barrier() {
    const core::engine::entry inside(own_.own_engine());
    own_.barrier();
  }
  window<std::uint64_t> allocate(std::size_t count, const window_options& options = {}) {
    return {team_, std::nullopt, count, options};
  }
  /// Makes progress for all threads, as a progress thread does.
  void help() {
    const core::engine::entry inside(own_.own_engine(), std::try_to_lock);
    if (!inside.entered() || !own_.progress()) std::this_thread::yield();
  }
  /// Runs `work(thread)` on as many threads, and returns when all have done it.
  static void on_threads(const std::function<void(std::size_t)>& work, std::size_t threads = threads_of_program) {
    program_threads program;
    for (std::size_t thread = 0; thread < threads; ++thread) program.start([&work, thread] { work(thread); });
    EXPECT_EQ(program.join(), no_failures(threads));
  }

 private:
  core::team team_{1};
  core::endpoint& own_;
};

struct threaded_job {
  testing::job_kind kind;
  rank_t ranks;
  window_protocol protocol;
  bool maps;  ///< memory, where the fabric can
};

std::vector<threaded_job> threaded_jobs() {
  std::vector<threaded_job> jobs;
  for (const testing::job_kind& kind : {testing::threads("threads"), testing::processes("processes")}) {
    for (const rank_t ranks : {1, 2, 3}) jobs.push_back({kind, ranks, window_protocol::automatic, true});
    for (const auto protocol : {window_protocol::send_recv, window_protocol::buffered, window_protocol::rma})
      jobs.push_back({kind, 2, protocol, true});
    jobs.push_back({kind, 3, window_protocol::automatic, false});
  }
  return jobs;
}

std::string name_of_threaded_job(const ::testing::TestParamInfo<threaded_job>& tested) {
  const threaded_job& of = tested.param;
  return of.kind.name + "_" + std::to_string(of.ranks) + "_" + std::to_string(static_cast<int>(of.protocol)) +
         (of.maps ? "" : "_records");
}

class serialized_windows : public ::testing::TestWithParam<threaded_job> {
 protected:
  void run(const std::function<void(threaded_rank&)>& body) const {
    const threaded_job& job = GetParam();
    job.kind.run(job.ranks, {}, [&](fabric::fabric& whole) {
      fabric::testing::poorer poor(whole, false);
      threaded_rank rank(job.maps ? whole : poor, {});
      body(rank);
    });
  }
  window_options options() const { return {.name = "grid", .protocol = GetParam().protocol}; }
};
INSTANTIATE_TEST_SUITE_P(window, serialized_windows, ::testing::ValuesIn(threaded_jobs()), name_of_threaded_job);

// Each thread waits for its own operations while others begin more.
TEST_P(serialized_windows, threads_operate_on_one_window) {
  constexpr std::uint64_t rounds = 100;
  run([this](threaded_rank& rank) {
    const auto ranks = static_cast<std::size_t>(rank.size());
    const std::size_t counter = ranks * threads_of_program;  // its place, behind one for each thread
    auto shared = rank.allocate(counter + 1, options());
    rank.barrier();
    shared.lock_all();
    threaded_rank::on_threads([&](std::size_t thread) {
      const std::size_t own = static_cast<std::size_t>(rank.rank()) * threads_of_program + thread;
      for (std::uint64_t round = 1; round <= rounds; ++round) {
        const auto target = static_cast<rank_t>((own + round) % ranks);
        std::uint64_t seen = 0, before = 0;
        shared.put(target, own, round);
        if (round % 3 == 0) {
          shared.flush(target);
        } else {
          shared.flush_all();
        }
        shared.get(target, own, seen);
        shared.accumulate(accumulate_op::sum, target, counter, 1);
        shared.flush_local(target);
        ASSERT_EQ(seen, round);
        shared.fetch_and_op(accumulate_op::sum, target, counter, 1, before);
        shared.compare_and_swap(target, own, round, round + 1, seen);
        shared.flush(target);
        ASSERT_EQ(seen, round);
        ASSERT_GE(before, 1u);
      }
    });
    shared.unlock_all();
    rank.barrier();
    auto sums = rank.allocate(1, options());
    sums.fence(window_assert::no_precede);
    sums.accumulate(accumulate_op::sum, 0, 0, shared.local()[counter]);
    sums.fence(window_assert::no_succeed);
    if (rank.rank() == 0) {
      EXPECT_EQ(sums.local()[0], 2 * rounds * ranks * threads_of_program);
    }
    rank.expect_wakes();
  });
}

// Threads use layouts of their own, whose parts other threads may send first.
TEST_P(serialized_windows, threads_use_layouts) {
  constexpr std::size_t count = 6000;  // layouts of all threads take more packets than there are credits
  run([this](threaded_rank& rank) {
    auto shared = rank.allocate(2 * count * threads_of_program, options());
    rank.barrier();
    shared.lock_all();
    threaded_rank::on_threads([&](std::size_t thread) {
      const std::size_t first = 2 * count * thread;
      for (std::uint64_t round = 1; round <= 3; ++round) {
        std::vector<layout::block> blocks;
        for (std::size_t i = 0; i < count; ++i)
          blocks.push_back({.offset = static_cast<std::ptrdiff_t>(16 * i + 8 * ((i + round) % 2)), .bytes = 8});
        const auto places = std::make_shared<const layout>(layout::indexed(blocks));
        std::vector<std::uint64_t> sent(count, 10 * round + thread), seen(count);
        shared.put(rank.next(), first, places, std::span<const std::uint64_t>(sent));
        shared.flush(rank.next());
        shared.get(rank.next(), first, places, std::span(seen));
        shared.flush(rank.next());
        ASSERT_EQ(seen, sent);
      }
    });
    shared.unlock_all();
    rank.barrier();
    rank.expect_wakes();
  });
}

// Each thread locks targets of its own in one window: increments by get and put are exclusive among ranks.
TEST_P(serialized_windows, threads_lock_targets) {
  constexpr std::uint64_t rounds = 50;
  run([this](threaded_rank& rank) {
    auto shared = rank.allocate(1, options());
    rank.barrier();
    threaded_rank::on_threads(
        [&](std::size_t thread) {
          const auto target = static_cast<rank_t>(thread);
          for (std::uint64_t round = 0; round < rounds; ++round) {
            std::uint64_t value = 0;
            shared.lock(lock_kind::exclusive, target);
            shared.get(target, 0, value);
            shared.flush(target);
            shared.put(target, 0, value + 1);
            shared.unlock(target);
          }
        },
        static_cast<std::size_t>(rank.size()));
    rank.barrier();
    std::uint64_t value = 0;
    shared.lock(lock_kind::shared, rank.rank());
    shared.get(rank.rank(), 0, value);
    shared.unlock(rank.rank());
    EXPECT_EQ(value, rounds * static_cast<std::uint64_t>(rank.size()));
    rank.barrier();
  });
}

// Rank 1 leaves its lock, for which a thread of rank 0 waits, only after another thread of rank 0 has used one.
TEST_P(serialized_windows, threads_do_not_wait_for_locks_of_others) {
  run([this](threaded_rank& rank) {
    if (rank.size() < 2) return;
    auto shared = rank.allocate(1, options());
    if (rank.rank() == 1) {
      shared.lock(lock_kind::exclusive, 1);
      rank.barrier();
      rank.barrier();
      shared.unlock(1);
    } else {
      rank.barrier();
      program_threads waiting;
      std::atomic<bool> is_requested = false;
      if (rank.rank() == 0) {
        waiting.start([&] {
          shared.lock(lock_kind::exclusive, 1);
          is_requested = true;
          shared.put(1, 0, 7);
          shared.unlock(1);
        });
        while (!is_requested) std::this_thread::yield();
        shared.lock(lock_kind::exclusive, 0);
        shared.put(0, 0, 5);
        shared.unlock(0);
      }
      rank.barrier();
      EXPECT_EQ(waiting.join(), no_failures(rank.rank() == 0 ? 1 : 0));
    }
    rank.barrier();
    if (rank.rank() < 2) {
      EXPECT_EQ(shared.local()[0], rank.rank() == 0 ? 5u : 7u);
    }
    rank.barrier();
  });
}

// The post that operations of several threads wait for arrives while they begin more.
TEST_P(serialized_windows, threads_queue_operations) {
  constexpr std::size_t operations = 100, count = 500;  // more than the target has credits for
  run([this](threaded_rank& rank) {
    auto shared = rank.allocate(threads_of_program * count, options());
    const rank_t last = rank.size() - 1, first = 0;
    std::atomic<std::size_t> queued = 0;
    std::atomic<bool> may_continue = false;
    if (rank.rank() == 0) {
      std::vector<std::vector<std::uint64_t>> operands;
      for (std::size_t i = 1; i <= operations; ++i) operands.push_back(std::vector<std::uint64_t>(count, i));
      const auto accumulate_all = [&](std::size_t thread) {
        for (const auto& each : operands) shared.accumulate(accumulate_op::sum, last, thread * count, std::span(each));
      };
      if (last == 0) shared.post(std::span(&first, 1));
      shared.start(std::span(&last, 1));
      const bool is_mapped = !shared.mapped(last).empty();
      program_threads program;
      for (std::size_t thread = 0; thread < threads_of_program; ++thread) {
        program.start([&, thread] {
          if (!is_mapped) accumulate_all(thread);  // else the first one would wait
          ++queued;
          while (!may_continue) std::this_thread::yield();
          accumulate_all(thread);
          if (is_mapped) accumulate_all(thread);
        });
      }
      while (queued < threads_of_program) std::this_thread::yield();
      rank.barrier();
      may_continue = true;
      EXPECT_EQ(program.join(), no_failures(threads_of_program));
      shared.complete();
      if (last == 0) shared.wait();
      shared.lock_all();
      threaded_rank::on_threads([&](std::size_t thread) {
        accumulate_all(thread);
        shared.flush(last);
      });
      shared.unlock_all();
    } else {
      rank.barrier();
      if (rank.rank() == last) {
        shared.post(std::span(&first, 1));
        shared.wait();
      }
    }
    rank.barrier();
    if (rank.rank() == last) {
      EXPECT_EQ(std::vector<std::uint64_t>(shared.local().begin(), shared.local().end()),
                std::vector<std::uint64_t>(threads_of_program * count, 3 * operations * (operations + 1) / 2));
    }
    rank.barrier();
    rank.expect_wakes();
  });
}

// The owner takes accumulates over while threads of others carry them out.
TEST_P(serialized_windows, owner_takes_over_accumulates_of_threads) {
  constexpr std::uint64_t rounds = 2000;
  run([this](threaded_rank& rank) {
    auto shared = rank.allocate(1, options());
    rank.barrier();
    shared.lock_all();
    std::uint64_t own_increments = 0;
    program_threads owner;
    if (rank.rank() == 0) {
      owner.start([&] {
        const core::engine::entry inside(rank.team().lane(0).own_engine());  // no other thread carries out accumulates
        shared.take_over_accumulates();
        for (; own_increments < rounds; ++own_increments) {
          shared.local()[0] += 1;
          std::atomic_signal_fence(std::memory_order_seq_cst);  // one by one
        }
      });
    }
    threaded_rank::on_threads([&](std::size_t) {
      for (std::uint64_t round = 0; round < rounds; ++round) {
        shared.accumulate(accumulate_op::sum, 0, 0, 1);
        if (round % 100 == 0) shared.flush(0);
      }
    });
    EXPECT_EQ(owner.join(), no_failures(rank.rank() == 0 ? 1 : 0));
    shared.unlock_all();
    rank.barrier();
    if (rank.rank() == 0) {
      EXPECT_EQ(shared.local()[0], rounds * (1 + threads_of_program * static_cast<std::uint64_t>(rank.size())));
    }
    rank.barrier();
  });
}

// One thread exposes memory while another one accesses that of others.
TEST_P(serialized_windows, threads_expose_and_access) {
  constexpr std::uint64_t rounds = 200;
  run([this](threaded_rank& rank) {
    auto shared = rank.allocate(1, options());
    const rank_t next = rank.next(), before = rank.previous();
    program_threads program;
    program.start([&] {
      for (std::uint64_t round = 1; round <= rounds; ++round) {
        shared.post(std::span(&before, 1));
        shared.wait();
        ASSERT_EQ(shared.local()[0], round);
      }
    });
    program.start([&] {
      for (std::uint64_t round = 1; round <= rounds; ++round) {
        shared.start(std::span(&next, 1));
        shared.put(next, 0, round);
        shared.complete();
      }
    });
    EXPECT_EQ(program.join(), no_failures(2));
    rank.barrier();
    rank.expect_wakes();
  });
}

TEST_P(serialized_windows, threads_have_windows_of_their_own) {
  constexpr std::uint64_t rounds = 50;
  run([this](threaded_rank& rank) {
    std::vector<window<std::uint64_t>> all;
    for (std::size_t i = 0; i < threads_of_program; ++i) all.push_back(rank.allocate(1, options()));
    threaded_rank::on_threads([&](std::size_t thread) {
      window<std::uint64_t>& own = all[thread];
      for (std::uint64_t round = 1; round <= rounds; ++round) {
        own.fence();
        own.put(rank.next(), 0, 100 * round + thread);
        own.fence();
        ASSERT_EQ(own.local()[0], 100 * round + thread);
      }
    });
    for (auto& each : all) each.fence(window_assert::no_succeed);
    while (!all.empty()) all.pop_back();
    rank.expect_wakes();
  });
}

// Windows are made and end while another thread waits in one.
TEST_P(serialized_windows, threads_make_windows_while_others_wait) {
  run([this](threaded_rank& rank) {
    auto first = rank.allocate(1, options());
    const rank_t next = rank.next(), before = rank.previous();
    program_threads program;
    program.start([&] {
      first.post(std::span(&before, 1));
      first.wait();
    });
    for (std::uint64_t round = 1; round <= 20; ++round) {
      auto second = rank.allocate(1, options());
      second.fence(window_assert::no_precede);
      second.put(next, 0, round);
      second.fence(window_assert::no_succeed);
      EXPECT_EQ(second.local()[0], round);
    }
    first.start(std::span(&next, 1));
    first.complete();
    EXPECT_EQ(program.join(), no_failures(1));
    rank.barrier();
  });
}

// A thread that only makes progress serves origins and targets while the program computes.
TEST_P(serialized_windows, one_thread_helps_others) {
  run([this](threaded_rank& rank) {
    auto shared = rank.allocate(2, options());
    rank.barrier();
    std::atomic<bool> computes = true;
    program_threads helper;
    helper.start([&] {
      while (computes) rank.help();
    });
    if (rank.rank() == 0) {
      const rank_t last = rank.size() - 1;
      shared.lock(lock_kind::exclusive, last);
      shared.put(last, 1, 5);
      shared.flush(last);  // that rank is in the loop below
      shared.accumulate(accumulate_op::replace, last, 0, 7);
      shared.unlock(last);
      shared.lock(lock_kind::shared, 0);
      shared.unlock(0);
    } else if (rank.rank() == rank.size() - 1) {
      const std::atomic_ref<std::uint64_t> word(shared.local()[0]);
      while (word != 7) std::this_thread::yield();
    }
    computes = false;
    EXPECT_EQ(helper.join(), no_failures(1));
    rank.barrier();
  });
}

TEST_P(serialized_windows, threads_learn_of_errors_in_dynamic_windows) {
  run([this](threaded_rank& rank) {
    window_options dynamic = options();
    dynamic_window shared(rank.team(), dynamic);
    std::vector<std::uint64_t> memory(threads_of_program);
    shared.attach(std::span(memory));
    auto words_of = shared.as<std::uint64_t>();
    std::vector<std::uint64_t> addresses(static_cast<std::size_t>(rank.size()));
    {
      auto words = rank.allocate(static_cast<std::size_t>(rank.size()));
      words.fence(window_assert::no_precede);
      for (rank_t each = 0; each < rank.size(); ++each)
        words.put(each, static_cast<std::size_t>(rank.rank()), reinterpret_cast<std::uintptr_t>(memory.data()));
      words.fence(window_assert::no_succeed);
      std::ranges::copy(words.local(), addresses.begin());
    }
    const std::uint64_t there = addresses[static_cast<std::size_t>(rank.next())];
    std::atomic<int> errors = 0;
    shared.lock_all();
    threaded_rank::on_threads([&](std::size_t thread) {
      for (std::uint64_t round = 1; round <= 50; ++round) {
        try {
          // Address 8 is not attached. Which thread's flush finds that is open, except on this rank.
          words_of.put(rank.next(), thread == 0 ? 8 : there + 8 * thread, round);
          shared.flush(rank.next());
        } catch (const error&) {
          ++errors;
        }
      }
    });
    shared.unlock_all();
    EXPECT_GE(errors, 1);
    rank.barrier();
    for (std::size_t thread = 1; thread < threads_of_program; ++thread) EXPECT_EQ(memory[thread], 50u);
    rank.barrier();
    shared.detach(memory.data());
  });
}

}  // namespace
}  // namespace amity
