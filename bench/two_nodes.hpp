#pragma once

/// Jobs on two nodes: ranks 0 and 1 share one, and a third rank, if there is one, is alone on the other.

#include <unistd.h>

#include <cstdlib>
#include <string>

#include "amity/amity.hpp"
#include "bench/harness.hpp"

namespace amity::bench {

/// Sets AMITY_NODE for this rank: the launcher gives all ranks the same environment.
inline void choose_node() {
  if (const char* const rank = std::getenv("AMITY_RANK")) {
    ::setenv("AMITY_NODE", std::string(rank) == "2" ? "far" : "near", 1);
  }
}

/// Ranks 0 and 1 call `measure(part)`, which returns a sample, with a world of their own. The third rank polls now and
/// then, because it may share a CPU with them.
template <class Measure>
sample measure_near(world& w, Measure&& measure) {
  bool over = false;
  const auto end = w.endpoint().add_handler("end", [&](core::request&) { over = true; });
  sample result;
  {
    const auto part = w.split({.color = w.rank() / 2, .key = w.rank()});
    w.barrier();
    if (w.rank() < 2) result = measure(*part);
    if (w.rank() == 0 && w.size() > 2) w.endpoint().request_short(2, end);
    while (w.rank() == 2 && !over) {
      w.endpoint().progress();
      ::usleep(20'000);
    }
    w.barrier();
  }
  w.endpoint().remove_handler(end);
  return result;
}

}  // namespace amity::bench
