/// Counters of message types: in code, and as the table at the end of the job.

#include <cstdint>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "amity/amity.hpp"
#include "tests/support/programs.hpp"
#include "tests/support/worlds.hpp"

namespace amity {

struct rarely_sent {
  std::uint64_t content[2];
};

namespace {

class message_counters_of : public testing::on_jobs {};
INSTANTIATE_TEST_SUITE_P(message, message_counters_of, ::testing::ValuesIn(testing::some_jobs()), testing::job_name);

TEST_P(message_counters_of, packets_and_their_fill) {
  run([](world& w) {
    // A number is given again after its type has ended: its counts begin anew.
    for (int round = 0; round < 2; ++round) {
      const rank_t next = (w.rank() + 1) % w.size();
      auto alone = w.message<std::uint32_t>([](std::uint32_t) {});
      auto coalesced = w.message<std::uint32_t>([](std::uint32_t) {}, coalesce{.count = 4});
      auto text = w.message<std::string>([](const std::string&) {}, coalesce{.bytes = 100});
      EXPECT_EQ(coalesced.counters().mean_fill(), 0);
      w.epoch([&] {
        for (std::uint32_t i = 0; i < 10; ++i) alone.send(next, i);
      });
      w.epoch([&] {
        for (std::uint32_t i = 0; i < 4; ++i) coalesced.send(next, i);
      });
      w.epoch([&] { coalesced.send(next, 4); });
      w.epoch([&] { text.send(next, std::string(20, 'x')); });

      EXPECT_EQ(alone.counters().packets, 10u);
      EXPECT_EQ(alone.counters().bytes, 40u);
      EXPECT_EQ(alone.counters().mean_fill(), 1);
      EXPECT_EQ(coalesced.counters().sent, 5u);
      EXPECT_EQ(coalesced.counters().packets, 2u);
      EXPECT_EQ(coalesced.counters().bytes, 20u);
      EXPECT_EQ(coalesced.counters().mean_fill(), 20.0 / 32);
      EXPECT_EQ(text.counters().packets, 1u);
      EXPECT_EQ(text.counters().mean_fill(), static_cast<double>(text.counters().bytes) / 100);
      EXPECT_GT(text.counters().bytes, 20u);
    }
  });
}

TEST_P(message_counters_of, what_is_handled_here_and_what_is_routed) {
  run([](world& w) {
    std::uint64_t handled = 0;
    auto message = w.message<int>([&](int) { ++handled; }, deliver_locally{}, route{grid()}, coalesce{});
    w.epoch([&] {
      for (rank_t dest = 0; dest < w.size(); ++dest) {
        for (int i = 0; i < 5; ++i) message.send(dest, i);
      }
    });
    const auto expected = 5 * static_cast<std::uint64_t>(w.size());
    EXPECT_EQ(handled, expected);
    EXPECT_EQ(message.counters().sent, expected);
    EXPECT_EQ(message.counters().handled, expected);
  });
}

TEST_P(message_counters_of, look_ups_in_caches) {
  run([](world& w) {
    const auto itself = [](int i) { return i; };
    const auto first = [](int a, int) { return a; };
    auto message = w.message<int>([](int) {}, unique{direct_mapped{1}}, combine{itself, first}, coalesce{});
    w.epoch([&] {
      for (const int i : {1, 1, 2, 1, 1}) message.send(0, i);
    });
    const message_counters counted = message.counters();
    EXPECT_EQ(counted.dropped, 2u);   // 1 after 1, twice
    EXPECT_EQ(counted.combined, 1u);  // the second 1 that is not dropped
    EXPECT_EQ(counted.cache_hits(), 3u);
    EXPECT_EQ(counted.cache_misses, 3u + 2u);
    EXPECT_EQ(counted.sent, 2u);
  });
}

/// The columns of the table's line for a type, without spaces inside; empty if there is none.
std::vector<std::string> columns_of(const std::string& table, const std::string& name) {
  std::istringstream lines(table);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(name + " ")) continue;
    std::istringstream words(line.substr(name.size()));
    std::vector<std::string> columns;
    for (std::string word; words >> word;) columns.push_back(word);
    return columns;
  }
  return {};
}

void send_some(world& w) {
  const rank_t next = (w.rank() + 1) % w.size();
  for (int round = 0; round < 2; ++round) {  // two types of one name, one after the other
    auto message = w.message<int>([](int) {}, unique{}, coalesce{.count = 8});
    w.epoch([&] {
      for (const int i : {1, 2, 3, 3}) message.send(next, i);
    });
  }
  auto unused = w.message<float>([](float) {});
  auto other = w.message<rarely_sent>([](const rarely_sent&) {});
  w.epoch([&] {
    if (w.rank() == 0) other.send(next, {});
    if (w.rank() == 0) w.async(next, [] {});
  });
}

TEST(counters_table, sums_over_all_ranks) {
  for (const std::string fabric : {"sim", "threads"}) {
    for (const int ranks : {1, 2, 3, 4, 8}) {
      const std::vector<std::string> config{"AMITY_FABRIC=" + fabric, "AMITY_RANKS=" + std::to_string(ranks),
                                            "AMITY_MESSAGE_COUNTERS=1"};
      const auto ended = testing::outcome_of(settings::from_list(config), send_some);
      EXPECT_EQ(ended.status, 0);
      const auto count = [ranks](int each) { return std::to_string(each * ranks); };
      const std::vector<std::string> ints{count(6),  count(6), count(2), "0",    count(2),
                                          count(24), "37.5",   "%",      "25.0", "%"};
      EXPECT_EQ(columns_of(ended.errors, "int"), ints) << ended.errors;
      const std::vector<std::string> rare{"1", "1", "0", "0", "1", "16", "100.0", "%", "-"};
      EXPECT_EQ(columns_of(ended.errors, "amity::rarely_sent"), rare) << ended.errors;
      EXPECT_EQ(columns_of(ended.errors, "async").size(), 8u) << ended.errors;
      EXPECT_TRUE(columns_of(ended.errors, "float").empty()) << ended.errors;
      EXPECT_EQ(ended.errors.find("messages by type"), ended.errors.rfind("messages by type")) << "one table";
    }
  }
}

TEST(counters_table, is_printed_on_request_only) {
  const auto ended = testing::outcome_of(testing::shape("sim", 3, 1), send_some);
  EXPECT_EQ(ended.status, 0);
  EXPECT_EQ(ended.errors, "");
}

}  // namespace
}  // namespace amity
