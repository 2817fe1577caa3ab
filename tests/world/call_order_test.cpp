/// Ranks that call other collectives, or begin other epochs, than the rest: an error on every fabric, and none where
/// the order is the same.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <tuple>
#include <vector>

#include "amity/base/random.hpp"
#include "tests/support/cases.hpp"
#include "tests/support/programs.hpp"
#include "tests/support/texts.hpp"
#include "tests/support/worlds.hpp"

namespace amity {
namespace {

using testing::expect_parts;

constexpr int flood = 1000;

using numbers = message_type<int, void (*)(int)>;

/// What one rank does while the others do something else. Before that, all have done the same for a while.
struct mistake {
  std::string name;
  std::function<void(world&, numbers&)> odd;
  std::function<void(world&, numbers&)> others;
  std::vector<std::string> parts;  ///< of the error, on any rank
};

void poll_for_a_while(world& w) {
  for (const std::uint64_t until_ns = w.now_ns() + 50'000; w.now_ns() < until_ns;) w.poll();
}

void call_barrier(world& w, numbers&) { w.barrier(); }
void call_sum(world& w, numbers&) { w.sum(std::uint64_t{1}); }
void end_program(world& w, numbers&) { w.endpoint().reduce(core::reduction::ending, 0); }
void run_epoch(world& w, numbers&) {
  w.epoch([] {});
}
void flood_others(world& w, numbers& number) {
  w.epoch([&] {
    for (int i = 0; i < flood; ++i) {
      for (rank_t to = 0; to < w.size(); ++to) {
        if (to != w.rank()) number.send(to, i);
      }
    }
  });
}
void try_epoch(world& w, numbers&) {
  auto period = w.begin_epoch();
  while (!period.try_end()) {
  }
}
void call_barrier_inside(world& w, numbers&) {
  w.epoch([&] { w.barrier(); });
}
void end_epoch_late(world& w, numbers&) {
  w.epoch([&] { poll_for_a_while(w); });
}
void call_barrier_first(world& w, numbers& number) {
  w.barrier();
  run_epoch(w, number);
}
void call_barrier_last(world& w, numbers& number) {
  run_epoch(w, number);
  w.barrier();
}
void request_depth(world& w, numbers&) { const auto depth = w.request_depth(1); }

std::vector<mistake> mistakes() {
  return {
      {"end_of_program", end_program, run_epoch, {"the barrier at the end of its program", "epoch 3"}},
      {"epoch_before_the_others_end", run_epoch, end_program, {"the barrier at the end of its program", "epoch 3"}},
      {"barrier_against_epoch", call_barrier, run_epoch, {"a barrier", "epoch 3"}},
      {"epoch_against_barrier", run_epoch, call_barrier, {"a barrier", "epoch 3"}},
      {"sum_against_epoch", call_sum, run_epoch, {"a sum of uint64", "epoch 3"}},
      {"epoch_against_sum", run_epoch, call_sum, {"a sum of uint64", "epoch 3"}},
      {"depth_against_epoch", request_depth, run_epoch, {"a max of uint64", "epoch 3"}},
      {"many_messages_against_barrier", flood_others, call_barrier, {"a barrier", "epoch 3"}},
      {"barrier_against_many_messages", call_barrier, flood_others, {"a barrier", "epoch 3"}},
      {"barrier_against_try_end", call_barrier, try_epoch, {"a barrier", "epoch 3"}},
      {"try_end_against_barrier", try_epoch, call_barrier, {"a barrier", "epoch 3"}},
      {"barrier_inside_one", call_barrier_inside, run_epoch, {"a barrier inside epoch 3", "the end of epoch 3"}},
      {"barrier_inside_one_before_the_others_end",
       call_barrier_inside,
       end_epoch_late,
       {"a barrier inside epoch 3", "the end of epoch 3"}},
      {"barrier_inside_all_but_one",
       run_epoch,
       call_barrier_inside,
       {"a barrier inside epoch 3", "the end of epoch 3"}},
      {"barrier_inside_against_barrier", call_barrier_inside, call_barrier, {"in a barrier", "in epoch 3"}},
      {"barrier_against_barrier_inside", call_barrier, call_barrier_inside, {"in a barrier", "in epoch 3"}},
      {"barrier_before_epoch", call_barrier_first, call_barrier_last, {"a barrier", "epoch 3"}},
      {"barrier_after_epoch", call_barrier_last, call_barrier_first, {"a barrier", "epoch 3"}},
  };
}

/// Makes equal calls on all ranks, so that the numbers do not start at 0.
void call_in_order(world& w, numbers& number) {
  w.barrier();
  w.epoch([&] {
    number.send(testing::next_of(w), 1);
    w.barrier();
  });
  w.epoch([&] { number.send(testing::next_of(w), 1); });
}

/// Ranks that reach their next call after the packets of the others have arrived.
enum class late { none, odd, others };

/// Throws what the mistake leads to on this rank.
void make(const mistake& what, world& w, rank_t odd, late who = late::none) {
  numbers number(w.team(), 64, [](int) {});
  call_in_order(w, number);
  const bool is_odd = w.rank() == odd;
  if (who == (is_odd ? late::odd : late::others)) poll_for_a_while(w);
  (is_odd ? what.odd : what.others)(w, number);
  // Ranks that could continue wait for the packets of the others.
  w.endpoint().wait_until("the end of the job", [] { return false; });
}

void expect_named(const mistake& what, rank_t odd, const std::string& text) {
  SCOPED_TRACE(what.name + ", odd rank " + std::to_string(odd));
  expect_parts(text, {"amity: collective (rank ", "same collectives in the same order on all ranks"});
  for (const std::string& part : what.parts) expect_parts(text, {part});
  const std::string name = "rank " + std::to_string(odd) + " ";
  EXPECT_NE(text.find(name + "is in "), text.find(name + "in ")) << text;
}

class call_order : public ::testing::TestWithParam<std::tuple<testing::job_kind, rank_t>> {
 protected:
  /// Each rank must hear of the mistake: the first that finds it ends the job.
  void expect_error_of(const mistake& what, rank_t odd, late who) const {
    const auto& [kind, ranks] = GetParam();
    kind.run(ranks, {}, [&](fabric::fabric& own) {
      std::string text;
      try {
        world w(own, {});
        make(what, w, odd, who);
      } catch (const error& found) {
        text = found.what();
        own.abort();
      } catch (const job_aborted&) {
        return;
      }
      expect_named(what, odd, text);
    });
  }
};
bool is_simulated(const testing::job_kind& kind) { return kind.name.ends_with("sim"); }

/// Simulations with each number of ranks, and other jobs with one; in whole matrices all jobs with each number.
std::vector<std::tuple<testing::job_kind, rank_t>> ordered_jobs() {
  std::vector<std::tuple<testing::job_kind, rank_t>> jobs;
  for (const testing::job_kind& kind : testing::every_job_kind()) {
    for (const rank_t ranks : {2, 3, 4, 7}) {
      if (ranks == 3 || is_simulated(kind) || testing::whole_matrices()) jobs.emplace_back(kind, ranks);
    }
  }
  return jobs;
}
INSTANTIATE_TEST_SUITE_P(world, call_order, ::testing::ValuesIn(ordered_jobs()), testing::job_name);

/// Each rank of a simulation; the first and the last rank of another job, which takes long: both in whole matrices,
/// otherwise one of them, in turn.
std::vector<rank_t> odd_ranks(const testing::job_kind& kind, rank_t ranks, std::size_t mistake_number) {
  if (is_simulated(kind)) {
    std::vector<rank_t> all(static_cast<std::size_t>(ranks));
    std::iota(all.begin(), all.end(), 0);
    return all;
  }
  if (testing::whole_matrices()) return {0, ranks - 1};
  return {mistake_number % 2 == 0 ? 0 : ranks - 1};
}

TEST_P(call_order, differs_on_one_rank) {
  const rank_t ranks = std::get<rank_t>(GetParam());
  // A job of MPI that has been aborted may still have packets under way: the next one is another program's.
  if (std::get<testing::job_kind>(GetParam()).name == "mpi") {
    return expect_error_of(mistakes().front(), 1, late::none);
  }
  const std::vector<mistake> all = mistakes();
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (const rank_t odd : odd_ranks(std::get<testing::job_kind>(GetParam()), ranks, i)) {
      for (const late who : {late::none, late::odd, late::others}) expect_error_of(all[i], odd, who);
    }
  }
}

class call_order_of_threads : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(world, call_order_of_threads, ::testing::Values("sim", "threads"),
                         [](const auto& of) { return of.param; });

TEST_P(call_order_of_threads, differs_on_one_rank) {
  for (const std::string progress : {"0", "1"}) {
    for (const auto& [ranks, threads] : {std::tuple{2, 2}, {3, 2}, {2, 3}, {4, 1}}) {
      for (const mistake& what : mistakes()) {
        // The trees of epochs and of collectives differ then.
        if ((threads == 3 || progress == "1") && what.name.find("inside") != std::string::npos) continue;
        for (rank_t odd = 0; odd < ranks; ++odd) {
          SCOPED_TRACE(what.name + ", " + std::to_string(ranks) + "x" + std::to_string(threads) + "+" + progress);
          const auto config = testing::shape(GetParam(), ranks, threads, {"AMITY_PROGRESS_THREAD=" + progress});
          const auto ended = testing::outcome_of(config, [&](world& w) { make(what, w, odd); });
          EXPECT_EQ(ended.status, 1);
          expect_named(what, odd, ended.errors);
        }
      }
    }
  }
}

/// Calls that one seed chooses, the same on all ranks.
void call_at_random(world& w, splitmix64 choices) {
  std::uint64_t handled = 0;
  auto relay = w.message<int>([&](int hops, auto& self) {
    ++handled;
    if (hops > 0) self.send((w.rank() * 3 + hops) % w.size(), hops - 1);
  });
  const auto half = w.split({.color = w.rank() % 2});
  for (int round = 0; round < 6; ++round) {
    world& in = choices.below(4) == 0 ? *half : w;
    switch (choices.below(6)) {
      case 0:
        in.barrier();
        break;
      case 1:
        w.epoch([&] { relay.send(testing::next_of(w), 3); });
        w.barrier();
        break;
      case 2:
        w.epoch([&] {
          relay.send(testing::next_of(w), 2);
          w.barrier();
          half->barrier();
        });
        break;
      case 3: {
        // Some find the end earlier than others, and are in the same collectives outside of the epoch.
        auto period = w.begin_epoch();
        relay.send(testing::next_of(w), 4);
        bool ended = false;
        int rounds = 0;
        // With one credit, collectives may hold up messages as long as ranks call them.
        do {
          if (!ended) ended = period.try_end();
        } while (++rounds < 100 && w.min(std::uint64_t{ended}) == 0);
        if (!ended) period.end();
        break;
      }
      case 4: {
        const auto depth = in.request_depth(2);
        in.epoch([] {});
        break;
      }
      default: {
        auto period = in.begin_epoch();
        in.sum(std::uint64_t{1});
        if (in.rank() % 2 == 0) {
          period.end();
        } else {
          while (!period.try_end()) {
          }
        }
        break;
      }
    }
  }
}

// A rank that waits for the end of an epoch while others are in the barrier after it, with every delay and order of
// packets.
TEST(call_orders, equal_ones_pass_on_random_schedules) {
  const std::uint64_t schedules = testing::fewer_cases(1000);
  std::uint64_t overtaken = 0;
  for (std::uint64_t seed = 1; seed <= schedules; ++seed) {
    splitmix64 choices(seed);
    const auto ranks = static_cast<rank_t>(2 + choices.below(7));
    fabric::sim::sim_options network{.seed = seed};
    network.delay_ns_max = choices.below(20'000);
    network.reorder_percent = static_cast<std::uint32_t>(choices.below(60));
    network.credits = static_cast<std::uint32_t>(1 + choices.below(4));
    network.slow_ranks = {
        {.rank = static_cast<rank_t>(choices.below(static_cast<std::uint64_t>(ranks))), .factor = 20}};
    const std::string detector = choices.below(2) == 0 ? "colored" : "four_counter";
    const settings config = testing::configured({{"AMITY_EPOCH_DETECTOR", detector}});
    const std::uint64_t calls = choices();
    std::vector<std::uint64_t> left(static_cast<std::size_t>(ranks), 0);
    ASSERT_EQ(testing::failure_of([&] {
                testing::run_worlds(
                    testing::simulated("sim", network), ranks,
                    [&](world& w) {
                      for (int round = 0; round < 3; ++round) {
                        w.epoch([] {});
                        ++left[static_cast<std::size_t>(w.rank())];
                        for (const std::uint64_t others : left)
                          overtaken += others < left[static_cast<std::size_t>(w.rank())];
                        w.barrier();
                      }
                      call_at_random(w, splitmix64(calls));
                    },
                    config);
              }),
              "")
        << "seed " << seed;
  }
  EXPECT_GT(overtaken, schedules);  // ranks that were in the barrier before others had left the epoch
}

}  // namespace
}  // namespace amity
