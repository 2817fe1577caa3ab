/// Faults of the simulated fabric that have names, and what handlers cost there.

#include <gtest/gtest.h>

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "amity/base/error.hpp"
#include "amity/fabric/sim/sim.hpp"
#include "amity/fabric/waiter.hpp"
#include "mailbox.hpp"
#include "sim_ranks.hpp"

namespace amity::fabric::sim {
namespace {

using testing::forever;

constexpr std::uint64_t L = 10'000, o = 100;

TEST(sim_kill, a_rank_that_is_killed_is_missed_and_named) {
  sim_options options = priced();
  options.seed = 5;
  options.killed_ranks = {{.rank = 1, .at_ns = 5000, .notice_ns = 70'000}};
  int unwound = 0;
  std::uint64_t missed_ns = 0;
  const std::string text = error_of([&] {
    run_all(3, options, [&](fabric& own) {
      struct counter {
        int& count;
        ~counter() { ++count; }
      } const on_stack{unwound};
      try {
        wait(own, forever);
      } catch (const error&) {
        missed_ns = own.now_ns();
        throw;
      }
      ADD_FAILURE() << "nobody has anything to wait for";
    });
  });
  EXPECT_TRUE(contains(text, "rank 1 has vanished")) << text;
  EXPECT_TRUE(contains(text, "with seed 5")) << text;
  EXPECT_EQ(missed_ns, 75'000u);
  EXPECT_EQ(unwound, 3);
}

TEST(sim_kill, the_dead_neither_send_nor_handle) {
  sim_options options = priced();
  options.killed_ranks = {{.rank = 1, .at_ns = 5000, .notice_ns = 1'000'000}};
  int arrived = 0;
  error_of([&] {
    run(2, options, [&](fabric& own) {
      testing::mailbox mail(own, [&](const packet&) {
        EXPECT_EQ(own.rank(), 0);
        ++arrived;
        return disposition::release;
      });
      if (own.rank() == 0) {
        send(own, 1, 0);
        mail.until([] { return false; });
      }
      while (own.now_ns() < 8000) send(own, 0, 0);
      own.poll(mail, 1);
      ADD_FAILURE() << "it is dead";
      return 7;
    });
  });
  EXPECT_EQ(arrived, 50) << "what began to leave before";
}

TEST(sim_kill, is_the_error_of_a_job_whose_other_ranks_have_ended) {
  sim_options options = priced();
  options.killed_ranks = {{.rank = 1, .at_ns = 5000}};
  for (const int status : {0, 3}) {
    const auto end_without_it = [&] {
      return run(2, options, [&](fabric& own) {
        if (own.rank() == 1) wait(own, forever);
        return status;
      });
    };
    if (status == 0) {
      const std::string text = error_of([&] { end_without_it(); });
      EXPECT_TRUE(contains(text, "rank 1 has vanished")) << text;
    } else {
      EXPECT_EQ(end_without_it().status, status);
    }
  }
}

TEST(sim_kill, is_one_for_a_rank_that_sends_until_it_ends) {
  sim_options options = priced();
  options.killed_ranks = {{.rank = 1, .at_ns = 5000}};
  options.report = ::testing::TempDir() + "amity_sim_dead_end.csv";
  for (const int status : {0, 9}) {
    const std::string text = error_of([&] {
      run(2, options, [&](fabric& own) {
        testing::mailbox mail(own, testing::done_with);
        if (own.rank() == 0) mail.until([] { return false; });
        while (own.now_ns() < 6000) send(own, 0, 0);
        return status;
      });
    });
    EXPECT_TRUE(contains(text, "rank 1 has vanished")) << text;
    const std::string report = take(options.report);
    EXPECT_TRUE(contains(report, "\n1,0,5000,0,5000,0,0,50,")) << report;
  }
}

TEST(sim_kill, wakes_the_dead_for_nothing_that_comes_for_them) {
  sim_options options = priced();
  options.killed_ranks = {{.rank = 1, .at_ns = 5000, .notice_ns = 1'000'000}};
  options.report = ::testing::TempDir() + "amity_sim_dead.csv";
  bool unwound = false, alive_at_the_end = true;
  error_of([&] {
    run_all(2, options, [&](fabric& own) {
      testing::mailbox mail(own, testing::done_with);
      if (own.rank() == 1) {
        struct leaving {
          bool& seen;
          ~leaving() { seen = true; }
        } const on_stack{unwound};
        mail.until([] { return false; });
      }
      while (own.now_ns() < 100'000) {
        send(own, 1, 0);
        wait(own, 1000);
      }
      alive_at_the_end = !unwound;
    });
  });
  EXPECT_TRUE(alive_at_the_end) << "operations may refer to its stack";
  EXPECT_TRUE(unwound);
  const std::string report = take(options.report);
  EXPECT_TRUE(contains(report, "\n1,0,5000,")) << report;
}

TEST(sim_kill, the_dead_put_nothing) {
  sim_options options = priced();
  options.killed_ranks = {{.rank = 1, .at_ns = 5000, .notice_ns = 1'000'000}};
  segment_key key;
  std::uint64_t begun = 0, arrived = 0;
  error_of([&] {
    run_all(2, options, [&](fabric& own) {
      segment mine;
      if (own.rank() == 0) {
        mine = own.remote()->create(8 * 200);
        key = mine.key;
      }
      testing::mailbox mail(own, testing::done_with);
      if (own.rank() == 1) {
        wait(own, 1000);
        const remote_handle there = own.remote()->open(0, key);
        const std::uint64_t one = 1;
        for (std::size_t i = 0; i < 200 && own.now_ns() < 8000; ++i, ++begun) {
          EXPECT_EQ(own.remote()->put(there, 8 * i, std::as_bytes(std::span(&one, 1)), {}), stage::source_free);
        }
        wait(own, forever);
      }
      while (own.now_ns() < 200'000) {
        own.poll(mail, 1);
        wait(own, 1000);
      }
      const auto* const words = reinterpret_cast<const std::uint64_t*>(mine.data);
      for (std::size_t i = 0; i < 200; ++i) arrived += words[i];
    });
  });
  EXPECT_EQ(begun, 70u);
  EXPECT_EQ(arrived, 40u) << "what began to leave before";
}

TEST(sim_stop, peers_look_up_and_see_who_is_stopped) {
  sim_options options = priced();
  options.stopped_ranks = {{.rank = 1, .from_ns = 50, .until_ns = 3'000'000'000}};
  const auto ended = run_all(2, options, [](fabric& own) {
    testing::mailbox mail(own, testing::done_with);
    if (own.rank() == 1) {
      wait(own, 100);
      send(own, 0, 0);
    } else {
      wait(own, forever);
      EXPECT_EQ(own.now_ns(), 1'000'000'000u);
      EXPECT_EQ(own.trouble(), "rank 1 is stopped from 50 ns until 3000000000 ns");
      while (own.poll(mail, 1) == 0) wait(own, forever);
      EXPECT_EQ(own.trouble(), "");
    }
  });
  EXPECT_EQ(ended.ranks.at(1).stopped_ns, 3'000'000'000u - 50);
}

TEST(sim_order, without_it_packets_that_are_delayed_overtake) {
  sim_options options = priced();
  options.delay_ns_max = 5000;
  options.ordered = false;
  run_all(2, options, [](fabric& own) {
    EXPECT_FALSE(own.caps().ordered);
    std::vector<std::uint64_t> seen;
    testing::mailbox mail(own, [&](const packet& p) {
      seen.push_back(p.header);
      return disposition::release;
    });
    if (own.rank() == 0) {
      for (std::uint64_t i = 0; i < 50; ++i) send(own, 1, i);
    } else {
      mail.until([&] { return seen.size() == 50; });
      EXPECT_FALSE(std::ranges::is_sorted(seen));
    }
  });
  EXPECT_TRUE(describe({.ordered = false}).ordered) << "where nothing is delayed";
}

TEST(sim_back_pressure, credits_come_back_late) {
  const auto end_of = [](std::uint32_t percent) {
    sim_options options = priced();
    options.credits = 4 + reserve_per_peer;
    options.back_pressure_percent = percent;
    return run_all(2, options,
                   [](fabric& own) {
                     testing::mailbox mail(own, testing::done_with);
                     if (own.rank() == 0) {
                       for (std::uint64_t i = 0; i < 100; ++i) mail.send(1, i);
                     } else {
                       mail.until([&] { return mail.arrived() == 100; });
                     }
                   })
        .end_ns;
  };
  EXPECT_GT(end_of(50), end_of(0) * 11 / 10);
  EXPECT_GT(end_of(100), end_of(50));
}

TEST(sim_handlers, take_the_time_that_is_modelled) {
  sim_options options = priced();
  options.handler = {.ns = 1000, .byte_ps = 500};
  options.slow_ranks = {{.rank = 1, .factor = 2}};
  const auto ended = run_all(2, options, [](fabric& own) {
    testing::mailbox mail(own, testing::done_with);
    if (own.rank() == 0) {
      send(own, 1, 0, 200);
    } else {
      mail.until([&] { return mail.arrived() == 1; });
      EXPECT_EQ(own.now_ns(), o + L + 2 * (o + 1000 + 100));
    }
  });
  EXPECT_EQ(ended.ranks.at(1).busy_ns, 2200u);
}

sim_options from(const std::string& faults, const std::string& seed = "1") {
  settings config;
  config.set("AMITY_RANKS", "100");
  config.set("AMITY_SIM_SEED", seed);
  config.set("AMITY_SIM_FAULTS", faults);
  return sim_options::from(config);
}

TEST(sim_fault_names, give_the_faults_of_ranks) {
  const sim_options options =
      from("slow:rank=3,factor=10; stop:rank=2,at=1ms,for=5us;kill:rank=4,at=2s,notice=3ms;kill:rank=5,at=7ns");
  EXPECT_EQ(options.slow_ranks.at(0).rank, 3);
  EXPECT_EQ(options.slow_ranks.at(0).factor, 10u);
  EXPECT_EQ(options.stopped_ranks.at(0).rank, 2);
  EXPECT_EQ(options.stopped_ranks.at(0).from_ns, 1'000'000u);
  EXPECT_EQ(options.stopped_ranks.at(0).until_ns, 1'005'000u);
  EXPECT_EQ(options.killed_ranks.at(0).rank, 4);
  EXPECT_EQ(options.killed_ranks.at(0).at_ns, 2'000'000'000u);
  EXPECT_EQ(options.killed_ranks.at(0).notice_ns, 3'000'000u);
  EXPECT_EQ(options.killed_ranks.at(1).notice_ns, killed_rank{}.notice_ns);

  const sim_options lanes = options.for_lanes(2);
  ASSERT_EQ(lanes.slow_ranks.size(), 2u);
  EXPECT_EQ(lanes.slow_ranks[0].rank, 6);
  EXPECT_EQ(lanes.slow_ranks[1].rank, 7);
  EXPECT_EQ(lanes.node_ranks, 2u);
}

TEST(sim_fault_names, leave_the_rank_to_the_seed) {
  const auto rank = [](const std::string& seed) { return from("kill:rank=any,at=0ns", seed).killed_ranks.at(0).rank; };
  EXPECT_EQ(rank("1"), rank("1"));
  EXPECT_TRUE(rank("1") != rank("2") || rank("2") != rank("3"));
}

TEST(sim_fault_names, that_are_wrong_are_errors_that_show_them) {
  const auto problem = [](const std::string& faults) { return error_of([&] { from(faults); }); };
  EXPECT_TRUE(contains(problem("slow"), "'slow' does not say which rank"));
  EXPECT_TRUE(contains(problem("slow:rank=100,factor=2"), "has rank=100, and there are 100 ranks"));
  EXPECT_TRUE(contains(problem("slow:rank=1"), "lacks factor="));
  EXPECT_TRUE(contains(problem("slow:rank=1,factor=0"), "'slow:rank=1,factor=0' has factor=0, and it is at least 1"));
  EXPECT_TRUE(contains(problem("slow:rank=1,factor=1000001"), "has factor=1000001, and it is at most 1000000"));
  EXPECT_TRUE(contains(problem("slow:rank=1,factor=2,when=3"), "has when, which nobody asked for"));
  EXPECT_TRUE(contains(problem("stop:rank=1,at=soon,for=1ms"), "has at=soon, which is no time"));
  EXPECT_TRUE(contains(problem("maim:rank=1"), "'maim:rank=1' is no fault of a rank"));
  EXPECT_TRUE(contains(problem("slow:3"), "has '3' where NAME=VALUE belongs"));
}

}  // namespace
}  // namespace amity::fabric::sim
