/// The clock of the simulated fabric: what computing, sending, travelling and waiting cost, and how ranks, nodes and
/// faults that are set by number change it.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <set>
#include <vector>

#include "amity/base/clock.hpp"
#include "amity/fabric/sim/sim.hpp"
#include "amity/fabric/waiter.hpp"
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
      if (own.poll(*this, 64) == 0) wait(own, forever);
    }
  }
  fabric& own;
  std::vector<std::uint64_t> times_ns;
  std::vector<std::uint64_t> headers;
};

/// Runs `body` on each rank, with a recorder of its packets.
sim_result run_recorded(rank_t ranks, const sim_options& options, const std::function<void(fabric&, recorder&)>& body) {
  return run_all(ranks, options, [&](fabric& own) {
    recorder seen(own);
    body(own, seen);
  });
}

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
    run_recorded(2, options, [&](fabric& own, recorder& seen) {
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
    });
  }
}

TEST(sim_clock, handlers_compute_too) {
  sim_options options = priced();
  options.compute_percent = 100;
  run_all(2, options, [&](fabric& own) {
    if (own.rank() == 0) return send(own, 1, 0);
    testing::mailbox mail(own, [&](const packet&) {
      compute(1'000'000);
      return disposition::release;
    });
    mail.until([&] { return mail.arrived() == 1; });
    EXPECT_GE(own.now_ns(), o + L + o + 900'000);
  });
}

TEST(sim_clock, a_packet_costs_o_then_L_then_o) {
  const auto result = run_recorded(2, priced(), [](fabric& own, recorder& seen) {
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
  });
  EXPECT_EQ(result.end_ns, 2 * (o + L + o));
  EXPECT_EQ(result.events, 2u);
}

TEST(sim_clock, packets_leave_one_after_the_other) {
  sim_options options = priced();
  options.overhead_ns = 0;  // else the handling at the target hides when they arrive
  run_recorded(2, options, [](fabric& own, recorder& seen) {
    if (own.rank() == 0) {
      for (const std::size_t bytes : {1000, 1000, 2, 0}) send(own, 1, 0, bytes);
    } else {
      seen.receive(4);
      EXPECT_EQ(seen.times_ns[0], 5000 + L);
      EXPECT_EQ(seen.times_ns[1], 5000 + 5000 + L) << "it leaves when the first is out";
      EXPECT_EQ(seen.times_ns[2], 10'000 + 10 + L);
      EXPECT_EQ(seen.times_ns[3], 10'000 + g + L) << "two bytes take less than the gap";
    }
  });
}

TEST(sim_clock, packets_that_wait_are_handled_one_after_the_other) {
  run_recorded(2, priced(), [](fabric& own, recorder& seen) {
    if (own.rank() == 0) {
      for (std::uint64_t i = 0; i < 3; ++i) send(own, 1, i);
    } else {
      wait(own, 1'000'000);  // until the first is there
      EXPECT_EQ(own.now_ns(), o + L);
      wait(own, 1);
      EXPECT_EQ(own.now_ns(), o + L + poll_cost) << "a wait that need not last costs as much as a look";
      seen.receive(3);
      for (std::uint64_t i = 0; i < 3; ++i) EXPECT_EQ(seen.times_ns[i], o + L + poll_cost + (i + 1) * o);
    }
  });
}

TEST(sim_clock, a_slot_costs_as_much_as_a_send) {
  run_recorded(2, priced(), [](fabric& own, recorder& seen) {
    if (own.rank() == 0) {
      slot s;
      EXPECT_EQ(own.acquire(1, s, claim::ordinary), status::ok);
      EXPECT_EQ(own.now_ns(), 0u);
      own.commit(1, 0, s, 1000);
      EXPECT_EQ(own.now_ns(), o);
    } else {
      seen.receive(1);
      EXPECT_EQ(seen.times_ns[0], o + 5000 + L + o);
    }
  });
}

TEST(sim_clock, a_credit_comes_back_L_after_the_release) {
  sim_options options = priced();
  options.credits = 1;
  run_all(2, options, [](fabric& own) {
    if (own.rank() == 0) {
      send(own, 1, 0);
      EXPECT_EQ(own.try_send(1, 1, {}, claim::ordinary), status::again);
      EXPECT_EQ(own.now_ns(), o) << "a refusal costs nothing";
      wait(own, 50'000 + L - 1 - own.now_ns());
      EXPECT_EQ(own.now_ns(), 50'000 + L - 1);
      EXPECT_EQ(own.try_send(1, 1, {}, claim::ordinary), status::again);
      wait(own, forever);
      EXPECT_EQ(own.now_ns(), 50'000 + L);
      send(own, 1, 1);
    } else {
      std::uint64_t token = 0;
      testing::mailbox kept(own, [&](const packet& p) {
        token = p.token;
        return disposition::keep;
      });
      while (own.now_ns() < 50'000) {
        own.poll(kept, 1);
        wait(own, 50'000 - own.now_ns());
      }
      EXPECT_EQ(own.now_ns(), 50'000u);
      own.release(token);
      recorder seen(own);
      seen.receive(1);
      EXPECT_EQ(seen.times_ns[0], 50'000 + L + o + L + o);
    }
  });
}

TEST(sim_clock, a_wait_ends_at_its_timeout) {
  run_all(3, priced(), [](fabric& own) {
    wait(own, 5000);
    EXPECT_EQ(own.now_ns(), 5000u);
    wait(own, 100'000);  // beyond what the others may still do before
    EXPECT_EQ(own.now_ns(), 105'000u);
  });
}

TEST(sim_clock, loops_that_only_poll_or_only_wait_get_on) {
  run_recorded(2, priced(), [](fabric& own, recorder& seen) {
    if (own.rank() == 0) {
      wait(own, 70'000);
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
    while (own.now_ns() < end_ns) wait(own, forever);
  });
}

// A rank that has computed ahead must not miss what others do at earlier times.
TEST(sim_clock, ranks_see_packets_at_their_times_however_far_they_run_ahead) {
  run_recorded(3, priced(), [](fabric& own, recorder& seen) {
    if (own.rank() == 0) {
      for (std::uint64_t i = 0; i < 50; ++i) send(own, 2, i);  // at 5000 ns now, before any other rank has run
      EXPECT_EQ(own.now_ns(), 50 * o);
      seen.receive(2);
      EXPECT_EQ(seen.headers, (std::vector<std::uint64_t>{1, 2})) << "by time, not by rank or order of execution";
      EXPECT_EQ(seen.times_ns[0], o + L + o);
      EXPECT_EQ(seen.times_ns[1], 300 + o + L + o);
    } else if (own.rank() == 1) {
      wait(own, 300);
      send(own, 0, 2);
    } else {
      send(own, 0, 1);
      seen.receive(50);
    }
  });
}

TEST(sim_faults, a_slow_rank_pays_a_multiple) {
  sim_options options = priced();
  options.slow_ranks = {{.rank = 1, .factor = 10}};
  run_recorded(2, options, [](fabric& own, recorder& seen) {
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
  });
}

TEST(sim_faults, a_stop_interrupts_what_a_rank_does) {
  sim_options options = priced();
  options.handler.ns = 50'000;
  options.stopped_ranks = {{.rank = 1, .from_ns = 30'000, .until_ns = 37'000},
                           {.rank = 0, .from_ns = 5000, .until_ns = 7000}};
  const auto ended = run_recorded(2, options, [](fabric& own, recorder& seen) {
    if (own.rank() == 0) {
      send(own, 1, 0);
      wait(own, 20'000);
    } else {
      seen.receive(1);
    }
  });
  EXPECT_EQ(ended.ranks.at(0).stopped_ns, 2000u) << "while it waited";
  EXPECT_EQ(ended.ranks.at(0).end_ns, o + 20'000);
  EXPECT_EQ(ended.ranks.at(1).stopped_ns, 7000u) << "while it handled";
  EXPECT_EQ(ended.ranks.at(1).busy_ns, 50'000u);
  EXPECT_EQ(ended.ranks.at(1).end_ns, o + L + o + 50'000 + 7000);
}

TEST(sim_faults, a_killed_rank_is_busy_until_its_death) {
  sim_options options = priced();
  options.handler.ns = 50'000;
  options.killed_ranks = {{.rank = 1, .at_ns = 30'000}};
  std::vector<rank_figures> figures;
  options.report = ::testing::TempDir() + "amity_sim_busy_death.csv";
  EXPECT_THROW(run_recorded(2, options,
                            [](fabric& own, recorder& seen) {
                              if (own.rank() == 0) send(own, 1, 0);
                              seen.receive(1);
                            }),
               error);
  EXPECT_NE(take(options.report).find("\n1,0,30000,19800,100,"), std::string::npos);
}

TEST(sim_faults, the_largest_factor_of_a_slow_rank_holds) {
  sim_options options = priced();
  options.slow_ranks = {{.rank = 0, .factor = 2}, {.rank = 0, .factor = 5}, {.rank = 0, .factor = 3}};
  run_all(1, options, [](fabric& own) {
    send(own, 0, 0);
    EXPECT_EQ(own.now_ns(), 5 * o);
  });
}

TEST(sim_faults, a_stopped_rank_does_not_run_between_two_times) {
  sim_options options = priced();
  options.stopped_ranks = {{.rank = 1, .from_ns = 700'000, .until_ns = 800'000},
                           {.rank = 1, .from_ns = 5000, .until_ns = 300'000},
                           {.rank = 1, .from_ns = 900'000, .until_ns = 950'000}};
  run_recorded(2, options, [](fabric& own, recorder& seen) {
    if (own.rank() == 0) {
      send(own, 1, 0);
      wait(own, 750'000 - own.now_ns());
      send(own, 1, 1);
    } else {
      seen.receive(1);
      EXPECT_EQ(seen.times_ns[0], 300'000 + o) << "it came at 10,100";
      wait(own, 1'000'000);
      EXPECT_EQ(own.now_ns(), 800'000u) << "the packet came at 760,100";
      seen.receive(2);
      wait(own, 1000);
      EXPECT_EQ(own.now_ns(), 800'000 + o + 1000) << "it runs on as before";
      wait(own, 120'000);
      EXPECT_EQ(own.now_ns(), 950'000u);
    }
  });
}

TEST(sim_faults, delay_varies_the_time_and_keeps_the_order) {
  static constexpr std::uint64_t delay_max = 4000;
  sim_options options = priced();
  options.delay_ns_max = delay_max;
  run_recorded(2, options, [](fabric& own, recorder& seen) {
    constexpr std::uint64_t packets = 60;
    if (own.rank() == 0) {
      EXPECT_TRUE(own.caps().ordered);
      for (std::uint64_t i = 0; i < packets; ++i) {
        send(own, 1, i);
        wait(own, 20'000);  // far apart: each shows its own delay
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
  });
}

TEST(sim_faults, reorder_lets_packets_of_one_pair_overtake) {
  for (const std::uint32_t percent : {10u, 100u}) {
    sim_options options;
    options.reorder_percent = percent;
    run_all(2, options, [&](fabric& own) {
      EXPECT_FALSE(own.caps().ordered);
      constexpr std::uint64_t packets = 1000;
      testing::mailbox unused(own);
      recorder seen(own);
      if (own.rank() == 0) {
        for (std::uint64_t i = 0; i < packets; ++i) {
          while (own.try_send(1, i, {}, claim::ordinary) == status::again) {
            own.poll(unused, 1);
            wait(own, forever);
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
    });
  }
}

TEST(sim_nodes, a_packet_within_a_node_travels_for_the_latency_of_the_node) {
  constexpr std::uint64_t node_latency = 2000;
  auto options = priced();
  options.node_latency_ns = node_latency;
  options.node_ranks = 2;
  run_all(5, options, [](fabric& own) {
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
  });
}

TEST(sim_nodes, a_rank_that_runs_ahead_still_meets_what_its_neighbour_sends_meanwhile) {
  auto options = priced();
  options.node_latency_ns = 500;
  options.node_ranks = 2;
  run_recorded(2, options, [](fabric& own, recorder& seen) {
    if (own.rank() == 1) {  // rank 0 runs first
      wait(own, 1000);
      send(own, 0, 0);
      return;
    }
    while (own.now_ns() < 3000) own.poll(seen, 64);
    EXPECT_EQ(seen.times_ns.size(), 1u);
    for (const std::uint64_t time_ns : seen.times_ns) EXPECT_LT(time_ns, 1000 + o + 500 + o + poll_cost);
  });
}

// What has arrived while a rank computed must not put its sleep into the past, where an earlier packet finds it.
TEST(sim_clock, sleep_behind_its_next_event_lasts_no_time) {
  constexpr rank_t senders = 8;
  sim_options options = priced();
  options.delay_ns_max = 20'000;
  options.handler = {.ns = 100'000};
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    options.seed = seed;
    run_recorded(1 + senders, options, [&](fabric& own, recorder& seen) {
      for (std::uint64_t i = 0; own.rank() > 0 && i < 4; ++i) send(own, 0, i);
      while (own.rank() == 0 && seen.times_ns.size() < 4 * senders) {
        if (own.poll(seen, 1) == 0 || seen.times_ns.size() == 4 * senders) continue;
        const std::uint64_t handled_ns = own.now_ns();
        own.sleep(own.arm(), forever);
        own.disarm();
        EXPECT_EQ(own.now_ns(), handled_ns);
      }
    });
  }
}

}  // namespace
}  // namespace amity::fabric::sim
