/// How many events a second the simulator gets through with 4,096 ranks, a core on top of each: a token that goes
/// round, reductions, and a storm of requests to random ranks that are all echoed. An event is the arrival of a packet.

#include <sys/resource.h>

#include "bench/benchmarks.hpp"
#include "bench/ranks.hpp"
#include "bench/raw/raw.hpp"

namespace amity::bench {
namespace {

/// Packets that arrived, and the real time that they took.
struct progress_made {
  std::uint64_t events = 0;
  double wall_ns = 0;

  double m_per_s() const { return static_cast<double>(events) / wall_ns * 1e3; }
};

/// Runs `work()`, which makes `events` packets arrive, from the first rank's start to the last one's end. Collective.
template <class Work>
progress_made timed(world& w, std::uint64_t events, Work work) {
  w.barrier();
  const auto total_ns = wall_ns([&] {
    work();
    w.barrier();
  });
  return {events, total_ns};
}

std::uint64_t ranks_of(const world& w) { return static_cast<std::uint64_t>(w.size()); }

/// One token goes round all ranks `laps` times.
progress_made ring(world& w, std::uint64_t laps) {
  auto& endpoint = w.endpoint();
  const rank_t next = (w.rank() + 1) % w.size();
  std::uint64_t taken = 0;
  const auto token = endpoint.add_handler("token", [&](core::request&) { ++taken; });
  const auto made = timed(w, laps * ranks_of(w), [&] {
    for (std::uint64_t lap = 1; lap <= laps; ++lap) {
      if (w.rank() == 0) endpoint.request_short(next, token);
      endpoint.wait_until("ring", [&] { return taken == lap; });
      if (w.rank() != 0) endpoint.request_short(next, token);
    }
  });
  expect_equal("laps of the token", taken, laps);
  endpoint.remove_handler(token);
  return made;
}

/// A reduction takes a packet up the tree and one down for each rank but the root.
progress_made reductions(world& w, std::uint64_t count) {
  const auto ranks = ranks_of(w);
  return timed(w, count * 2 * (ranks - 1), [&] {
    for (std::uint64_t i = 0; i < count; ++i) {
      expect_equal("sum of the ranks", w.sum(static_cast<std::uint64_t>(w.rank())), ranks * (ranks - 1) / 2);
    }
  });
}

/// Every rank sends `count` requests to random ranks and waits for all echoes.
progress_made storm(world& w, std::uint64_t count) {
  auto& endpoint = w.endpoint();
  std::uint64_t echoes = 0;
  const auto echo = endpoint.add_handler("echo", [&](core::request& from) { echoes += from.args()[0]; });
  const auto shout = endpoint.add_handler("shout", [&](core::request& from) { from.reply_short(echo, from.args()); });
  xorshift64 random(static_cast<std::uint64_t>(w.rank()));
  const auto made = timed(w, 2 * count * ranks_of(w), [&] {
    for (std::uint64_t i = 0; i < count; ++i) {
      const auto dest = static_cast<rank_t>((random() >> 33) % ranks_of(w));
      endpoint.request_short(dest, shout, {1});
    }
    endpoint.wait_until("storm", [&] { return echoes == count; });
  });
  expect_equal("echoes", echoes, count);
  endpoint.remove_handler(shout);
  endpoint.remove_handler(echo);
  return made;
}

double peak_memory_mb() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) * 1024 * 1e-6;
}

sample measure_ranks(world& w, const job_context& job) {
  const auto token = ring(w, job.scaled<std::uint64_t>(20, 2));
  const auto sums = reductions(w, job.scaled<std::uint64_t>(50, 2));
  const auto echoes = storm(w, job.scaled<std::uint64_t>(100, 5));
  const progress_made all{token.events + sums.events + echoes.events, token.wall_ns + sums.wall_ns + echoes.wall_ns};
  return {{"ring_m_per_s", token.m_per_s()},
          {"reductions_m_per_s", sums.m_per_s()},
          {"storm_m_per_s", echoes.m_per_s()},
          {"all_m_per_s", all.m_per_s()},
          {"memory_mb", peak_memory_mb()}};
}

void drive(driver& d) {
  const int ranks = d.tiny() ? 64 : 4096;
  // As `amity sim` starts programs.
  contest jobs{d.ranks(ranks, {}, {"AMITY_FABRIC=sim", "GLIBC_TUNABLES=glibc.malloc.hugetlb=1"})};
  jobs.limit = d.raw(fiber_letters.name, "raw fibers", {{"fibers", std::to_string(ranks)}});
  jobs.rounds = 5;
  const auto config = std::to_string(ranks) + " sim ranks, ";
  d.compare(jobs, {
                      {config + "token ring", "events", "M/s", "ring_m_per_s"},
                      {config + "reductions", "events", "M/s", "reductions_m_per_s"},
                      {config + "storm with echo", "events", "M/s", "storm_m_per_s", "m_per_s"},
                      {config + "all three", "events", "M/s", "all_m_per_s", "", "", {at_least(2)}},
                      {config + "all three", "peak memory", "MB", "memory_mb", "", "", {at_most(256)}},
                  });
}

int measure(job_context& job) {
  return run_ranks(job, [&](world& w) { return measure_ranks(w, job); });
}

}  // namespace

const benchmark sim_events{"sim_events", "events a second and peak memory of 4,096 simulated ranks", drive, measure};

}  // namespace amity::bench
