/// Each rank asks for words at random indices of a table that is spread over the ranks; requests and replies are
/// coalesced. A rank that asks itself sends messages as to any other.

#include "bench/benchmarks.hpp"
#include "bench/ranks.hpp"

#include <span>
#include <vector>

namespace amity::bench {
namespace {

constexpr std::uint64_t words_a_rank = 1024 * 1024;  // 8 MiB

struct request {
  std::uint32_t index;     ///< in the target's part
  std::uint32_t position;  ///< where the source wants the word
};

struct reply {
  std::uint32_t position;
  std::uint32_t halves[2];  ///< of the word, so that a reply takes 12 bytes
};

constexpr std::uint64_t word_at(std::uint64_t index) { return splitmix64::mix(index); }

sample measure_ranks(world& w, std::uint64_t requests) {
  const auto ranks = static_cast<std::uint64_t>(w.size());
  huge_words table(words_a_rank);
  for (std::uint64_t i = 0; i < words_a_rank; ++i)
    table[i] = word_at(static_cast<std::uint64_t>(w.rank()) * words_a_rank + i);
  huge_words found(requests);
  auto answer = w.message<reply>(
      [&](const reply& r) { found[r.position] = r.halves[0] | std::uint64_t{r.halves[1]} << 32; }, coalesce{});
  // One type of request for each source, so that a request need not name it.
  const auto make_request = [&](rank_t source) {
    const auto serve = [&, source](std::span<const request> asked) {
      constexpr std::size_t ahead = 16;
      for (std::size_t i = 0; i < asked.size(); ++i) {
        if (i + ahead < asked.size()) __builtin_prefetch(&table[asked[i + ahead].index]);
        const std::uint64_t word = table[asked[i].index];
        answer.send(source,
                    {asked[i].position, {static_cast<std::uint32_t>(word), static_cast<std::uint32_t>(word >> 32)}});
      }
    };
    return w.message<request>(serve, coalesce{});
  };
  auto from_first = make_request(0);
  auto from_second = make_request(1);
  auto& ask = w.rank() == 0 ? from_first : from_second;
  std::uint64_t round = 0;
  const auto seconds = median_of(5, [&] {
    const auto stream = 2 * round++ + static_cast<std::uint64_t>(w.rank());
    w.barrier();
    const auto total_ns = wall_ns([&] {
      w.epoch([&] {
        xorshift64 random(stream);
        for (std::uint64_t i = 0; i < requests; ++i) {
          const std::uint64_t index = random() & (ranks * words_a_rank - 1);
          ask.send(static_cast<rank_t>(index / words_a_rank),
                   {static_cast<std::uint32_t>(index % words_a_rank), static_cast<std::uint32_t>(i)});
        }
      });
    });
    xorshift64 random(stream);
    std::uint64_t wrong = 0;
    for (std::uint64_t i = 0; i < requests; ++i) wrong += found[i] != word_at(random() & (ranks * words_a_rank - 1));
    expect_equal("words that are wrong", wrong, 0);
    return w.max(total_ns * 1e-9);
  });
  return {{"m_per_s", static_cast<double>(requests) / seconds * 1e-6}};
}

void drive(driver& d) {
  const contest jobs{d.ranks(2)};
  d.compare(jobs, {{"8 MiB a rank", "words a rank", "M/s", "m_per_s", "", "", {at_least(75)}}});
}

int measure(job_context& job) {
  const auto requests = job.scaled<std::uint64_t>(8'000'000, 20'000);
  return run_ranks(job, [&](world& w) { return measure_ranks(w, requests); });
}

}  // namespace

const benchmark index_gather{"index_gather", "words at random indices of a table on all ranks, by request and reply",
                             drive, measure};

}  // namespace amity::bench
