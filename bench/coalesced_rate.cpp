/// Coalesced 8-byte messages to random slots of the other rank's table, `table[slot] += 1` at the target; one way, and
/// with both ranks sending. The sender never polls.

#include <fmt/format.h>

#include "bench/benchmarks.hpp"
#include "bench/ranks.hpp"

namespace amity::bench {
namespace {

constexpr std::uint64_t small_table = 1024;         // 8 KiB
constexpr std::uint64_t large_table = 1024 * 1024;  // 8 MiB

struct traffic_plan {
  std::uint64_t ways;      ///< 1: rank 0 sends; 2: both do
  std::uint64_t slots;     ///< of a table; a power of two
  std::uint64_t messages;  ///< that a sending rank sends in an epoch
  std::uint64_t epochs;    ///< of which the median counts
  bool spans;              ///< the handler takes a whole buffer, and prefetches
};

traffic_plan read_plan(const arguments& args) {
  const auto number = [&](std::string_view name) { return std::stoull(args.find(name)->second); };
  return {number("ways"), number("slots"), number("messages"), number("epochs"), number("spans") == 1};
}

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

sample measure_ranks(world& w, const traffic_plan& plan) {
  huge_words table(plan.slots);
  xorshift64 random(static_cast<std::uint64_t>(w.rank()));
  auto add = w.message<std::uint64_t>([&](const std::uint64_t& slot) { ++table[slot]; }, coalesce{});
  auto add_span =
      w.message<std::uint64_t>([&](std::span<const std::uint64_t> slots) { add_all(table, slots); }, coalesce{});
  const auto seconds = median_of(static_cast<int>(plan.epochs), [&] {
    return plan.spans ? epoch_seconds(w, plan, add_span, random) : epoch_seconds(w, plan, add, random);
  });
  const bool receives = plan.ways == 2 || w.rank() == 1;
  expect_equal("sum of the table", table.sum(), receives ? plan.messages * plan.epochs : 0);
  return {{"m_per_s", static_cast<double>(plan.messages) / seconds * 1e-6}};
}

arguments to_arguments(const traffic_plan& plan) {
  return {{"ways", std::to_string(plan.ways)},
          {"slots", std::to_string(plan.slots)},
          {"messages", std::to_string(plan.messages)},
          {"epochs", std::to_string(plan.epochs)},
          {"spans", plan.spans ? "1" : "0"}};
}

job raw_exchange(const driver& d, const traffic_plan& plan) {
  return d.raw("shared_buffers", "raw loop", to_arguments(plan));
}

void compare_with_limit(driver& d, const std::string& config, traffic_plan plan) {
  const std::vector<asked> wanted{limit_at_least(0.75)};
  const contest each_message{d.ranks(2, to_arguments(plan)), raw_exchange(d, plan)};
  d.compare(each_message, {{config, "rate a rank", "M/s", "m_per_s", "m_per_s", "", wanted}});
  plan.spans = true;
  const contest whole_buffers{d.ranks(2, to_arguments(plan)), raw_exchange(d, plan)};
  d.compare(whole_buffers, {{config + ", handler of spans", "rate a rank", "M/s", "m_per_s", "m_per_s", "", wanted}});
}

/// Whether the rate depends on how many messages an epoch holds.
void compare_epoch_sizes(driver& d) {
  const auto million = d.tiny() ? std::uint64_t{1000} : std::uint64_t{1'000'000};
  contest jobs{d.ranks(2, to_arguments({2, large_table, million, 9, false}))};
  jobs.rounds = 3;
  d.compare(jobs, {{"flat: 1 M messages an epoch", "rate a rank", "M/s", "m_per_s"}});
  for (const std::uint64_t millions : {10, 100}) {
    jobs.peer = d.ranks(2, to_arguments({2, large_table, million, 9, false}));
    jobs.peer->name = "1 M messages an epoch";
    jobs.ours = d.ranks(2, to_arguments({2, large_table, millions * million, 1, false}));
    d.compare(jobs, {{fmt::format("flat: {} M messages an epoch", millions),
                      "rate a rank",
                      "M/s",
                      "m_per_s",
                      "",
                      "m_per_s",
                      {ratio_at_least(0.9)}}});
  }
}

void drive(driver& d) {
  const auto messages = d.tiny() ? std::uint64_t{20'000} : std::uint64_t{20'000'000};
  compare_with_limit(d, "8 KiB table, one way", {1, small_table, messages, 1, false});
  compare_with_limit(d, "8 KiB table, both ways", {2, small_table, messages, 1, false});
  compare_with_limit(d, "8 MiB table, one way", {1, large_table, messages, 1, false});
  compare_with_limit(d, "8 MiB table, both ways", {2, large_table, messages, 1, false});
  compare_epoch_sizes(d);
}

int measure(job_context& job) {
  return run_ranks(job, [&](world& w) { return measure_ranks(w, read_plan(job.args)); });
}

}  // namespace

const benchmark coalesced_rate{"coalesced_rate", "coalesced 8-byte messages to random slots of a table", drive,
                               measure};

}  // namespace amity::bench
