/// A request of 12 bytes for each word, and a reply as large. Words are a function of their slots, so that everybody
/// knows the right ones.

#include <span>
#include <vector>

#include "amity/base/large_array.hpp"
#include "amity/base/random.hpp"
#include "apps/graph/kernels/tables.hpp"

namespace amity::apps::graph {
namespace {

struct request {
  std::uint32_t slot;      ///< of the rank that is asked
  std::uint32_t position;  ///< where the source wants the word
  std::uint32_t source;    ///< rank * threads + thread
};

struct reply {
  std::uint32_t position;
  std::uint32_t halves[2];  ///< of the word, so that a reply takes 12 bytes
};
struct addressed_reply {
  reply content;
  std::uint32_t thread;
};

std::uint64_t word_at(std::uint64_t rank, std::uint64_t slot) { return splitmix64::mix(rank << 32 | slot); }

}  // namespace

table_result gather_slots(world& w, const table_options& how) {
  const auto threads = static_cast<std::uint64_t>(w.threads());
  const auto ranks = static_cast<std::uint64_t>(w.size());
  const auto index = [](const auto& who) { return static_cast<std::size_t>(who.thread_index()); };
  std::vector<large_array<std::uint64_t>> tables(threads), found(threads);
  w.epoch([&](thread& t) {
    for (std::uint64_t i = 0; i < how.slots; ++i)
      tables[index(t)].push_back(word_at(static_cast<std::uint64_t>(w.rank()), i * threads + index(t)));
    found[index(t)].resize(how.updates);
  });
  auto answer = w.message<addressed_reply>(
      [&](std::span<const addressed_reply> replies, auto& self) {
        auto& mine = found[index(self)];
        for (const auto& r : replies)
          mine[r.content.position] = r.content.halves[0] | std::uint64_t{r.content.halves[1]} << 32;
      },
      parallel{[](const addressed_reply& r) { return r.thread; }}, coalesce{});
  auto ask = w.message<request>(
      [&](std::span<const request> asked, auto& self) {
        constexpr std::size_t ahead = 16;
        const auto& table = tables[index(self)];
        auto& out = answer.on(self);
        for (std::size_t i = 0; i < asked.size(); ++i) {
          if (i + ahead < asked.size()) __builtin_prefetch(&table[asked[i + ahead].slot / threads]);
          const std::uint64_t word = table[asked[i].slot / threads];
          out.send(static_cast<rank_t>(asked[i].source / threads),
                   {{asked[i].position, {static_cast<std::uint32_t>(word), static_cast<std::uint32_t>(word >> 32)}},
                    static_cast<std::uint32_t>(asked[i].source % threads)});
        }
      },
      parallel{[](const request& r) { return r.slot; }}, coalesce{});
  // What a thread asks for, as often as it is asked.
  const auto for_each_slot = [&](const thread& t, auto visit) {
    splitmix64 random(splitmix64::mix(how.seed) + static_cast<std::uint64_t>(w.rank()) * threads + index(t));
    for (std::uint64_t i = 0; i < how.updates; ++i) {
      const std::uint64_t slot = random.below(ranks * threads * how.slots);
      visit(i, slot % ranks, slot / ranks);
    }
  };
  const meter clock(w);
  w.epoch([&](thread& t) {
    auto& mine = ask.on(t);
    const auto source = static_cast<std::uint32_t>(static_cast<std::uint64_t>(w.rank()) * threads + index(t));
    for_each_slot(t, [&](std::uint64_t i, std::uint64_t rank, std::uint64_t slot) {
      mine.send(static_cast<rank_t>(rank), {static_cast<std::uint32_t>(slot), static_cast<std::uint32_t>(i), source});
    });
  });
  table_result result{.spent = clock.read()};
  std::vector<std::uint64_t> wrong(threads);
  result.mistakes = w.epoch(
      [&](thread& t) {
        for_each_slot(t, [&](std::uint64_t i, std::uint64_t rank, std::uint64_t slot) {
          wrong[index(t)] += found[index(t)][i] != word_at(rank, slot);
        });
      },
      [&](thread& t) { return wrong[index(t)]; });
  return result;
}

}  // namespace amity::apps::graph
