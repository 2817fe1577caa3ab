/// Faults of the simulated fabric that have names, and what it tells of a run: figures, report, trace.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <span>
#include <string>
#include <vector>

#include "amity/base/error.hpp"
#include "amity/fabric/sim/report.hpp"
#include "amity/fabric/sim/sim.hpp"
#include "mailbox.hpp"
#include "payloads.hpp"
#include "remote_user.hpp"
#include "sim_ranks.hpp"

namespace amity::fabric::sim {
namespace {

using testing::forever;

constexpr std::uint64_t L = 10'000, o = 100;

sim_options priced() {
  return {.latency_ns = L, .overhead_ns = o, .gap_ns = 0, .byte_ps = 0, .poll_ns = 7, .credits = 200};
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// What a file holds; it is removed.
std::string take(const std::string& path) {
  std::ifstream file(path);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  std::filesystem::remove(path);
  return text;
}

TEST(sim_kill, a_rank_that_is_killed_is_missed_and_named) {
  sim_options options = priced();
  options.seed = 5;
  options.killed_ranks = {{.rank = 1, .at_ns = 5000, .notice_ns = 70'000}};
  int unwound = 0;
  std::uint64_t missed_ns = 0;
  const std::string text = message_of([&] {
    run(3, options, [&](fabric& own) {
      struct counter {
        int& count;
        ~counter() { ++count; }
      } const on_stack{unwound};
      try {
        own.wait(forever);
      } catch (const error&) {
        missed_ns = own.now_ns();
        throw;
      }
      ADD_FAILURE() << "nobody has anything to wait for";
      return 0;
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
  message_of([&] {
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
        if (own.rank() == 1) own.wait(forever);
        return status;
      });
    };
    if (status == 0) {
      const std::string text = message_of([&] { end_without_it(); });
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
    const std::string text = message_of([&] {
      run(2, options, [&](fabric& own) {
        testing::mailbox mail(own, [](const packet&) { return disposition::release; });
        if (own.rank() == 0) mail.until([] { return false; });
        while (own.now_ns() < 6000) send(own, 0, 0);
        return status;
      });
    });
    EXPECT_TRUE(contains(text, "rank 1 has vanished")) << text;
    const std::string report = take(options.report);
    EXPECT_TRUE(contains(report, "\n1,0,6000,0,6000,0,0,")) << report;
  }
}

TEST(sim_kill, wakes_the_dead_for_nothing_that_comes_for_them) {
  sim_options options = priced();
  options.killed_ranks = {{.rank = 1, .at_ns = 5000, .notice_ns = 1'000'000}};
  options.report = ::testing::TempDir() + "amity_sim_dead.csv";
  bool unwound = false, alive_at_the_end = true;
  message_of([&] {
    run(2, options, [&](fabric& own) {
      testing::mailbox mail(own, [](const packet&) { return disposition::release; });
      if (own.rank() == 1) {
        struct leaving {
          bool& seen;
          ~leaving() { seen = true; }
        } const on_stack{unwound};
        mail.until([] { return false; });
      }
      while (own.now_ns() < 100'000) {
        send(own, 1, 0);
        own.wait(1000);
      }
      alive_at_the_end = !unwound;
      return 0;
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
  message_of([&] {
    run(2, options, [&](fabric& own) {
      segment mine;
      if (own.rank() == 0) {
        mine = own.remote()->create(8 * 200);
        key = mine.key;
      }
      testing::mailbox mail(own, [](const packet&) { return disposition::release; });
      if (own.rank() == 1) {
        own.wait(1000);
        const remote_segment there = own.remote()->open(0, key);
        const std::uint64_t one = 1;
        for (std::size_t i = 0; i < 200 && own.now_ns() < 8000; ++i, ++begun) {
          EXPECT_EQ(own.remote()->put(there, 8 * i, std::as_bytes(std::span(&one, 1)), {}), stage::source_free);
        }
        own.wait(forever);
      }
      while (own.now_ns() < 200'000) {
        own.poll(mail, 1);
        own.wait(1000);
      }
      const auto* const words = reinterpret_cast<const std::uint64_t*>(mine.data);
      for (std::size_t i = 0; i < 200; ++i) arrived += words[i];
      return 0;
    });
  });
  EXPECT_EQ(begun, 70u);
  EXPECT_EQ(arrived, 40u) << "what began to leave before";
}

TEST(sim_figures, count_the_flight_of_operations) {
  segment_key key;
  const auto ended = run(2, priced(), [&](fabric& own) {
    testing::mailbox mail(own, [](const packet&) { return disposition::release; });
    if (own.rank() == 1) {
      own.wait(1000);
      const std::uint64_t one = 1;
      const remote_segment there = own.remote()->open(0, key);
      EXPECT_EQ(own.remote()->put(there, 0, std::as_bytes(std::span(&one, 1)), {}), stage::source_free);
      return 0;
    }
    const segment mine = own.remote()->create(8);
    key = mine.key;
    own.wait(3 * L);
    own.poll(mail, 1);
    return 0;
  });
  EXPECT_EQ(ended.ranks.at(1).sent, 1u);
  EXPECT_EQ(ended.ranks.at(1).flight_ns, L);
}

TEST(sim_stop, peers_look_up_and_see_who_is_stopped) {
  sim_options options = priced();
  options.stopped_ranks = {{.rank = 1, .from_ns = 50, .until_ns = 3'000'000'000}};
  const auto ended = run(2, options, [](fabric& own) {
    testing::mailbox mail(own, [](const packet&) { return disposition::release; });
    if (own.rank() == 1) {
      own.wait(100);
      send(own, 0, 0);
    } else {
      own.wait(forever);
      EXPECT_EQ(own.now_ns(), 1'000'000'000u);
      EXPECT_EQ(own.trouble(), "rank 1 is stopped from 50 ns until 3000000000 ns");
      while (own.poll(mail, 1) == 0) own.wait(forever);
      EXPECT_EQ(own.trouble(), "");
    }
    return 0;
  });
  EXPECT_EQ(ended.ranks.at(1).stopped_ns, 3'000'000'000u - 100);
}

TEST(sim_order, without_it_packets_that_are_delayed_overtake) {
  sim_options options = priced();
  options.delay_ns_max = 5000;
  options.ordered = false;
  run(2, options, [](fabric& own) {
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
    return 0;
  });
  EXPECT_TRUE(describe({.ordered = false}).ordered) << "where nothing is delayed";
}

TEST(sim_back_pressure, credits_come_back_late) {
  const auto end_of = [](std::uint32_t percent) {
    sim_options options = priced();
    options.credits = 4;
    options.back_pressure_percent = percent;
    return run(2, options,
               [](fabric& own) {
                 int seen = 0;
                 testing::mailbox mail(own, [&](const packet&) {
                   ++seen;
                   return disposition::release;
                 });
                 if (own.rank() == 0) {
                   for (std::uint64_t i = 0; i < 100; ++i) mail.send(1, i);
                 } else {
                   mail.until([&] { return seen == 100; });
                 }
                 return 0;
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
  const auto ended = run(2, options, [](fabric& own) {
    int seen = 0;
    testing::mailbox mail(own, [&](const packet&) {
      ++seen;
      return disposition::release;
    });
    if (own.rank() == 0) {
      send(own, 1, 0, 200);
    } else {
      mail.until([&] { return seen == 1; });
      EXPECT_EQ(own.now_ns(), o + L + 2 * (o + 1000 + 100));
    }
    return 0;
  });
  EXPECT_EQ(ended.ranks.at(1).busy_ns, 2200u);
}

sim_result one_packet_each_way(const sim_options& options) {
  return run(2, options, [](fabric& own) {
    int seen = 0;
    testing::mailbox mail(own, [&](const packet&) {
      ++seen;
      return disposition::release;
    });
    if (own.rank() == 1) own.wait(500);
    send(own, 1 - own.rank(), 0, 30);
    mail.until([&] { return seen == 1; });
    return 0;
  });
}

TEST(sim_report, a_ranks_time_is_what_it_did_and_what_it_waited) {
  const auto ended = one_packet_each_way(priced());
  const rank_figures& first = ended.ranks.at(0);
  EXPECT_EQ(first.rank, 0);
  EXPECT_EQ(first.end_ns, 500 + o + L + o);
  EXPECT_EQ(first.network_ns, 2 * o);
  EXPECT_EQ(first.busy_ns, 0u);
  EXPECT_EQ(first.waiting_ns(), first.end_ns - 2 * o);
  EXPECT_EQ(first.sent, 1u);
  EXPECT_EQ(first.bytes_sent, 30u);
  EXPECT_EQ(first.received, 1u);
  EXPECT_EQ(first.flight_ns, L);
  EXPECT_EQ(first.late_ns, 0u);
}

TEST(sim_report, comes_as_a_table_as_csv_and_as_json) {
  const std::vector<rank_figures> ranks{{.rank = 0, .end_ns = 100, .busy_ns = 10, .network_ns = 20, .sent = 2},
                                        {.rank = 1, .end_ns = 300, .busy_ns = 30, .network_ns = 20, .sent = 4}};
  const std::string csv = as_csv(ranks);
  EXPECT_TRUE(csv.starts_with("rank,thread,end_ns,busy_ns,network_ns,waiting_ns,")) << csv;
  EXPECT_TRUE(contains(csv, "\n1,0,300,30,20,250,0,4,")) << csv;
  EXPECT_TRUE(contains(as_json(ranks), "{\"rank\":1,\"thread\":0,\"end_ns\":300,\"busy_ns\":30,")) << as_json(ranks);
  const std::string table = extremes_table(ranks);
  EXPECT_TRUE(
      contains(table, "waiting              ns            160             70           0            250           1"))
      << table;
  EXPECT_TRUE(contains(message_of([] { check_report("ranks.txt"); }), ".csv or .json"));
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

std::string trace_of(std::uint64_t seed) {
  sim_options options = priced();
  options.seed = seed;
  options.delay_ns_max = 3000;
  options.trace = ::testing::TempDir() + "amity_sim_trace.json";
  one_packet_each_way(options);
  return take(options.trace);
}

TEST(sim_trace, equal_seeds_give_equal_files) {
  const std::string once = trace_of(1);
  EXPECT_EQ(once, trace_of(1));
  EXPECT_NE(once, trace_of(2));
  EXPECT_EQ(count(once, "\"ph\":\"s\""), 2u) << once;
  EXPECT_EQ(count(once, "\"ph\":\"f\""), 2u) << once;
  EXPECT_EQ(count(once, "\"name\":\"handle\""), 2u) << once;
  EXPECT_TRUE(contains(once, "\"ts\":0.500,\"dur\":0.100,\"name\":\"send\",\"args\":{\"to\":0,\"bytes\":30}")) << once;
}

TEST(sim_trace, shows_operations_on_remote_memory) {
  using testing::everybodys_segments;
  using testing::mailbox;
  using testing::remote_user;
  sim_options options = priced();
  options.trace = ::testing::TempDir() + "amity_sim_operations.json";
  run(2, options, [](fabric& own) {
    mailbox mail(own);
    remote_user user(own, mail);
    everybodys_segments all(own, mail, 1000);
    mail.on_notify([](std::uint32_t) {});
    mail.barrier();
    if (own.rank() == 0) {
      const auto source = testing::make_payload(100, 1);
      std::vector<std::byte> back(200);
      user.start_put(all.of(1), 0, source);
      user.finish();
      user.start_notify(all.of(1), 0, source, 1);
      user.finish();
      user.start_get(all.of(1), 0, back);
      user.finish();
      user.atomic(all.of(1), 0, {.op = atomic_op::add, .operand = 1});
    }
    mail.barrier();
    return 0;
  });
  const std::string trace = take(options.trace);
  const auto shown = [&](const std::string& what) { return count(trace, what); };
  struct kind {
    std::string name;
    std::string bytes;
    std::string told;
  };
  const std::vector<kind> kinds{{"put", "100", "complete"},
                                {"put_notify", "100", "free"},
                                {"get", "200", "complete"},
                                {"atomic", "8", "complete"}};
  for (std::size_t number = 1; number <= kinds.size(); ++number) {
    const auto& [name, bytes, told] = kinds[number - 1];
    const std::string arrow = "\"name\":\"operation\",\"cat\":\"operation\",\"id\":\"" + std::to_string(number) + "\"}";
    const std::string begun = "\"dur\":0.100,\"name\":\"" + name + "\",\"args\":{\"to\":1,\"bytes\":" + bytes + "}},\n";
    const std::string arrived = "\"name\":\"" + name + "\",\"args\":{\"from\":0,\"bytes\":" + bytes + "}}";
    EXPECT_EQ(shown(arrow), 2u) << name << '\n' << trace;
    EXPECT_EQ(shown(begun + "{\"ph\":\"s\",\"pid\":0,\"tid\":0"), 1u) << name << '\n' << trace;
    EXPECT_EQ(shown(arrow + ",\n{\"ph\":\"X\",\"pid\":0,\"tid\":1"), 1u) << name << '\n' << trace;
    EXPECT_EQ(shown(arrived), 1u) << name << '\n' << trace;
    EXPECT_EQ(shown("\"name\":\"" + name + " " + told + "\""), 1u) << name << '\n' << trace;
  }
}

TEST(sim_trace, is_written_when_the_job_fails_too) {
  sim_options options = priced();
  options.trace = ::testing::TempDir() + "amity_sim_failed.json";
  message_of([&] {
    run(2, options, [](fabric& own) {
      if (own.rank() == 0) send(own, 1, 0);
      own.wait(forever);
      own.wait(forever);
      return 0;
    });
  });
  EXPECT_TRUE(take(options.trace).ends_with("]}\n"));
}

TEST(sim_trace, and_reports_name_the_ranks_of_the_program_and_their_threads) {
  sim_options options = priced();
  options.trace = ::testing::TempDir() + "amity_sim_lanes.json";
  options.killed_ranks = {{.rank = 1, .at_ns = 0}};
  const sim_options lanes = options.for_lanes(2);
  const std::string error = message_of([&] {
    run(4, lanes, [](fabric& own) {
      if (own.rank() == 1) send(own, 2, 0);
      own.wait(forever);
      own.wait(forever);
      return 0;
    });
  });
  EXPECT_TRUE(contains(error, "rank 1, thread ")) << error;
  const std::string trace = take(options.trace);
  EXPECT_TRUE(contains(trace, "{\"name\":\"rank 1, thread 1\"}")) << trace;
  EXPECT_TRUE(contains(trace, "{\"to\":\"rank 1, thread 0\",")) << trace;
  EXPECT_FALSE(contains(trace, "\"node ")) << trace;
  const std::vector<rank_figures> threads{{.rank = 2, .thread = 0, .end_ns = 5}, {.rank = 2, .thread = 1, .end_ns = 9}};
  const std::string table = extremes_table(threads);
  EXPECT_TRUE(contains(table, "2 threads")) << table;
  EXPECT_TRUE(contains(table, " 5         2.0              9         2.1")) << table;
}

TEST(sim_trace, that_cannot_be_written_says_why) {
  sim_options options = priced();
  options.trace = "/dev/full";
  const std::string why = message_of([&] { one_packet_each_way(options); });
  EXPECT_TRUE(contains(why, "cannot write AMITY_SIM_TRACE=/dev/full: No space left on device")) << why;
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
  const auto problem = [](const std::string& faults) { return message_of([&] { from(faults); }); };
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
