#pragma once

/// Where Graph500's searches begin, and how many edges each of them counts for.

#include <cstdint>
#include <vector>

#include "amity/amity.hpp"
#include "apps/graph/kernels/answer.hpp"
#include "apps/graph/store/distributed_graph.hpp"

namespace amity::apps::graph {

/// Collective: the places of `count` different vertices, drawn by `seed` from those with an arc to another vertex; of
/// all of these where there are fewer. The vertices are the same, in the same order, for any number of ranks and
/// threads.
template <class Arc>
std::vector<vertex> search_roots(world& w, const distributed_graph<Arc>& graph, std::uint64_t seed, std::size_t count);

/// Collective, of a simple graph (`build_options`): the input's edges that leave what a search has reached, each
/// counted once, repeated edges too, but no loops. On an undirected graph these are the edges of the component. So
/// counts the reference code; the specification ("Performance metrics") has loops count.
template <class Arc, class Distance>
std::uint64_t traversed_edges(world& w, const distributed_graph<Arc>& graph, const answer<Distance>& found);

}  // namespace amity::apps::graph
