/// Windows of ranks that have progress threads: what the other suites do not show, because their ranks make calls.

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <new>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "amity/base/types.hpp"
#include "amity/window/dynamic_window.hpp"
#include "tests/window/paths.hpp"

namespace amity {
namespace {

using enum accumulate_op;
using testing::compute_until;
using testing::window_job;

class progress_threads : public testing::on_paths {};

/// A flag that all ranks of a job see without a call of Amity: make it before the job, whose processes are forked.
class shared_flag : private immovable {
 public:
  shared_flag()
      : memory_(::mmap(nullptr, sizeof *flag_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)),
        flag_(memory_ == MAP_FAILED ? nullptr : new (memory_) std::atomic<bool>(false)) {
    if (flag_ == nullptr) throw std::runtime_error("cannot map a page");
  }
  ~shared_flag() { ::munmap(memory_, sizeof *flag_); }

  void set() const noexcept { *flag_ = true; }
  void wait() const noexcept {
    while (!*flag_) std::this_thread::yield();
  }

 private:
  void* memory_;
  std::atomic<bool>* flag_;
};

// Without `sim`, where a program that computes lets no virtual time pass, and without checked windows, which a progress
// thread does not serve.
std::vector<window_job> jobs() {
  std::vector<window_job> all = testing::helped_jobs({2, 3}, {2});
  std::erase_if(all, [](const window_job& job) { return job.kind.name == "sim" || job.protocol == "checked"; });
  return all;
}
INSTANTIATE_TEST_SUITE_P(window, progress_threads, ::testing::ValuesIn(jobs()), testing::name_of_job);

TEST_P(progress_threads, serve_passive_targets_that_compute) {
  const shared_flag has_left_barrier;
  run([&](world& w) {
    auto shared = w.allocate_window<std::uint64_t>(4);
    auto sums = w.allocate_window<long double>(1);  // the owner carries all accumulates out
    w.barrier();
    if (w.rank() == w.size() - 1) {
      has_left_barrier.set();
      compute_until(shared.local()[0], static_cast<std::uint64_t>(w.size() - 1));
    } else {
      const rank_t computes = w.size() - 1;
      has_left_barrier.wait();
      std::uint64_t before = 0;
      shared.lock(lock_kind::exclusive, computes);
      shared.fetch_and_op(sum, computes, 1, 10, before);
      shared.put(computes, 2, 7);
      shared.flush(computes);
      EXPECT_EQ(before % 10, 0u);
      shared.unlock(computes);
      sums.lock(lock_kind::shared, computes);
      sums.accumulate(sum, computes, 0, 1.5L);
      sums.unlock(computes);
      shared.lock(lock_kind::shared, computes);
      shared.accumulate(sum, computes, 0, 1);
      shared.unlock(computes);
    }
    w.barrier();
    if (w.rank() == w.size() - 1) {
      EXPECT_EQ(shared.local()[1], 10u * static_cast<std::uint64_t>(w.size() - 1));
      EXPECT_EQ(shared.local()[2], 7u);
      EXPECT_EQ(sums.local()[0], 1.5L * (w.size() - 1));
    }
  });
}

TEST_P(progress_threads, serve_exposure_epochs_that_compute) {
  run([](world& w) {
    auto shared = w.allocate_window<std::uint64_t>(64);
    const std::array<rank_t, 1> next{testing::next_of(w)}, previous{testing::previous_of(w)};
    std::vector<std::uint64_t> numbers;
    for (std::uint64_t round = 1; round <= 5; ++round) {
      numbers.assign(63, round);
      shared.post(previous);
      shared.start(next);
      shared.put(next[0], 0, std::span<const std::uint64_t>(numbers));
      shared.accumulate(replace, next[0], 63, round);
      shared.complete();
      compute_until(shared.local()[63], round);
      shared.wait();
      EXPECT_EQ(shared.local()[0], round);
      w.barrier();
    }
  });
}

// Handlers on the progress thread use elements by loads and stores.
TEST_P(progress_threads, own_accumulates_wait_for_handlers) {
  run([](world& w) {
    const rank_t own = w.rank();
    auto shared = w.allocate_window<std::uint64_t>(1);
    std::atomic<bool> in_handler = false, has_accumulated = false;
    auto look = w.message<int>([&](const int&) {
      const std::atomic_ref element(shared.local()[0]);
      const std::uint64_t before = element.load();
      in_handler = true;
      while (!has_accumulated) std::this_thread::yield();
      EXPECT_EQ(element.load(), before);
    });
    shared.take_over_accumulates();
    const std::uint64_t operand = 4;
    std::uint64_t first = 0, second = 0;
    w.epoch([&] {
      look.send(own, 0);
      while (!in_handler) w.poll();
      shared.lock(lock_kind::shared, own);
      shared.fetch_and_op(sum, own, 0, 3, first);
      shared.get_accumulate(sum, own, 0, std::span(&operand, 1), std::span(&second, 1));
      has_accumulated = true;
      shared.unlock(own);
    });
    EXPECT_EQ(first, 0u);
    EXPECT_EQ(second, 3u);
    EXPECT_EQ(shared.local()[0], 7u);
    w.barrier();
  });
}

TEST_P(progress_threads, serve_attached_memory) {
  run([](world& w) {
    auto dynamic = w.create_dynamic_window();
    std::vector<std::uint64_t> memory(8);
    auto addresses = testing::exchange_words(w, dynamic_window::address_of(memory.data()));
    for (std::uint64_t round = 1; round <= 5; ++round) {
      dynamic.attach(std::span(memory));
      w.barrier();
      const rank_t next = testing::next_of(w);
      dynamic.lock(lock_kind::exclusive, next);
      dynamic.as<std::uint64_t>().accumulate(replace, next, addresses[static_cast<std::size_t>(next)], round);
      dynamic.unlock(next);
      compute_until(memory[0], round);
      w.barrier();
      dynamic.detach(memory.data());
    }
  });
}

// Windows of a sub-world whose ranks have two program threads. Thread 1 stays in its part of an epoch until thread 0
// has attached memory.
TEST(progress_thread_worlds, parts_and_several_threads) {
  const settings config =
      testing::shape("threads", 4, 2, {"AMITY_PROGRESS_THREAD=1", "AMITY_WINDOW_PROTOCOL=buffered"});
  testing::run_job(config, [](world& w) {
    const auto part = w.split({.color = w.rank() % 2});
    const rank_t next = testing::next_of(*part);
    auto shared = part->allocate_window<std::uint64_t>(1);
    auto dynamic = part->create_dynamic_window();
    std::vector<std::uint64_t> memory(8);
    std::atomic<bool> attached = false;
    w.epoch([&](thread& own) {
      if (own.thread_index() == 0) {
        dynamic.attach(std::span(memory));
        attached = true;
      } else {
        while (!attached) std::this_thread::sleep_for(std::chrono::microseconds(10));
      }
    });
    const auto addresses = testing::exchange_words(*part, dynamic_window::address_of(memory.data()));
    dynamic.lock(lock_kind::shared, next);
    dynamic.as<std::uint64_t>().accumulate(sum, next, addresses[static_cast<std::size_t>(next)], 5);
    dynamic.unlock(next);
    shared.lock(lock_kind::exclusive, next);
    shared.accumulate(sum, next, 0, 3);
    shared.unlock(next);
    compute_until(shared.local()[0], 3);
    compute_until(memory[0], 5);
    part->barrier();
  });
}

// The progress thread has allocated the memory. It hears of the failure before the program does.
TEST(progress_thread_worlds, memory_stays_until_program_ends) {
  const auto [status, errors] =
      testing::outcome_of(testing::shape("threads", 2, 1, {"AMITY_PROGRESS_THREAD=1"}), [](world& w) {
        auto shared = w.allocate_window<std::uint64_t>(1 << 20);
        std::ranges::fill(shared.local(), std::uint64_t{7});
        w.barrier();
        if (w.rank() == 1) throw std::runtime_error("rank 1 gives up");
        std::this_thread::sleep_for(std::chrono::milliseconds(300));
        EXPECT_EQ(std::ranges::count(shared.local(), std::uint64_t{7}), 1 << 20);
        for (;;) w.poll();
      });
  EXPECT_NE(status, 0);
  EXPECT_NE(errors.find("rank 1 gives up"), std::string::npos) << errors;
}

// The thread that fails is the progress thread of the target, whose program computes.
TEST(progress_thread_worlds, failures_of_progress_threads_end_jobs) {
  for (const char* const fabric : {"threads", "sim"}) {
    const auto [status, errors] =
        testing::outcome_of(testing::shape(fabric, 2, 1, {"AMITY_PROGRESS_THREAD=1"}), [](world& w) {
          auto dynamic = w.create_dynamic_window();
          dynamic.lock_all();
          w.barrier();
          if (w.rank() == 0) {
            dynamic.as<std::uint64_t>().put(1, 4096, std::uint64_t{1});
            dynamic.flush(1);
          }
          for (;;) w.barrier();
        });
    EXPECT_NE(status, 0);
    EXPECT_NE(errors.find("0x1000"), std::string::npos) << errors;
  }
}

// Records of the next epoch reach a member that has not left the fence.
TEST(progress_thread_schedules, fences_that_follow_each_other) {
  for (const char* const seed : {"1", "2", "3", "4", "5", "6", "7", "8"}) {
    const settings config = testing::shape("sim", 4, 1,
                                           {"AMITY_PROGRESS_THREAD=1", "AMITY_WINDOW_PROTOCOL=buffered",
                                            std::string("AMITY_SIM_SEED=") + seed, "AMITY_SIM_DELAY_NS_MAX=20000"});
    testing::run_job(config, [](world& w) {
      auto shared = w.allocate_window<std::uint64_t>(4);
      shared.fence(window_assert::no_precede);
      for (std::uint64_t round = 1; round <= 20; ++round) {
        for (const rank_t each : testing::everyone(w)) shared.accumulate(sum, each, 0, 1);
        shared.fence();
        EXPECT_EQ(shared.local()[0], round * static_cast<std::uint64_t>(w.size()));
        shared.fence(window_assert::no_put);
      }
      shared.fence(window_assert::no_succeed);
    });
  }
}

// Ranks of two nodes: shared memory, the network, and a thread that serves both.
TEST(progress_thread_worlds, nodes_and_network) {
  if (!testing::network_is_tested) GTEST_SKIP() << "no libfabric here";
  testing::run_job(testing::shape("composite", 4, 1, {"AMITY_PROGRESS_THREAD=1"}), [](world& w) {
    auto shared = w.allocate_window<std::uint64_t>(8);
    auto sums = w.allocate_window<long double>(1);
    const auto own = static_cast<std::uint64_t>(w.rank());
    for (std::uint64_t round = 1; round <= 5; ++round) {
      shared.fence(window_assert::no_precede);
      for (const rank_t each : testing::everyone(w)) {
        shared.put(each, static_cast<std::size_t>(w.rank()), round + own);
        shared.accumulate(sum, each, 4, 1);
      }
      shared.fence(window_assert::no_succeed);
      for (std::uint64_t origin = 0; origin < 4; ++origin) EXPECT_EQ(shared.local()[origin], round + origin);
      EXPECT_EQ(shared.local()[4], 4 * round);
      w.barrier();
    }
    if (w.rank() == 3) {
      compute_until(shared.local()[7], 3);
    } else {
      shared.lock(lock_kind::exclusive, 3);
      sums.lock_all();
      sums.accumulate(sum, 3, 0, 0.5L);
      shared.accumulate(sum, 3, 7, 1);
      sums.unlock_all();
      shared.unlock(3);
    }
    w.barrier();
    if (w.rank() == 3) {
      EXPECT_EQ(sums.local()[0], 1.5L);
    }
    w.barrier();
  });
}

}  // namespace
}  // namespace amity
