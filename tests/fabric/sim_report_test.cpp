/// What the simulated fabric tells of a run: figures, report, trace.

#include <gtest/gtest.h>

#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "amity/fabric/sim/report.hpp"
#include "amity/fabric/sim/sim.hpp"
#include "amity/fabric/waiter.hpp"
#include "mailbox.hpp"
#include "payloads.hpp"
#include "remote_user.hpp"
#include "sim_ranks.hpp"

namespace amity::fabric::sim {
namespace {

using testing::forever;

constexpr std::uint64_t L = 10'000, o = 100;

TEST(sim_figures, count_the_flight_of_operations) {
  segment_key key;
  const auto ended = run_all(2, priced(), [&](fabric& own) {
    testing::mailbox mail(own, testing::done_with);
    if (own.rank() == 1) {
      wait(own, 1000);
      const std::uint64_t one = 1;
      const remote_handle there = own.remote()->open(0, key);
      EXPECT_EQ(own.remote()->put(there, 0, std::as_bytes(std::span(&one, 1)), {}), stage::source_free);
      return;
    }
    const segment mine = own.remote()->create(8);
    key = mine.key;
    wait(own, 3 * L);
    own.poll(mail, 1);
  });
  EXPECT_EQ(ended.ranks.at(1).sent, 1u);
  EXPECT_EQ(ended.ranks.at(1).flight_ns, L);
}

// Each packet counts once, whoever has sent it.
TEST(sim_report, means_are_of_packets) {
  const std::vector<rank_figures> ranks{
      {.rank = 0, .sent = 3, .received = 0, .flight_ns = 300},
      {.rank = 1, .sent = 0, .received = 4, .late_ns = 8},
      {.rank = 2, .sent = 7, .received = 6, .flight_ns = 7700, .late_ns = 42},
  };
  const std::string table = extremes_table(ranks);
  const auto line = [&](std::string_view name) {
    const std::string_view rest = std::string_view(table).substr(table.find(name));
    std::vector<std::string> words;
    std::istringstream text(std::string(rest.substr(name.size(), rest.find('\n') - name.size())));
    for (std::string word; text >> word;) words.push_back(word);
    return words;
  };
  EXPECT_EQ(line("flight, each"), (std::vector<std::string>{"ns", "800", "100", "0", "1100", "2"})) << table;
  EXPECT_EQ(line("late, each"), (std::vector<std::string>{"ns", "5", "2", "1", "7", "2"})) << table;
}

sim_result one_packet_each_way(const sim_options& options) {
  return run_all(2, options, [](fabric& own) {
    testing::mailbox mail(own, testing::done_with);
    if (own.rank() == 1) wait(own, 500);
    send(own, 1 - own.rank(), 0, 30);
    mail.until([&] { return mail.arrived() == 1; });
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
  EXPECT_TRUE(contains(error_of([] { check_report("ranks.txt"); }), ".csv or .json"));
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
  using testing::mailbox;
  using testing::remote_user;
  using testing::segments_of_all;
  sim_options options = priced();
  options.trace = ::testing::TempDir() + "amity_sim_operations.json";
  run_all(2, options, [](fabric& own) {
    mailbox mail(own);
    remote_user user(own, mail);
    segments_of_all all(own, mail, 1000);
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
  error_of([&] {
    run_all(2, options, [](fabric& own) {
      if (own.rank() == 0) send(own, 1, 0);
      wait(own, forever);
      wait(own, forever);
    });
  });
  EXPECT_TRUE(take(options.trace).ends_with("]}\n"));
}

TEST(sim_trace, and_reports_name_the_ranks_of_the_program_and_their_threads) {
  sim_options options = priced();
  options.trace = ::testing::TempDir() + "amity_sim_lanes.json";
  options.killed_ranks = {{.rank = 1, .at_ns = 0}};
  const sim_options lanes = options.for_lanes(2);
  const std::string error = error_of([&] {
    run_all(4, lanes, [](fabric& own) {
      if (own.rank() == 1) send(own, 2, 0);
      wait(own, forever);
      wait(own, forever);
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
  const std::string why = error_of([&] { one_packet_each_way(options); });
  EXPECT_TRUE(contains(why, "cannot write AMITY_SIM_TRACE=/dev/full: No space left on device")) << why;
}

}  // namespace
}  // namespace amity::fabric::sim
