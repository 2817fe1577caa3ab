#pragma once

/// Whether a search's answer is right.

#include <string>

#include "apps/graph/input/labels.hpp"
#include "apps/graph/kernels/paths.hpp"
#include "apps/graph/store/csr.hpp"

namespace amity::apps::graph {

/// Compares with the sequential answer: every distance is equal, and every parent is joined to its child by an edge
/// that explains the child's distance. Gives the first mistake with the vertex's label and both values; empty if there
/// is none. Both algorithms add lengths up from the root on, so distances are equal to the last bit.
std::string find_mistake(const csr<arc>& graph, const labels& names, vertex root, const paths<level>& found);
std::string find_mistake(const csr<arc>& graph, const labels& names, vertex root, const paths<weight>& found);

}  // namespace amity::apps::graph
