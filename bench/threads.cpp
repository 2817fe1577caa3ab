/// Ranks with several threads: what two threads of one rank do against two ranks, and what it costs a rank of one
/// thread that it could have more. Coalesced 8-byte messages to random slots of the other one's table, `table[slot] +=
/// 1` at the target, both sending.

#include <memory>

#include "bench/benchmarks.hpp"
#include "bench/ranks.hpp"

namespace amity::bench {
namespace {

constexpr std::uint64_t slots = 1024 * 1024;  // 8 MiB a table

/// Each thread of the job has a number and sends to the one whose number differs in the last bit. A message names a
/// slot and the thread that has it.
struct word {
  std::uint32_t slot;
  std::uint32_t thread;
};

template <class Message, class Send>
double epoch_seconds(world& w, std::uint64_t messages, Message& add, Send send) {
  w.barrier();
  const auto total_ns = wall_ns([&] {
    w.epoch([&](thread& t) {
      auto& mine = add.on(t);
      const auto peer = static_cast<std::uint32_t>((w.rank() * w.threads() + t.thread_index()) ^ 1);
      const auto threads = static_cast<std::uint32_t>(w.threads());
      const auto to = static_cast<rank_t>(peer / threads);
      xorshift64 random(peer);
      for (std::uint64_t i = 0; i < messages; ++i) send(mine, to, random() & (slots - 1), peer % threads);
    });
  });
  return w.max(total_ns * 1e-9);
}

template <class Message, class Send>
sample measure_type(world& w, std::uint64_t messages, Message& add, Send send) {
  // Where a rank is one thread, run_ranks has bound it to its core.
  if (w.threads() > 1) w.epoch([&](thread& t) { pin_to_core(t.thread_index()); });
  const auto seconds = median_of(3, [&] { return epoch_seconds(w, messages, add, send); });
  return {{"m_per_s", static_cast<double>(messages) / seconds * 1e-6}};
}

std::vector<std::unique_ptr<huge_words>> tables_for(const world& w) {
  std::vector<std::unique_ptr<huge_words>> tables;
  for (rank_t t = 0; t < w.threads(); ++t) tables.push_back(std::make_unique<huge_words>(slots));
  return tables;
}

void check(const std::vector<std::unique_ptr<huge_words>>& tables, std::uint64_t messages) {
  for (const auto& table : tables) expect_equal("sum of a table", table->sum(), 3 * messages);
}

/// Handled by the thread that a message names.
sample measure_threads(world& w, std::uint64_t messages) {
  const auto tables = tables_for(w);
  auto add = w.message<word>(
      [&](const word& m, auto& self) { ++(*tables[static_cast<std::size_t>(self.thread_index())])[m.slot]; },
      parallel{[](const word& m) { return m.thread; }}, coalesce{});
  const auto result = measure_type(w, messages, add, [](auto& mine, rank_t to, std::uint64_t slot, std::uint32_t who) {
    mine.send(to, {.slot = static_cast<std::uint32_t>(slot), .thread = who});
  });
  check(tables, messages);
  return result;
}

/// One thread a rank, with and without the policy that more would need.
sample measure_safety(world& w, std::uint64_t messages, bool safe) {
  const auto tables = tables_for(w);
  huge_words& table = *tables.front();
  const auto handler = [&](const std::uint64_t& slot) { ++table[slot]; };
  const auto send = [](auto& mine, rank_t to, std::uint64_t slot, std::uint32_t) { mine.send(to, slot); };
  sample result;
  if (safe) {
    auto add = w.message<std::uint64_t>(handler, parallel{}, coalesce{});
    result = measure_type(w, messages, add, send);
  } else {
    auto add = w.message<std::uint64_t>(handler, coalesce{});
    result = measure_type(w, messages, add, send);
  }
  check(tables, messages);
  return result;
}

int measure(job_context& job) {
  return run_ranks(job, [&](world& w) {
    const std::uint64_t messages = std::stoull(job.args.find("messages")->second);
    const auto how = job.args.find("safe");
    return how == job.args.end() ? measure_threads(w, messages) : measure_safety(w, messages, how->second == "1");
  });
}

std::string messages_of(const driver& d) { return d.tiny() ? "20000" : "20000000"; }

void drive_threads(driver& d) {
  contest jobs{d.ranks(1, {{"messages", messages_of(d)}}, {"AMITY_THREADS=2"})};
  jobs.peer = d.ranks(2, {{"messages", messages_of(d)}});
  d.compare(jobs, {{"1 rank x 2 threads", "rate a thread", "M/s", "m_per_s", "", "m_per_s", {ratio_at_least(0.9)}}});
}

void drive_safety(driver& d) {
  contest jobs{d.ranks(2, {{"messages", messages_of(d)}, {"safe", "1"}})};
  jobs.peer = d.ranks(2, {{"messages", messages_of(d)}, {"safe", "0"}});
  jobs.peer->name = "without the policy";
  d.compare(jobs, {{"parallel, one thread", "rate a rank", "M/s", "m_per_s", "", "m_per_s", {ratio_at_least(0.9)}}});
}

}  // namespace

const benchmark threads{"threads", "two threads of one rank against two ranks", drive_threads, measure};
const benchmark thread_safety_cost{"thread_safety_cost", "what it costs one thread that there could be more",
                                   drive_safety, measure};

}  // namespace amity::bench
