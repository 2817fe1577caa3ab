/// One message of 8 bytes for each count: the slot, whose owner adds one to it.

#include <span>
#include <vector>

#include "amity/base/large_array.hpp"
#include "amity/base/random.hpp"
#include "apps/graph/kernels/tables.hpp"

namespace amity::apps::graph {
namespace {

/// Adds one to each slot; the slots' lines are asked for some messages ahead.
void add_all(large_array<std::uint64_t>& table, std::span<const std::uint64_t> slots, std::uint64_t threads) {
  constexpr std::size_t ahead = 16;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    if (i + ahead < slots.size()) __builtin_prefetch(&table[slots[i + ahead] / threads], 1);
    ++table[slots[i] / threads];
  }
}

}  // namespace

table_result count_slots(world& w, const table_options& how) {
  const auto threads = static_cast<std::uint64_t>(w.threads());
  const auto ranks = static_cast<std::uint64_t>(w.size());
  std::vector<large_array<std::uint64_t>> tables(threads);
  w.epoch([&](thread& t) { tables[static_cast<std::size_t>(t.thread_index())].resize(how.slots); });
  // A slot of a rank belongs to the thread that its number is congruent to.
  auto add = w.message<std::uint64_t>(
      [&](std::span<const std::uint64_t> slots, auto& self) {
        add_all(tables[static_cast<std::size_t>(self.thread_index())], slots, threads);
      },
      parallel{[](const std::uint64_t& slot) { return slot; }}, coalesce{});
  const meter clock(w);
  w.epoch([&](thread& t) {
    auto& mine = add.on(t);
    splitmix64 random(splitmix64::mix(how.seed) + static_cast<std::uint64_t>(w.rank()) * threads +
                      static_cast<std::uint64_t>(t.thread_index()));
    for (std::uint64_t i = 0; i < how.updates; ++i) {
      const std::uint64_t slot = random.below(ranks * threads * how.slots);
      mine.send(static_cast<rank_t>(slot % ranks), slot / ranks);
    }
  });
  table_result result{.spent = clock.read()};
  std::uint64_t sum = 0;
  for (const auto& table : tables) {
    for (const std::uint64_t count : table) sum += count;
  }
  result.mistakes = ranks * threads * how.updates - w.sum(sum);
  return result;
}

}  // namespace amity::apps::graph
