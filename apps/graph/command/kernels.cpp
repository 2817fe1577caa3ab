#include "apps/graph/command/kernels.hpp"

#include <array>

namespace amity::apps::graph {

int run_bfs(session& job);
int run_sssp(session& job);
int run_components(session& job);
int run_pagerank(session& job);
int run_triangles(session& job);
int run_spmv(session& job);
int run_explore(session& job);
int run_histogram(session& job);
int run_gather(session& job);
int run_graph500(session& job);

namespace {

constexpr auto table = std::to_array<kernel>({
    {"bfs",
     "Breadth-first search: distances from the root in edges, and a tree of parents",
     {.root = true, .direction = true, .top = true},
     run_bfs},
    {"sssp",
     "Single-source shortest paths: smallest sum of weights from the root to each vertex",
     {.root = true, .direction = true, .top = true, .lengths = true},
     run_sssp},
    {"components", "Connected components, regardless of the direction of edges", {}, run_components},
    {"pagerank",
     "PageRank: stationary distribution of a random walk with restarts",
     {.top = true, .iterations = true},
     run_pagerank},
    {"triangles", "Triangle count and clustering coefficient", {.per_vertex = false}, run_triangles},
    {"spmv",
     "Product of the transposed adjacency matrix, whose entries are the weights, and a vector",
     {.lengths = true, .entries = true},
     run_spmv},
    {"explore", "Set of vertices that are reachable from the root, found in any order", {.root = true}, run_explore},
    {"histogram", "Increments of random slots of a distributed table", {.graph = false, .table = true}, run_histogram},
    {"gather",
     "Reads of random slots of a distributed table, by request and reply",
     {.graph = false, .table = true},
     run_gather},
    {"graph500",
     "Graph500 benchmark: 64 searches of a Kronecker graph, with the output of the reference code",
     {.graph = false, .benchmark = true},
     run_graph500},
});

}  // namespace

std::span<const kernel> kernel_table() { return table; }

}  // namespace amity::apps::graph
