/// What epochs and message types promise beyond the plain case, on ranks of several threads: declared depths,
/// priorities, counters, and the end that does not wait.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "amity/amity.hpp"
#include "tests/support/texts.hpp"

namespace amity {
namespace {

int run_job(const std::string& fabric, rank_t ranks, const std::vector<std::string>& more,
            const std::function<void(world&)>& body) {
  std::vector<std::string> config{"AMITY_FABRIC=" + fabric, "AMITY_RANKS=" + std::to_string(ranks),
                                  "AMITY_SHM_BUFFERS=2", "AMITY_SIM_CREDITS=2"};
  config.insert(config.end(), more.begin(), more.end());
  const char* const arguments[] = {"test", nullptr};
  return run(settings::from_list(config), 1, arguments, body);
}

/// The program on every shape of job.
void on_threads(const std::function<void(world&)>& body) {
  for (const std::string fabric : {"sim", "threads"}) {
    for (const rank_t ranks : {1, 2, 3}) {
      for (const char* const threads : {"AMITY_THREADS=2", "AMITY_THREADS=3"}) {
        SCOPED_TRACE(fabric + ", " + std::to_string(ranks) + " ranks, " + threads);
        EXPECT_EQ(run_job(fabric, ranks, {threads, "AMITY_PROGRESS_THREAD=1"}, body), 0);
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
      EXPECT_EQ(sum, 4u * 40 * static_cast<std::uint64_t>(w.size() * w.threads()));
    }
    EXPECT_EQ(w.sum(urgent.counters().handled), w.sum(urgent.counters().sent));
    EXPECT_GT(urgent.counters().packets, 0u);
    EXPECT_GT(urgent.counters().mean_fill(), 0);
    EXPECT_LE(urgent.counters().mean_fill(), 1);
  });
}

TEST(epochs_of_threads, end_in_one_call) {
  EXPECT_EQ(run_job("sim", 2, {"AMITY_THREADS=2"},
                    [](world& w) {
                      testing::expect_error([&] { auto period = w.begin_epoch(); },
                                            {"world::begin_epoch (rank ", "several threads", "use world::epoch"});
                      w.epoch([](thread&) {});
                    }),
            0);
}

}  // namespace
}  // namespace amity
