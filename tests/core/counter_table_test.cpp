/// Counters that are read while their thread counts, adds handlers and removes them.

#include "amity/core/counter_table.hpp"

#include <atomic>
#include <cstdint>
#include <span>
#include <string_view>
#include <thread>

#include <gtest/gtest.h>

namespace amity::core {
namespace {

std::uint64_t sent_as(const counter_table& table, std::string_view name) {
  std::uint64_t sent = 0;
  table.read([&](std::span<const counter_table::type> types) {
    for (const auto& each : types) {
      if (each.name() == name) sent += each.counts().all.sent;
    }
  });
  return sent;
}

TEST(counter_table, reader_never_misses_counts) {
  constexpr std::uint64_t per_handler = 2000;
  constexpr handler_id handlers = 40;
  counter_table table(0);
  std::atomic<bool> is_done = false;
  std::atomic<int> reads = 0;
  std::thread reader([&] {
    for (std::uint64_t before = 0; !is_done;) {
      const std::uint64_t now = sent_as(table, "even");
      EXPECT_GE(now, before);
      before = now;
      ++reads;
    }
  });
  std::uint64_t rounds = 0;
  for (; reads < 10000; ++rounds) {
    ledger counts(2);
    for (handler_id id = 0; id < handlers; ++id) {
      table.add(id % 2 == 0 ? "even" : "odd", counts, id);
      for (std::uint64_t i = 0; i < per_handler; ++i) counts.sent(id, 1, 1, false);
    }
    for (handler_id id = 0; id < handlers; id += 3) table.remove(counts, id);
    table.add("even", counts, 0);  // a number that is given again
    table.remove(counts);
  }
  is_done = true;
  reader.join();
  EXPECT_EQ(sent_as(table, "even"), rounds * per_handler * handlers / 2);
  EXPECT_EQ(sent_as(table, "odd"), rounds * per_handler * handlers / 2);
}

TEST(counter_table, sums_over_ledgers) {
  counter_table table(3);
  ledger first(1), second(1);
  table.add("int", first, 0);
  table.add("int", second, 0);
  first.sent(0, 0, 2, false);
  second.handled(0, 0, 5, false);
  second.packet(0, 24);
  table.remove(first);
  first.sent(0, 0, 100, false);  // counted no longer
  table.read([](std::span<const counter_table::type> types) {
    ASSERT_EQ(types.size(), 1u);
    EXPECT_EQ(types[0].name(), "int");
    const handler_counts counts = types[0].counts();
    EXPECT_EQ(counts.all.sent, 2u);
    EXPECT_EQ(counts.all.handled, 5u);
    EXPECT_EQ(counts.packets.count, 1u);
    EXPECT_EQ(counts.packets.bytes, 24u);
  });
  table.remove(second);
}

}  // namespace
}  // namespace amity::core
