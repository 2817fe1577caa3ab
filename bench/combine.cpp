/// Counts by key, with and without `combine`: keys as words of a language are spread (Zipf 1.0), over a slow link under
/// the simulator and with a slow handler over shared memory; and keys that are all different, where nothing can be
/// combined and the cache is only in the way.

#include "bench/benchmarks.hpp"
#include "bench/ranks.hpp"

#include <cmath>
#include <vector>

namespace amity::bench {
namespace {

struct count_of {
  std::uint32_t key;
  std::uint32_t count;
};

constexpr std::uint64_t keys = 1024 * 1024;

/// Key k with a probability of about 1 / k: the inverse of the integral of 1 / x.
class zipf_keys {
 public:
  std::uint32_t operator()(std::uint64_t random) const {
    const double uniform = static_cast<double>(random >> 11) * 0x1p-53;
    return static_cast<std::uint32_t>(std::exp(uniform * log_keys_)) % keys;
  }

 private:
  double log_keys_ = std::log(static_cast<double>(keys));
};

/// What a handler may take that does more than count.
std::uint64_t work(std::uint64_t key, int rounds) {
  for (int i = 0; i < rounds; ++i) key = splitmix64::mix(key);
  return key;
}

struct plan {
  bool combined, skewed;
  int work_rounds;
  std::uint64_t messages;
};

template <class... Policies>
sample measure_with(world& w, const plan& what, Policies... policies) {
  huge_words table(keys);
  std::uint64_t worked = 0, counted = 0;
  auto add = w.message<count_of>(
      [&](const count_of& c) {
        table[c.key] += c.count;
        if (what.work_rounds > 0) worked ^= work(c.key, what.work_rounds);
      },
      policies...);
  // Made beforehand: a logarithm takes longer than a message.
  const zipf_keys skewed;
  xorshift64 random(static_cast<std::uint64_t>(w.rank()));
  std::vector<std::uint32_t> sequence(what.messages);
  for (std::uint64_t i = 0; i < what.messages; ++i) {
    const std::uint64_t word = random();
    sequence[i] = what.skewed ? skewed(word) : static_cast<std::uint32_t>(word >> 32) % keys;
  }
  const rank_t peer = w.size() - 1 - w.rank();
  constexpr int epochs = 5;
  const auto seconds = median_of(epochs, [&] {
    w.barrier();
    const std::uint64_t begin_ns = w.now_ns();
    w.epoch([&] {
      for (const std::uint32_t key : sequence) add.send(peer, {.key = key, .count = 1});
    });
    return w.max(static_cast<double>(w.now_ns() - begin_ns) * 1e-9);
  });
  for (std::uint64_t key = 0; key < keys; ++key) counted += table[key];
  expect_equal("messages counted", counted, what.messages * epochs);
  // A number that depends on the work keeps it from being left out.
  return {{"seconds", seconds},
          {"m_per_s", static_cast<double>(what.messages) / seconds * 1e-6},
          {"bytes", static_cast<double>(w.counters().bytes_sent) / epochs},
          {"worked", static_cast<double>(worked >> 32)}};
}

sample measure_ranks(world& w, const plan& what) {
  if (!what.combined) return measure_with(w, what, coalesce{});
  const auto key_of = [](const count_of& c) { return c.key; };
  const auto together = [](const count_of& a, const count_of& b) { return count_of{a.key, a.count + b.count}; };
  return measure_with(w, what, amity::combine{key_of, together}, coalesce{});
}

void compare_both(driver& d, const std::string& config, const arguments& args, const std::vector<std::string>& settings,
                  std::vector<figure> figures) {
  const auto job_with = [&](const char* combined) {
    auto all = args;
    all.emplace("combined", combined);
    return d.ranks(2, all, settings);
  };
  contest jobs{job_with("1")};
  jobs.peer = job_with("0");
  jobs.peer->name = "not combined";
  for (figure& each : figures) each.config = config;
  d.compare(jobs, figures);
}

figure bytes_at_most(double ratio) {
  return {"", "bytes of packets", "B", "bytes", "", "bytes", {ratio_at_most(ratio)}};
}
figure rate_at_least(double ratio) {
  return {"", "rate a rank", "M/s", "m_per_s", "", "m_per_s", {ratio_at_least(ratio)}};
}

void drive(driver& d) {
  const auto args = [&](bool skewed, int rounds, std::uint64_t messages) {
    return arguments{{"skewed", std::to_string(skewed)},
                     {"work", std::to_string(rounds)},
                     {"messages", std::to_string(d.tiny() ? 20'000 : messages)}};
  };
  compare_both(d, "Zipf, slow link (simulated, 100 MB/s)", args(true, 0, 1'000'000),
               {"AMITY_FABRIC=sim", "AMITY_SIM_BYTE_PS=10000"},
               {bytes_at_most(1), {"", "virtual time", "s", "seconds", "", "seconds", {ratio_at_most(1)}}});
  compare_both(d, "Zipf, slow handler", args(true, 20, 4'000'000), {}, {bytes_at_most(1), rate_at_least(1)});
  compare_both(d, "Zipf, handler that counts", args(true, 0, 8'000'000), {},
               {bytes_at_most(1), {"", "rate a rank", "M/s", "m_per_s", "", "m_per_s"}});
  compare_both(d, "uniform, next to nothing to combine", args(false, 0, 8'000'000), {},
               {bytes_at_most(1), rate_at_least(0.9)});
}

int measure(job_context& job) {
  const auto number = [&](std::string_view name) { return std::stoull(job.args.find(name)->second); };
  const plan what{number("combined") == 1, number("skewed") == 1, static_cast<int>(number("work")), number("messages")};
  return run_ranks(job, [&](world& w) { return measure_ranks(w, what); });
}

}  // namespace

const benchmark combine_keys{"combine", "counts by key, with the policy combine and without it", drive, measure};

}  // namespace amity::bench
