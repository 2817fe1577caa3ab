/// The simulated fabric beyond the contract: its determinism, how a job ends, its fibers and its settings.

#include "amity/fabric/sim/sim.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "amity/base/error.hpp"
#include "amity/base/random.hpp"
#include "amity/fabric/waiter.hpp"
#include "mailbox.hpp"
#include "sim_ranks.hpp"

namespace amity::fabric::sim {
namespace {

using amity::testing::expect_parts;
using testing::forever;

constexpr std::uint64_t L = 10'000;

sim_options priced() { return {.latency_ns = L}; }

int ends_well(fabric&) { return 0; }

// Every rank sends to random ranks and answers what it gets, for a fixed virtual time.
sim_result chatter(const sim_options& options, rank_t ranks = 16) {
  return run_all(ranks, options, [](fabric& own) {
    splitmix64 random(static_cast<std::uint64_t>(own.rank()));
    const auto any_rank = [&] { return static_cast<rank_t>(random.below(static_cast<std::uint64_t>(own.size()))); };
    std::array<std::byte, 64> payload{};
    testing::mailbox mail(own, [&](const packet& p) {
      if (p.header > 0)
        static_cast<void>(own.try_send(any_rank(), p.header - 1, {payload.data(), p.header % 64}, claim::ordinary));
      return disposition::release;
    });
    for (int i = 0; i < 20; ++i) static_cast<void>(own.try_send(any_rank(), random.below(50), {}, claim::ordinary));
    constexpr std::uint64_t end_ns = 200'000;
    while (own.now_ns() < end_ns) {
      if (own.poll(mail, 8) == 0) wait(own, end_ns - own.now_ns());
    }
  });
}

TEST(sim_determinism, the_same_seed_gives_the_same_trace) {
  for (const std::uint64_t seed : {1u, 2u, 3u}) {
    const sim_options options{.seed = seed, .delay_ns_max = 2000, .reorder_percent = 10, .credits = 8};
    const sim_result first = chatter(options);
    const sim_result second = chatter(options);
    EXPECT_GT(first.events, 1000u);
    EXPECT_EQ(first.trace_hash, second.trace_hash);
    EXPECT_EQ(first.end_ns, second.end_ns);
    EXPECT_EQ(first.events, second.events);
    EXPECT_EQ(first.switches, second.switches);
  }
}

TEST(sim_determinism, another_seed_or_another_cost_gives_another_trace) {
  std::set<std::uint64_t> hashes;
  std::uint64_t traces = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed, ++traces) {
    hashes.insert(chatter({.seed = seed, .delay_ns_max = 2000}).trace_hash);
  }
  for (std::uint64_t latency_ns = 1000; latency_ns <= 1010; ++latency_ns, ++traces) {
    hashes.insert(chatter({.latency_ns = latency_ns}).trace_hash);
  }
  EXPECT_EQ(hashes.size(), traces);
}

TEST(sim_end, the_first_status_other_than_0_counts_and_ends_the_job) {
  const auto result = run(4, priced(), [](fabric& own) {
    switch (own.rank()) {
      case 0:
        wait(own, 1000);
        return 0;
      case 1:
        wait(own, 4000);
        return 11;
      case 2:
        wait(own, 3000);
        return 12;
      default:
        EXPECT_THROW(wait(own, forever), job_aborted);
        return 13;
    }
  });
  EXPECT_EQ(result.status, 12) << "rank 0 was sooner, and well";
  EXPECT_EQ(result.end_ns, 3000 + L);
  EXPECT_EQ(run(4, {}, ends_well).status, 0);
}

TEST(sim_end, an_exception_unwinds_every_rank_and_reaches_the_caller) {
  int unwound = 0;
  const auto job = [&](fabric& own) {
    struct counter {
      int& count;
      ~counter() { ++count; }
    } const on_stack{unwound};
    testing::mailbox mail(own);
    if (own.rank() == 2) {
      wait(own, 5000);
      throw std::invalid_argument("rank 2 cannot go on");
    }
    if (own.rank() == 3) {
      wait(own, 5001);
      throw std::logic_error("this is later");
    }
    mail.until([] { return false; });
    return 0;
  };
  try {
    run(8, {}, job);
    FAIL() << "no exception";
  } catch (const std::invalid_argument& e) {
    EXPECT_STREQ(e.what(), "rank 2 cannot go on");
  }
  EXPECT_EQ(unwound, 8);
}

TEST(sim_end, an_abort_reaches_the_others_after_L) {
  EXPECT_THROW(run_all(3, priced(),
                       [](fabric& own) {
                         if (own.rank() == 0) {
                           wait(own, 500);
                           own.abort();
                           EXPECT_THROW(wait(own, forever), job_aborted);
                           EXPECT_EQ(own.now_ns(), 500u);
                           return;
                         }
                         wait(own, 600);
                         EXPECT_EQ(own.now_ns(), 600u) << "the news is on its way";
                         try {
                           wait(own, forever);
                         } catch (const job_aborted&) {
                           EXPECT_EQ(own.now_ns(), 500 + L);
                           throw;
                         }
                       }),
               job_aborted);
}

TEST(sim_end, a_deadlock_says_who_waits_and_since_when) {
  const std::string text = error_of([] {
    run_all(4, {.seed = 77, .credits = 1}, [](fabric& own) {
      testing::mailbox mail(own);
      if (own.rank() == 1) {
        wait(own, 4321);
        send(own, 3, 0);
        mail.send(3, 1);  // rank 3 will not look
      }
      if (own.rank() == 2) wait(own, 99);
      if (own.rank() != 3) mail.until([] { return false; });
    });
  });
  // Rank 0 waits after its first idle poll.
  expect_parts(text, {"deadlock with seed 77", "3 of 4 ranks", "rank 0 since 20 ns",
                      "rank 1 since 4641 ns (for a credit of rank 3)", "rank 2 since 119 ns"});
  EXPECT_EQ(text.find("rank 3 since"), std::string::npos) << text;
}

TEST(sim_end, a_deadlock_of_many_lists_a_few) {
  const auto wait_for_ever = [] { run_all(100, {}, [](fabric& own) { wait(own, forever); }); };
  expect_parts(error_of(wait_for_ever), {"100 of 100 ranks", "and 84 more"});
}

// A parcel serves many packets, and each keep of one has a token of its own.
TEST(sim_misuse, release_of_old_token_ends_program) {
  const auto release_old_token = [](fabric& own) {
    std::vector<std::uint64_t> tokens;
    testing::mailbox mail(own, [&](const packet& p) {
      tokens.push_back(p.token);
      return disposition::keep;
    });
    send(own, 0, 0);
    mail.until([&] { return tokens.size() == 1; });
    own.release(tokens[0]);
    send(own, 0, 0);
    mail.until([&] { return tokens.size() == 2; });
    EXPECT_EQ(static_cast<std::uint32_t>(tokens[0]), static_cast<std::uint32_t>(tokens[1])) << "another parcel";
    own.release(tokens[0]);
    return 0;
  };
  EXPECT_DEATH(run(1, {}, release_old_token), "amity: bug: .*token == token_of");
}

// The C++ runtime keeps the exceptions in flight per thread; here a thread has many stacks.
TEST(sim_fibers, exceptions_in_flight_belong_to_their_rank) {
  run_all(5, {}, [](fabric& own) {
    for (int round = 0; round < 3; ++round) {
      try {
        throw own.rank();
      } catch (int caught) {
        wait(own, static_cast<std::uint64_t>(1 + (own.rank() * 7 + round * 3) % 5) * 100'000);
        EXPECT_EQ(caught, own.rank());
        try {
          throw;
        } catch (int again) {
          EXPECT_EQ(again, own.rank());
        }
        EXPECT_EQ(std::uncaught_exceptions(), 0);
      }
    }
  });
}

TEST(sim_fibers, jobs_may_nest) {
  run(2, {}, [](fabric& outer) {
    wait(outer, 10'000);
    const auto inner = run(3, {}, [](fabric& own) {
      wait(own, 7000);
      return own.rank();
    });
    EXPECT_EQ(inner.end_ns, 7000u);
    wait(outer, 10'000);
    EXPECT_EQ(outer.now_ns(), 20'000u);
    return 0;
  });
}

TEST(sim_options, come_from_the_settings) {
  const sim_options standard = sim_options::from({}), plain{};
  const auto expect_field = [&](const std::string& setting, const char* value, auto field, std::uint64_t expected) {
    EXPECT_EQ(standard.*field, plain.*field) << setting;
    settings config;
    config.set("AMITY_SIM_" + setting, value);
    EXPECT_EQ(sim_options::from(config).*field, expected) << setting;
  };
  expect_field("SEED", "11", &sim_options::seed, 11);
  expect_field("LATENCY_NS", "12", &sim_options::latency_ns, 12);
  expect_field("OVERHEAD_NS", "13", &sim_options::overhead_ns, 13);
  expect_field("GAP_NS", "14", &sim_options::gap_ns, 14);
  expect_field("BYTE_PS", "15", &sim_options::byte_ps, 15);
  expect_field("DELAY_NS_MAX", "16", &sim_options::delay_ns_max, 16);
  expect_field("REORDER_PERCENT", "17", &sim_options::reorder_percent, 17);
  expect_field("CREDITS", "18", &sim_options::credits, 18);
  expect_field("PACKET_BYTES", "1900", &sim_options::packet_bytes, 1900);
  expect_field("STACK_BYTES", "20k", &sim_options::stack_bytes, 20 * 1024);
  expect_field("NODE_LATENCY_NS", "21", &sim_options::node_latency_ns, 21);
  expect_field("NODE_RANKS", "22", &sim_options::node_ranks, 22);
  expect_field("REMOTE_DELAY_NS_MAX", "23", &sim_options::remote_delay_ns_max, 23);
}

TEST(sim_options, that_cannot_work_are_errors_that_name_the_field) {
  const auto problem = [](rank_t ranks, const sim_options& options) {
    return error_of([&] { run(ranks, options, ends_well); });
  };
  EXPECT_EQ(problem(0, {}), "amity: sim::run: the number of ranks is 0; it must be at least 1");
  EXPECT_EQ(problem(1, {.latency_ns = 0}), "amity: sim::run: latency_ns is 0; it must be at least 1");
  EXPECT_EQ(problem(1, {.node_latency_ns = 0}), "amity: sim::run: node_latency_ns is 0; it must be at least 1");
  EXPECT_EQ(problem(1, {.node_ranks = 0}), "amity: sim::run: node_ranks is 0; it must be at least 1");
  EXPECT_EQ(problem(1, {.poll_ns = 0}), "amity: sim::run: poll_ns is 0; it must be at least 1");
  EXPECT_EQ(problem(1, {.reorder_percent = 101}), "amity: sim::run: reorder_percent is 101; it must be at most 100");
  EXPECT_EQ(problem(1, {.credits = 0}), "amity: sim::run: credits is 0; it must be at least 1");
  EXPECT_EQ(problem(1, {.packet_bytes = 511}), "amity: sim::run: packet_bytes is 511; it must be at least 512");
  EXPECT_EQ(problem(1, {.stack_bytes = 100}), "amity: sim::run: stack_bytes is 100; it must be at least 16384");
  EXPECT_EQ(problem(2, {.slow_ranks = {{.rank = 2, .factor = 2}}}),
            "amity: sim::run: slow_rank::rank is 2; it must be a rank below 2");
  EXPECT_EQ(problem(2, {.stopped_ranks = {{.rank = 1, .from_ns = 5, .until_ns = 4}}}),
            "amity: sim::run: stopped_rank::until_ns is 4; it must be at least 5");
  EXPECT_NE(problem(60'000, {.stack_bytes = std::size_t{1} << 32}).find("AMITY_SIM_STACK_BYTES"), std::string::npos);
}

}  // namespace
}  // namespace amity::fabric::sim
