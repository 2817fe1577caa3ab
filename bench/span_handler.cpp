/// The same messages handed to a handler one by one, and in spans: the fingerprint of a set of words, which is the sum
/// of their hashes. One by one the sum is stored after each message, since for all the compiler knows it is part of the
/// next one; the loop over a span keeps it in a vector register, and hashes several words at once.

#include <span>

#include "bench/benchmarks.hpp"
#include "bench/ranks.hpp"

namespace amity::bench {
namespace {

/// Rounds of xorshift (Marsaglia, 2003): shifts and exclusive ors, which every vector unit has.
constexpr std::uint32_t hash(std::uint32_t word) {
  for (int round = 0; round < 4; ++round) {
    word ^= word << 13;
    word ^= word >> 17;
    word ^= word << 5;
  }
  return word;
}

sample measure_ranks(world& w, std::uint32_t messages, bool spans) {
  std::uint32_t fingerprint = 0;
  auto one = w.message<std::uint32_t>([&](std::uint32_t word) { fingerprint += hash(word); }, coalesce{});
  auto span = w.message<std::uint32_t>(
      [&](std::span<const std::uint32_t> words) {
        std::uint32_t sum = 0;
        for (const std::uint32_t word : words) sum += hash(word);
        fingerprint += sum;
      },
      coalesce{});
  const auto flood = [&](auto& message) {
    const rank_t peer = 1 - w.rank();
    w.barrier();
    const auto total_ns = wall_ns([&] {
      w.epoch([&] {
        for (std::uint32_t word = 0; word < messages; ++word) message.send(peer, word);
      });
    });
    return w.max(total_ns * 1e-9);
  };
  constexpr std::uint32_t epochs = 5;
  const auto seconds = median_of(epochs, [&] { return spans ? flood(span) : flood(one); });
  std::uint32_t expected = 0;
  for (std::uint32_t word = 0; word < messages; ++word) expected += hash(word);
  expected *= epochs;  // modulo 2^32, like the fingerprint
  expect_equal("fingerprint", fingerprint, expected);
  return {{"m_per_s", static_cast<double>(messages) / seconds * 1e-6}};
}

void drive(driver& d) {
  contest jobs{d.ranks(2, {{"spans", "1"}})};
  jobs.peer = d.ranks(2, {{"spans", "0"}});
  jobs.peer->name = "one message a call";
  d.compare(jobs, {{"fingerprint of 4-byte words, both ways",
                    "rate a rank",
                    "M/s",
                    "m_per_s",
                    "",
                    "m_per_s",
                    {ratio_at_least(1.5)}}});
}

int measure(job_context& job) {
  const auto messages = job.scaled<std::uint32_t>(20'000'000, 20'000);
  const bool spans = job.args.find("spans")->second == "1";
  return run_ranks(job, [&](world& w) { return measure_ranks(w, messages, spans); });
}

}  // namespace

const benchmark span_handler{"span_handler", "a handler that takes spans against one that takes one message", drive,
                             measure};

}  // namespace amity::bench
