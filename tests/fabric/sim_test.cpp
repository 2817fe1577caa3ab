/// The simulated fabric beyond the contract: its clock, its faults, its determinism, and how a job ends.

#include "amity/fabric/sim/sim.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "amity/base/clock.hpp"
#include "amity/base/error.hpp"
#include "amity/base/random.hpp"
#include "mailbox.hpp"
#include "sim_ranks.hpp"

namespace amity::fabric::sim {
namespace {

using testing::forever;

// Costs that can be told apart in a sum.
constexpr std::uint64_t L = 10'000, o = 100, g = 30, poll_cost = 7;
constexpr std::uint64_t G_ps = 5000;  // 5 ns a byte

sim_options priced() { return {.latency_ns = L, .overhead_ns = o, .gap_ns = g, .byte_ps = G_ps, .poll_ns = poll_cost}; }

/// Records when each packet was handed over; answers `release`.
struct recorder final : sink {
  explicit recorder(fabric& f) : own(f) {}
  disposition on_packet(const packet& p) noexcept override {
    times_ns.push_back(own.now_ns());
    headers.push_back(p.header);
    return disposition::release;
  }
  void receive(std::size_t packets) {
    while (times_ns.size() < packets) {
      if (own.poll(*this, 64) == 0) own.wait(forever);
    }
  }
  fabric& own;
  std::vector<std::uint64_t> times_ns;
  std::vector<std::uint64_t> headers;
};

int ends_well(fabric&) { return 0; }

/// Takes processor time.
void compute(std::uint64_t ns) {
  const std::uint64_t begun_ns = processor_now_ns();
  while (processor_now_ns() - begun_ns < ns) {
  }
}

TEST(sim_clock, computing_takes_the_time_that_was_asked_for) {
  constexpr std::uint64_t worked_ns = 1'000'000;
  for (const std::uint32_t percent : {0u, 50u, 300u}) {
    sim_options options = priced();
    options.compute_percent = percent;
    run(2, options, [&](fabric& own) {
      recorder seen(own);
      if (own.rank() == 0) {
        compute(worked_ns);
        send(own, 1, 0);
        EXPECT_GE(own.now_ns(), o + worked_ns * 9 / 10 * percent / 100) << "but for what a look at the clock takes";
        if (percent == 0) {
          EXPECT_EQ(own.now_ns(), o);
        }
      } else {
        seen.receive(1);
        EXPECT_GE(own.now_ns(), o + L + o + worked_ns * 9 / 10 * percent / 100) << "it waited without computing";
      }
      return 0;
    });
  }
}

TEST(sim_clock, handlers_compute_too) {
  struct busy final : sink {
    disposition on_packet(const packet&) noexcept override {
      compute(1'000'000);
      ++seen;
      return disposition::release;
    }
    int seen = 0;
  };
  sim_options options = priced();
  options.compute_percent = 100;
  run(2, options, [&](fabric& own) {
    busy receiver;
    if (own.rank() == 0) {
      send(own, 1, 0);
    } else {
      while (receiver.seen == 0) {
        if (own.poll(receiver, 1) == 0) own.wait(forever);
      }
      EXPECT_GE(own.now_ns(), o + L + o + 900'000);
    }
    return 0;
  });
}

TEST(sim_clock, a_packet_costs_o_then_L_then_o) {
  const auto result = run(2, priced(), [](fabric& own) {
    recorder seen(own);
    if (own.rank() == 0) {
      EXPECT_EQ(own.now_ns(), 0u);
      send(own, 1, 0);
      EXPECT_EQ(own.now_ns(), o);
      seen.receive(1);
      EXPECT_EQ(seen.times_ns[0], 2 * (o + L + o));
    } else {
      seen.receive(1);
      EXPECT_EQ(seen.times_ns[0], o + L + o);
      send(own, 0, 0);
    }
    return 0;
  });
  EXPECT_EQ(result.end_ns, 2 * (o + L + o));
  EXPECT_EQ(result.events, 2u);
}

TEST(sim_clock, bytes_take_G_each_on_the_wire) {
  run(2, priced(), [](fabric& own) {
    recorder seen(own);
    if (own.rank() == 0) {
      send(own, 1, 0, 1000);
      EXPECT_EQ(own.now_ns(), o);  // the processor is free while the bytes go out
    } else {
      seen.receive(1);
      EXPECT_EQ(seen.times_ns[0], o + 1000 * 5 + L + o);
    }
    return 0;
  });
}

TEST(sim_clock, packets_leave_one_after_the_other) {
  sim_options options = priced();
  options.overhead_ns = 0;  // else the handling at the target hides when they arrive
  run(2, options, [](fabric& own) {
    recorder seen(own);
    if (own.rank() == 0) {
      for (const std::size_t bytes : {1000, 1000, 2, 0}) send(own, 1, 0, bytes);
    } else {
      seen.receive(4);
      EXPECT_EQ(seen.times_ns[0], 5000 + L);
      EXPECT_EQ(seen.times_ns[1], 5000 + 5000 + L) << "it leaves when the first is out";
      EXPECT_EQ(seen.times_ns[2], 10'000 + 10 + L);
      EXPECT_EQ(seen.times_ns[3], 10'000 + g + L) << "two bytes take less than the gap";
    }
    return 0;
  });
}

TEST(sim_clock, packets_that_wait_are_handled_one_after_the_other) {
  run(2, priced(), [](fabric& own) {
    recorder seen(own);
    if (own.rank() == 0) {
      for (std::uint64_t i = 0; i < 3; ++i) send(own, 1, i);
    } else {
      own.wait(1'000'000);  // until the first is there
      EXPECT_EQ(own.now_ns(), o + L);
      own.wait(0);
      EXPECT_EQ(own.now_ns(), o + L + poll_cost) << "a wait that need not last costs as much as a look";
      seen.receive(3);
      for (std::uint64_t i = 0; i < 3; ++i) EXPECT_EQ(seen.times_ns[i], o + L + poll_cost + (i + 1) * o);
    }
    return 0;
  });
}

TEST(sim_clock, the_gap_bounds_the_rate_where_the_overhead_does_not) {
  sim_options options = priced();
  options.overhead_ns = 0;
  run(2, options, [](fabric& own) {
    recorder seen(own);
    if (own.rank() == 0) {
      for (std::uint64_t i = 0; i < 10; ++i) send(own, 1, i);
    } else {
      seen.receive(10);
      for (std::uint64_t i = 0; i < 10; ++i) EXPECT_EQ(seen.times_ns[i], L + i * g);
    }
    return 0;
  });
}

TEST(sim_clock, a_slot_costs_as_much_as_a_send) {
  run(2, priced(), [](fabric& own) {
    recorder seen(own);
    if (own.rank() == 0) {
      slot s;
      EXPECT_EQ(own.acquire(1, s), status::ok);
      EXPECT_EQ(own.now_ns(), 0u);
      own.commit(1, 0, s, 1000);
      EXPECT_EQ(own.now_ns(), o);
    } else {
      seen.receive(1);
      EXPECT_EQ(seen.times_ns[0], o + 5000 + L + o);
    }
    return 0;
  });
}

TEST(sim_clock, a_credit_comes_back_L_after_the_release) {
  sim_options options = priced();
  options.credits = 1;
  run(2, options, [](fabric& own) {
    if (own.rank() == 0) {
      send(own, 1, 0);
      EXPECT_EQ(own.try_send(1, 1, {}), status::again);
      EXPECT_EQ(own.now_ns(), o) << "a refusal costs nothing";
      own.wait(50'000 + L - 1 - own.now_ns());
      EXPECT_EQ(own.now_ns(), 50'000 + L - 1);
      EXPECT_EQ(own.try_send(1, 1, {}), status::again);
      own.wait(forever);
      EXPECT_EQ(own.now_ns(), 50'000 + L);
      send(own, 1, 1);
    } else {
      struct keeping final : sink {
        std::vector<std::uint64_t> tokens;
        disposition on_packet(const packet& p) noexcept override {
          tokens.push_back(p.token);
          return disposition::keep;
        }
      } kept;
      while (own.now_ns() < 50'000) {
        own.poll(kept, 1);
        own.wait(50'000 - own.now_ns());
      }
      EXPECT_EQ(own.now_ns(), 50'000u);
      own.release(kept.tokens.at(0));
      recorder seen(own);
      seen.receive(1);
      EXPECT_EQ(seen.times_ns[0], 50'000 + L + o + L + o);
    }
    return 0;
  });
}

TEST(sim_clock, a_wait_ends_at_its_timeout) {
  run(3, priced(), [](fabric& own) {
    own.wait(5000);
    EXPECT_EQ(own.now_ns(), 5000u);
    own.wait(100'000);  // beyond what the others may still do before
    EXPECT_EQ(own.now_ns(), 105'000u);
    return 0;
  });
}

TEST(sim_clock, loops_that_only_poll_or_only_wait_get_on) {
  run(2, priced(), [](fabric& own) {
    recorder seen(own);
    if (own.rank() == 0) {
      own.wait(70'000);
      send(own, 1, 0);
    } else {
      EXPECT_EQ(own.poll(seen, 1), 0u);
      EXPECT_EQ(own.now_ns(), poll_cost);
      while (seen.times_ns.empty()) own.poll(seen, 1);
      const std::uint64_t arrival_ns = 70'000 + o + L;
      EXPECT_GE(seen.times_ns[0], arrival_ns + o);
      EXPECT_LT(seen.times_ns[0], arrival_ns + o + poll_cost) << "seen by the first poll after the arrival";
    }
    // Nobody takes what arrives here, so that no wait lasts: the clock goes on all the same.
    send(own, own.rank(), 1);
    const std::uint64_t end_ns = own.now_ns() + 200'000;
    while (own.now_ns() < end_ns) own.wait(forever);
    return 0;
  });
}

// A rank that has computed ahead must not miss what others do at earlier times.
TEST(sim_clock, ranks_see_packets_at_their_times_however_far_they_run_ahead) {
  run(3, priced(), [](fabric& own) {
    recorder seen(own);
    if (own.rank() == 0) {
      for (std::uint64_t i = 0; i < 50; ++i) send(own, 2, i);  // at 5000 ns now, before any other rank has run
      EXPECT_EQ(own.now_ns(), 50 * o);
      seen.receive(2);
      EXPECT_EQ(seen.headers, (std::vector<std::uint64_t>{1, 2})) << "by time, not by rank or order of execution";
      EXPECT_EQ(seen.times_ns[0], o + L + o);
      EXPECT_EQ(seen.times_ns[1], 300 + o + L + o);
    } else if (own.rank() == 1) {
      own.wait(300);
      send(own, 0, 2);
    } else {
      send(own, 0, 1);
      seen.receive(50);
    }
    return 0;
  });
}

TEST(sim_faults, a_slow_rank_pays_a_multiple) {
  sim_options options = priced();
  options.slow_ranks = {{.rank = 1, .factor = 10}};
  run(2, options, [](fabric& own) {
    recorder seen(own);
    if (own.rank() == 0) {
      send(own, 1, 0);
      seen.receive(1);
      EXPECT_EQ(seen.times_ns[0], o + L + 10 * o + 10 * o + 1000 * 50 + L + o);
    } else {
      EXPECT_EQ(own.poll(seen, 1), 0u);
      EXPECT_EQ(own.now_ns(), 10 * poll_cost);
      seen.receive(1);
      EXPECT_EQ(seen.times_ns[0], o + L + 10 * o);
      send(own, 0, 0, 1000);
    }
    return 0;
  });
}

TEST(sim_faults, a_stopped_rank_does_not_run_between_two_times) {
  sim_options options = priced();
  options.stopped_ranks = {{.rank = 1, .from_ns = 700'000, .until_ns = 800'000},
                           {.rank = 1, .from_ns = 5000, .until_ns = 300'000},
                           {.rank = 1, .from_ns = 900'000, .until_ns = 950'000}};
  run(2, options, [](fabric& own) {
    recorder seen(own);
    if (own.rank() == 0) {
      send(own, 1, 0);
      own.wait(750'000 - own.now_ns());
      send(own, 1, 1);
    } else {
      seen.receive(1);
      EXPECT_EQ(seen.times_ns[0], 300'000 + o) << "it came at 10,100";
      own.wait(1'000'000);
      EXPECT_EQ(own.now_ns(), 800'000u) << "the packet came at 760,100";
      seen.receive(2);
      own.wait(1000);
      EXPECT_EQ(own.now_ns(), 800'000 + o + 1000) << "it runs on as before";
      own.wait(120'000);
      EXPECT_EQ(own.now_ns(), 950'000u);
    }
    return 0;
  });
}

TEST(sim_faults, delay_varies_the_time_and_keeps_the_order) {
  static constexpr std::uint64_t delay_max = 4000;
  sim_options options = priced();
  options.delay_ns_max = delay_max;
  run(2, options, [](fabric& own) {
    recorder seen(own);
    constexpr std::uint64_t packets = 60;
    if (own.rank() == 0) {
      EXPECT_TRUE(own.caps().ordered);
      for (std::uint64_t i = 0; i < packets; ++i) {
        send(own, 1, i);
        own.wait(20'000);  // far apart: each shows its own delay
      }
    } else {
      seen.receive(packets);
      std::set<std::uint64_t> delays;
      for (std::uint64_t i = 0; i < packets; ++i) {
        EXPECT_EQ(seen.headers[i], i);
        const std::uint64_t undisturbed_ns = i * (20'000 + o) + o + L + o;
        EXPECT_GE(seen.times_ns[i], undisturbed_ns);
        delays.insert(seen.times_ns[i] - undisturbed_ns);
      }
      EXPECT_GT(delays.size(), packets * 3 / 4);
      EXPECT_LT(*delays.rbegin(), delay_max);
      EXPECT_LT(*delays.begin(), delay_max / 4);
      EXPECT_GT(*delays.rbegin(), delay_max * 3 / 4);
    }
    return 0;
  });
}

TEST(sim_faults, reorder_lets_packets_of_one_pair_overtake) {
  for (const std::uint32_t percent : {10u, 100u}) {
    sim_options options;
    options.reorder_percent = percent;
    run(2, options, [&](fabric& own) {
      EXPECT_FALSE(own.caps().ordered);
      constexpr std::uint64_t packets = 1000;
      testing::mailbox unused(own);
      recorder seen(own);
      if (own.rank() == 0) {
        for (std::uint64_t i = 0; i < packets; ++i) {
          while (own.try_send(1, i, {}) == status::again) {
            own.poll(unused, 1);
            own.wait(forever);
          }
        }
      } else {
        seen.receive(packets);
        std::uint64_t overtaken = 0;
        std::uint64_t latest = 0;
        for (const std::uint64_t header : seen.headers) {
          overtaken += header < latest;
          latest = std::max(latest, header);
        }
        EXPECT_GT(overtaken, packets * percent / 100 / 3);
        EXPECT_LT(overtaken, packets * percent / 100 * 2);
      }
      return 0;
    });
  }
}

// Every rank sends to random ranks and answers what it gets, for a fixed virtual time.
sim_result chatter(const sim_options& options, rank_t ranks = 16) {
  return run(ranks, options, [](fabric& own) {
    splitmix64 random(static_cast<std::uint64_t>(own.rank()));
    const auto any_rank = [&] { return static_cast<rank_t>(random.below(static_cast<std::uint64_t>(own.size()))); };
    std::array<std::byte, 64> payload{};
    testing::mailbox mail(own, [&](const packet& p) {
      if (p.header > 0) static_cast<void>(own.try_send(any_rank(), p.header - 1, {payload.data(), p.header % 64}));
      return disposition::release;
    });
    for (int i = 0; i < 20; ++i) static_cast<void>(own.try_send(any_rank(), random.below(50), {}));
    constexpr std::uint64_t end_ns = 200'000;
    while (own.now_ns() < end_ns) {
      if (own.poll(mail, 8) == 0) own.wait(end_ns - own.now_ns());
    }
    return 0;
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
        own.wait(1000);
        return 0;
      case 1:
        own.wait(4000);
        return 11;
      case 2:
        own.wait(3000);
        return 12;
      default:
        EXPECT_THROW(own.wait(forever), job_aborted);
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
      own.wait(5000);
      throw std::invalid_argument("rank 2 cannot go on");
    }
    if (own.rank() == 3) {
      own.wait(5001);
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
  EXPECT_THROW(run(3, priced(),
                   [](fabric& own) {
                     if (own.rank() == 0) {
                       own.wait(500);
                       own.abort();
                       EXPECT_THROW(own.wait(forever), job_aborted);
                       EXPECT_EQ(own.now_ns(), 500u);
                       return 0;
                     }
                     own.wait(600);
                     EXPECT_EQ(own.now_ns(), 600u) << "the news is on its way";
                     try {
                       own.wait(forever);
                     } catch (const job_aborted&) {
                       EXPECT_EQ(own.now_ns(), 500 + L);
                       throw;
                     }
                     return 0;
                   }),
               job_aborted);
}

TEST(sim_end, a_deadlock_says_who_waits_and_since_when) {
  const std::string text = message_of([] {
    run(4, {.seed = 77, .credits = 1}, [](fabric& own) {
      testing::mailbox mail(own);
      if (own.rank() == 1) {
        own.wait(4321);
        send(own, 3, 0);
        mail.send(3, 1);  // rank 3 will not look
      }
      if (own.rank() == 2) own.wait(99);
      if (own.rank() != 3) mail.until([] { return false; });
      return 0;
    });
  });
  EXPECT_NE(text.find("deadlock with seed 77"), std::string::npos) << text;
  EXPECT_NE(text.find("3 of 4 ranks"), std::string::npos) << text;
  EXPECT_NE(text.find("rank 0 since 20 ns"), std::string::npos) << text;  // after its first idle poll
  EXPECT_NE(text.find("rank 1 since 4641 ns (for a credit of rank 3)"), std::string::npos) << text;
  EXPECT_NE(text.find("rank 2 since 119 ns"), std::string::npos) << text;
  EXPECT_EQ(text.find("rank 3 since"), std::string::npos) << text;
}

TEST(sim_end, a_deadlock_of_many_lists_a_few) {
  const std::string text = message_of([] {
    run(100, {}, [](fabric& own) {
      own.wait(forever);
      return 0;
    });
  });
  EXPECT_NE(text.find("100 of 100 ranks"), std::string::npos) << text;
  EXPECT_NE(text.find("and 84 more"), std::string::npos) << text;
}

// The C++ runtime keeps the exceptions in flight per thread; here a thread has many stacks.
TEST(sim_fibers, exceptions_in_flight_belong_to_their_rank) {
  run(5, {}, [](fabric& own) {
    for (int round = 0; round < 3; ++round) {
      try {
        throw own.rank();
      } catch (int caught) {
        own.wait(static_cast<std::uint64_t>(1 + (own.rank() * 7 + round * 3) % 5) * 100'000);
        EXPECT_EQ(caught, own.rank());
        try {
          throw;
        } catch (int again) {
          EXPECT_EQ(again, own.rank());
        }
        EXPECT_EQ(std::uncaught_exceptions(), 0);
      }
    }
    return 0;
  });
}

TEST(sim_fibers, jobs_may_nest) {
  run(2, {}, [](fabric& outer) {
    outer.wait(10'000);
    const auto inner = run(3, {}, [](fabric& own) {
      own.wait(7000);
      return own.rank();
    });
    EXPECT_EQ(inner.end_ns, 7000u);
    outer.wait(10'000);
    EXPECT_EQ(outer.now_ns(), 20'000u);
    return 0;
  });
}

TEST(sim_nodes, a_packet_within_a_node_travels_for_the_latency_of_the_node) {
  constexpr std::uint64_t node_latency = 2000;
  auto options = priced();
  options.node_latency_ns = node_latency;
  options.node_ranks = 2;
  static_cast<void>(run(5, options, [](fabric& own) {
    EXPECT_EQ(own.node_of(3), 2);
    EXPECT_EQ(own.node_of(4), 4);
    EXPECT_EQ(own.same_node(1), own.rank() < 2);
    recorder seen(own);
    if (own.rank() == 0) {
      send(own, 1, 0);
      send(own, 2, 0);
    } else if (own.rank() < 3) {
      seen.receive(1);
      EXPECT_EQ(seen.times_ns[0], own.rank() == 1 ? o + node_latency + o : o + o + L + o);
    }
    return 0;
  }));
}

TEST(sim_nodes, a_rank_that_runs_ahead_still_meets_what_its_neighbour_sends_meanwhile) {
  auto options = priced();
  options.node_latency_ns = 500;
  options.node_ranks = 2;
  static_cast<void>(run(2, options, [](fabric& own) {
    recorder seen(own);
    if (own.rank() == 1) {  // rank 0 runs first
      own.wait(1000);
      send(own, 0, 0);
      return 0;
    }
    while (own.now_ns() < 3000) own.poll(seen, 64);
    EXPECT_EQ(seen.times_ns.size(), 1u);
    for (const std::uint64_t time_ns : seen.times_ns) EXPECT_LT(time_ns, 1000 + o + 500 + o + poll_cost);
    return 0;
  }));
}

TEST(sim_options, come_from_the_settings) {
  settings config;
  const sim_options standard = sim_options::from(config), plain;
  EXPECT_EQ(standard.seed, plain.seed);
  EXPECT_EQ(standard.latency_ns, plain.latency_ns);
  EXPECT_EQ(standard.node_latency_ns, plain.node_latency_ns);
  EXPECT_EQ(standard.node_ranks, plain.node_ranks);
  EXPECT_EQ(standard.overhead_ns, plain.overhead_ns);
  EXPECT_EQ(standard.gap_ns, plain.gap_ns);
  EXPECT_EQ(standard.byte_ps, plain.byte_ps);
  EXPECT_EQ(standard.delay_ns_max, plain.delay_ns_max);
  EXPECT_EQ(standard.remote_delay_ns_max, plain.remote_delay_ns_max);
  EXPECT_EQ(standard.reorder_percent, plain.reorder_percent);
  EXPECT_EQ(standard.credits, plain.credits);
  EXPECT_EQ(standard.packet_bytes, plain.packet_bytes);
  EXPECT_EQ(standard.stack_bytes, plain.stack_bytes);

  config.set("AMITY_SIM_SEED", "11");
  config.set("AMITY_SIM_LATENCY_NS", "12");
  config.set("AMITY_SIM_OVERHEAD_NS", "13");
  config.set("AMITY_SIM_GAP_NS", "14");
  config.set("AMITY_SIM_BYTE_PS", "15");
  config.set("AMITY_SIM_DELAY_NS_MAX", "16");
  config.set("AMITY_SIM_REORDER_PERCENT", "17");
  config.set("AMITY_SIM_CREDITS", "18");
  config.set("AMITY_SIM_PACKET_BYTES", "1900");
  config.set("AMITY_SIM_STACK_BYTES", "20k");
  config.set("AMITY_SIM_NODE_LATENCY_NS", "21");
  config.set("AMITY_SIM_NODE_RANKS", "22");
  config.set("AMITY_SIM_REMOTE_DELAY_NS_MAX", "23");
  const sim_options given = sim_options::from(config);
  EXPECT_EQ(given.seed, 11u);
  EXPECT_EQ(given.latency_ns, 12u);
  EXPECT_EQ(given.overhead_ns, 13u);
  EXPECT_EQ(given.gap_ns, 14u);
  EXPECT_EQ(given.byte_ps, 15u);
  EXPECT_EQ(given.delay_ns_max, 16u);
  EXPECT_EQ(given.reorder_percent, 17u);
  EXPECT_EQ(given.credits, 18u);
  EXPECT_EQ(given.packet_bytes, 1900u);
  EXPECT_EQ(given.stack_bytes, 20u * 1024);
  EXPECT_EQ(given.node_latency_ns, 21u);
  EXPECT_EQ(given.node_ranks, 22u);
  EXPECT_EQ(given.remote_delay_ns_max, 23u);
}

TEST(sim_options, that_cannot_work_are_errors_that_name_the_field) {
  const auto problem = [](rank_t ranks, const sim_options& options) {
    return message_of([&] { run(ranks, options, ends_well); });
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
