#pragma once

/// The frame of a job of ours: the same measurement on every rank, one sample printed by rank 0.

#include "amity/amity.hpp"
#include "amity/base/clock.hpp"
#include "bench/harness.hpp"
#include "bench/workload.hpp"

namespace amity::bench {

/// Runs `measure(world&) -> sample` on every rank; where ranks are processes or threads, each is pinned to a core.
/// Returns the status for main. What rank 0 returns is printed.
template <class Measure>
int run_ranks(job_context& job, Measure measure) {
  return amity::run(job.argc, job.argv, [&](world& w) {
    if (w.config().text("AMITY_FABRIC") != "sim") pin_to_core(w.rank());
    const sample result = measure(w);
    if (w.rank() == 0) print_sample(result);
    return 0;
  });
}

/// Nanoseconds, wall clock, that `work()` takes.
template <class Work>
double wall_ns(Work&& work) {
  const auto begin_ns = steady_now_ns();
  work();
  return static_cast<double>(steady_now_ns() - begin_ns);
}

}  // namespace amity::bench
