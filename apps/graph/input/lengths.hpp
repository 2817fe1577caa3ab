#pragma once

/// Where the weights of edges come from, and which type they have.
///
/// All are a function of the edge's place in the input and of the seed, so they are the same for any number of ranks.

#include <cstdint>
#include <string>

#include "apps/graph/console/progress.hpp"
#include "apps/graph/input/graph_share.hpp"

namespace amity::apps::graph {

/// Collective: gives every edge a weight, decides their type (`graph.type`), and returns a human-readable description
/// ("uniform in [0, 1), seed 1"). `choice`:
/// - "input": the weights of the input; if it has none, 1;
/// - "unit": 1;
/// - "uniform": random in [0, 1);
/// - "integer": random integers from 1 to 255;
/// - else the name of a file of float32, one an edge, as Graph500 keeps them.
/// The type is that of the rules. If they name none, it is int64 if all weights are integers, and double otherwise;
/// entries of a matrix (`any_sign`) are double. If a file does not fit, or has values that are not finite, or negative
/// without `any_sign`, or an integer that is not exact in double among other numbers, all ranks throw the same
/// `amity::error`.
std::string set_lengths(world& w, graph_share& graph, const std::string& choice, std::uint64_t seed, progress& watcher,
                        const weight_rules& rules = {});

/// The type that a choice other than "input" and a file has; throws `amity::error` for fractions as int64, and for the
/// name of a file.
weight_type type_of_choice(const std::string& choice, const weight_rules& rules);

/// Sets the weights of generated edges, which are random in [0, 1): the weight that `choice` makes of
/// one, and the description.
template <weight Weight>
Weight length_of(const std::string& choice, float uniform);
std::string described_lengths(const std::string& choice, std::uint64_t seed);

}  // namespace amity::apps::graph
