#pragma once

/// A search as a job: what each rank does from reading to reporting.

#include "amity/amity.hpp"
#include "apps/graph/command/options.hpp"

namespace amity::apps::graph {

/// Collective. Rank 0 reads, checks and reports. Gives the exit status, the same on all ranks: 0, or 1 for input that
/// cannot be used and for an answer that is wrong, which rank 0 has then explained on standard error.
int run_job(world& w, const options& wanted);

}  // namespace amity::apps::graph
