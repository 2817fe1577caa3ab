#pragma once

/// The frame of a sequential program: loads a graph, searches from some roots, checks the first answer, prints a
/// sample.

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <limits>
#include <string>
#include <vector>

#include "bench/compare/csr.hpp"
#include "bench/compare/rates.hpp"

namespace amity::bench::compare {

constexpr vertex no_vertex = std::numeric_limits<vertex>::max();

inline void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "wrong answer: %s\n", what);
  std::exit(1);
}

template <class Work>
double seconds_of(Work&& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// Whether `distance` and `parent` are a tree of shortest paths: no arc leads to its target on a shorter way, and each
/// parent's arc on one that is as long as the distance. `length_of(arc)` is a number that is not negative.
template <class Arc, class Distance, class Length>
void check_paths(const rows<Arc>& out, vertex root, const std::vector<Distance>& distance,
                 const std::vector<vertex>& parent, Length&& length_of) {
  std::vector<bool> confirmed(out.size());
  confirmed[root] = distance[root] == 0 && parent[root] == root;
  for (vertex v = 0; v < out.size(); ++v) {
    if (parent[v] == no_vertex) continue;
    for (const Arc& a : out[v]) {
      const auto [target, length] = length_of(a);
      require(parent[target] != no_vertex && distance[target] <= distance[v] + length, "there is a shorter path");
      if (parent[target] == v && distance[target] == distance[v] + length) confirmed[target] = true;
    }
  }
  for (vertex v = 0; v < out.size(); ++v) {
    require(confirmed[v] || parent[v] == no_vertex, "a parent does not lead to its child");
  }
}

/// Usage: PROGRAM erdos_renyi|kronecker SCALE ROOTS. `Search(graph)` prepares, `search(root)` is what is timed,
/// `search.parent` its answer; `search.check(root)` does not return if that is wrong.
template <class Search>
int run_searches(int argc, char** argv) try {
  if (argc < 4) throw std::invalid_argument("usage: " + std::string(argv[0]) + " erdos_renyi|kronecker SCALE ROOTS");
  sequential_graph g = load(graph(argv[1], std::atoi(argv[2])), static_cast<std::size_t>(std::atoi(argv[3])));
  Search search(g);
  search(g.roots.front());
  search.check(g.roots.front());
  rates found;
  for (const vertex root : g.roots) {
    const double seconds = seconds_of([&] { search(root); });
    found.add(g.edges_within([&](vertex v) { return search.parent[v] != no_vertex; }), seconds);
  }
  std::printf("{");
  found.print("", "}\n");
  return 0;
} catch (const std::exception& failure) {
  std::fprintf(stderr, "%s\n", failure.what());
  return 2;
}

}  // namespace amity::bench::compare
