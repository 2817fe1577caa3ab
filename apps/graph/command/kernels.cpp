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
     "Breadth-first search: the fewest edges from the root to each vertex",
     {.root = true, .direction = true, .top = true},
     run_bfs},
    {"sssp",
     "Shortest paths: the least sum of lengths from the root to each vertex",
     {.root = true, .direction = true, .top = true, .lengths = true},
     run_sssp},
    {"components", "Connected components: which vertices hang together", {}, run_components},
    {"pagerank",
     "PageRank: how often a walk along arcs at random comes by",
     {.top = true, .iterations = true},
     run_pagerank},
    {"triangles", "Triangles: how many three vertices are joined to each other", {.per_vertex = false}, run_triangles},
    {"spmv",
     "Product of a vector and the transposed matrix of the graph, whose entries are lengths",
     {.lengths = true, .entries = true},
     run_spmv},
    {"explore", "Exploration: what can be reached from the root, in no order", {.root = true}, run_explore},
    {"histogram",
     "Counts at random slots of a table that is spread over the ranks",
     {.graph = false, .table = true},
     run_histogram},
    {"gather",
     "Reads of random slots of such a table, by request and reply",
     {.graph = false, .table = true},
     run_gather},
    {"graph500",
     "The Graph500 benchmark: 64 searches of a Kronecker graph, in the output of its reference code",
     {.graph = false, .benchmark = true},
     run_graph500},
});

}  // namespace

std::span<const kernel> kernel_table() { return table; }

}  // namespace amity::apps::graph
