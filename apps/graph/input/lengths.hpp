#pragma once

/// Where the lengths of edges come from when the input's own are not wanted, or it has none.
///
/// All are a function of the edge's place in the input and of the seed, so they are the same for any number of ranks.

#include <cstdint>
#include <string>

#include "apps/graph/console/progress.hpp"
#include "apps/graph/input/graph_share.hpp"

namespace amity::apps::graph {

/// Collective: gives every edge a length, and returns a description for a person ("uniform in [0, 1), seed 1").
/// `choice`:
/// - "input": the input's own; where it has none, as "uniform";
/// - "unit": 1;
/// - "uniform": random in [0, 1);
/// - "integer": random whole numbers from 1 to 255;
/// - else the name of a file of float32, one an edge, as Graph500 keeps them.
/// Where a file does not fit, or has values that are not finite, or negative without `any_sign`, all ranks throw the
/// same `amity::error`.
std::string set_lengths(world& w, graph_share& graph, const std::string& choice, std::uint64_t seed, progress& watcher,
                        bool any_sign = false);

/// The same for edges that a generator makes with lengths that are random in [0, 1): what `choice` makes of one, and
/// the description. Throws `amity::error` for the name of a file.
float length_of(const std::string& choice, float uniform);
std::string described_lengths(const std::string& choice, std::uint64_t seed);

}  // namespace amity::apps::graph
