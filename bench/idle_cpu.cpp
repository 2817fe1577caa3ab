/// What waiting costs: processor time of a rank that waits in an epoch for one that is busy elsewhere.

#include <sys/resource.h>

#include <thread>

#include "bench/benchmarks.hpp"
#include "bench/ranks.hpp"

namespace amity::bench {
namespace {

/// Processor time of this process so far, in user and system mode.
double cpu_ns() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto to_ns = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_usec) * 1e3;
  };
  return to_ns(usage.ru_utime) + to_ns(usage.ru_stime);
}

sample measure_ranks(world& w, std::chrono::milliseconds busy) {
  std::uint64_t arrived = 0;
  auto note = w.message<std::uint64_t>([&](const std::uint64_t& value) { arrived += value; });
  const auto cpu_before_ns = cpu_ns();
  const auto total_ns = wall_ns([&] {
    w.epoch([&] {
      note.send(1 - w.rank(), 1);
      // Busy elsewhere: asleep, so that the waiting rank has a core to itself and could burn it.
      if (w.rank() == 0) std::this_thread::sleep_for(busy);
    });
  });
  const double share = (cpu_ns() - cpu_before_ns) / total_ns * 100;
  expect_equal("messages", arrived, 1);
  return {{"share_percent", w.max(w.rank() == 1 ? share : 0)}};
}

void drive(driver& d) {
  contest jobs{d.ranks(2)};
  jobs.rounds = 1;
  const auto* config = d.tiny() ? "rank that waits 0.2 s in an epoch" : "rank that waits 10 s in an epoch";
  d.compare(jobs, {{config, "processor time", "% of a core", "share_percent", "", "", {at_most(1)}}});
}

int measure(job_context& job) {
  const auto busy = job.scaled(std::chrono::milliseconds(10'000), std::chrono::milliseconds(200));
  return run_ranks(job, [&](world& w) { return measure_ranks(w, busy); });
}

}  // namespace

const benchmark idle_cpu{"idle_cpu", "processor time of a rank that waits in an epoch", drive, measure};

}  // namespace amity::bench
