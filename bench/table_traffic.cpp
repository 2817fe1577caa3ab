#include "bench/table_traffic.hpp"

#include <span>

#include "bench/ranks.hpp"

namespace amity::bench {
namespace {

/// Adds one to each slot; the slots' lines are asked for some messages ahead.
void add_all(huge_words& table, std::span<const std::uint64_t> slots) {
  constexpr std::size_t ahead = 16;
  std::size_t i = 0;
  for (; i + ahead < slots.size(); ++i) {
    __builtin_prefetch(&table[slots[i + ahead]], 1);
    ++table[slots[i]];
  }
  for (; i < slots.size(); ++i) ++table[slots[i]];
}

/// Seconds of one epoch in which this rank sends `messages` to its peer.
template <class Message>
double epoch_seconds(world& w, const traffic_plan& plan, Message& add, xorshift64& random) {
  const rank_t peer = 1 - w.rank();
  const auto messages = plan.ways == 2 || w.rank() == 0 ? plan.messages : 0;
  const auto mask = plan.slots - 1;
  w.barrier();
  const auto total_ns = wall_ns([&] {
    w.epoch([&] {
      // A copy that the compiler can keep in registers: what it does not see might change the original.
      auto own_random = random;
      for (std::uint64_t i = 0; i < messages; ++i) add.send(peer, own_random() & mask);
      random = own_random;
    });
  });
  return w.max(total_ns * 1e-9);
}

}  // namespace

arguments traffic_plan::to_arguments() const {
  return {{"ways", std::to_string(ways)},
          {"slots", std::to_string(slots)},
          {"messages", std::to_string(messages)},
          {"epochs", std::to_string(epochs)},
          {"spans", spans ? "1" : "0"}};
}

traffic_plan traffic_plan::from(const arguments& args) {
  const auto number = [&](std::string_view name) { return std::stoull(args.find(name)->second); };
  return {number("ways"), number("slots"), number("messages"), number("epochs"), number("spans") == 1};
}

coalesce packets_of(const arguments& args) {
  const auto found = args.find("packets");
  if (found == args.end()) return {};
  return found->second == "automatic" ? coalesce::automatic : coalesce{.bytes = std::stoull(found->second)};
}

sample measure_traffic(world& w, const traffic_plan& plan, coalesce packets) {
  huge_words table(plan.slots);
  xorshift64 random(static_cast<std::uint64_t>(w.rank()));
  auto add = w.message<std::uint64_t>([&](const std::uint64_t& slot) { ++table[slot]; }, packets);
  auto add_span =
      w.message<std::uint64_t>([&](std::span<const std::uint64_t> slots) { add_all(table, slots); }, packets);
  core::traffic before;
  const auto seconds = median_of(static_cast<int>(plan.epochs), [&] {
    before = w.counters();
    return plan.spans ? epoch_seconds(w, plan, add_span, random) : epoch_seconds(w, plan, add, random);
  });
  const auto packets_sent = std::max<std::uint64_t>(1, w.counters().packets_sent - before.packets_sent);
  const bool receives = plan.ways == 2 || w.rank() == 1;
  expect_equal("sum of the table", table.sum(), receives ? plan.messages * plan.epochs : 0);
  return {{"m_per_s", static_cast<double>(plan.messages) / seconds * 1e-6},
          {"packet_bytes",
           static_cast<double>(w.counters().bytes_sent - before.bytes_sent) / static_cast<double>(packets_sent)}};
}

job raw_exchange(const driver& d, const traffic_plan& plan) {
  return d.raw("shared_buffers", "raw loop", plan.to_arguments());
}

}  // namespace amity::bench
