/// More ranks than cores: eight ranks on two cores send coalesced messages all to all, against two ranks that send as
/// many in all.

#include "bench/benchmarks.hpp"
#include "bench/ranks.hpp"

namespace amity::bench {
namespace {

constexpr std::uint64_t slots = 1024;

/// A rank other than `me`, uniformly, from the upper half of a random word.
rank_t other_rank(std::uint64_t random, rank_t me, rank_t ranks) {
  const auto among_others = static_cast<rank_t>(((random >> 32) * static_cast<std::uint64_t>(ranks - 1)) >> 32);
  return among_others < me ? among_others : among_others + 1;
}

sample measure_ranks(world& w, std::uint64_t messages_of_job) {
  huge_words table(slots);
  const auto messages = messages_of_job / static_cast<std::uint64_t>(w.size());
  auto add = w.message<std::uint64_t>([&](const std::uint64_t& slot) { ++table[slot]; }, coalesce{});
  w.barrier();
  const auto total_ns = wall_ns([&] {
    w.epoch([&] {
      xorshift64 random(static_cast<std::uint64_t>(w.rank()));
      for (std::uint64_t i = 0; i < messages; ++i) {
        const auto word = random();
        add.send(other_rank(word, w.rank(), w.size()), word % slots);
      }
    });
  });
  const auto sent = messages * static_cast<std::uint64_t>(w.size());
  expect_equal("sum of the tables", w.sum(table.sum()), sent);
  return {{"m_per_s", static_cast<double>(sent) / w.max(total_ns) * 1e3}};
}

void drive(driver& d) {
  contest jobs{d.ranks(8)};
  jobs.peer = d.ranks(2);
  d.compare(jobs,
            {{"8 ranks on 2 cores", "rate of all ranks", "M/s", "m_per_s", "", "m_per_s", {ratio_at_least(0.6)}}});
}

int measure(job_context& job) {
  const auto messages = job.scaled<std::uint64_t>(40'000'000, 40'000);
  return run_ranks(job, [&](world& w) { return measure_ranks(w, messages); });
}

}  // namespace

const benchmark oversubscribed_rate{"oversubscribed_rate", "eight ranks on two cores, all to all, against two ranks",
                                    drive, measure};

}  // namespace amity::bench
