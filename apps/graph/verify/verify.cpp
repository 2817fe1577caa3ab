#include "apps/graph/verify/verify.hpp"

#include <fmt/format.h>

#include <span>

#include "apps/graph/verify/sequential.hpp"

namespace amity::apps::graph {
namespace {

template <class Distance>
std::string name_of(Distance distance) {
  return distance == unreached<Distance> ? "unreached" : fmt::format("{}", distance);
}

template <class Distance>
std::string compare_distances(const labels& names, const paths<Distance>& found, const paths<Distance>& expected) {
  for (vertex v = 0; v < found.distance.size(); ++v) {
    if (found.distance[v] == expected.distance[v]) continue;
    return fmt::format("vertex {}: distance {}, but {} in the sequential answer", names.text(v),
                       name_of(found.distance[v]), name_of(expected.distance[v]));
  }
  return {};
}

/// `step(arc)` is what an arc adds to the distance. Looks at each arc once, whatever the degrees.
template <class Distance, class Step>
std::string check_parents(const csr<arc>& graph, const labels& names, vertex root, const paths<Distance>& found,
                          Step step) {
  std::vector<bool> explained(graph.rows());
  explained[root] = found.parent[root] == root;
  for (vertex source = 0; source < graph.rows(); ++source) {
    if (found.distance[source] == unreached<Distance>) continue;
    for (const arc& a : graph[source]) {
      if (a.target == root || found.parent[a.target] != source) continue;
      if (found.distance[source] + step(a) == found.distance[a.target]) explained[a.target] = true;
    }
  }
  for (vertex v = 0; v < graph.rows(); ++v) {
    const bool reached = found.distance[v] != unreached<Distance>;
    if (!reached && found.parent[v] != no_vertex) {
      return fmt::format("vertex {}: unreached, but its parent is {}", names.text(v), names.text(found.parent[v]));
    }
    if (!reached || explained[v]) continue;
    const vertex parent = found.parent[v];
    if (parent >= graph.rows()) return fmt::format("vertex {}: reached, but it has no parent", names.text(v));
    return fmt::format("vertex {}: distance {}, but no edge from its parent {} at distance {} explains that",
                       names.text(v), name_of(found.distance[v]), names.text(parent), name_of(found.distance[parent]));
  }
  return {};
}

/// Edges of length 0 could explain the distances along a cycle of parents, which leads nowhere.
std::string check_rooted(const labels& names, vertex root, std::span<const vertex> parents) {
  std::vector<vertex> walked_for(parents.size(), no_vertex);  // by whom a vertex was first passed on the way up
  walked_for[root] = root;
  for (vertex v = 0; v < parents.size(); ++v) {
    if (parents[v] == no_vertex) continue;
    vertex at = v;
    for (; walked_for[at] == no_vertex; at = parents[at]) walked_for[at] = v;
    if (walked_for[at] == v && at != root) {
      return fmt::format("vertex {}: its parents lead back to {}, never to the root", names.text(v), names.text(at));
    }
  }
  return {};
}

template <class Distance, class Step>
std::string find_mistake(const csr<arc>& graph, const labels& names, vertex root, const paths<Distance>& found,
                         const paths<Distance>& expected, Step step) {
  std::string mistake = compare_distances(names, found, expected);
  if (mistake.empty()) mistake = check_parents(graph, names, root, found, step);
  if (mistake.empty()) mistake = check_rooted(names, root, found.parent);
  return mistake;
}

}  // namespace

std::string find_mistake(const csr<arc>& graph, const labels& names, vertex root, const paths<level>& found) {
  return find_mistake(graph, names, root, found, sequential_bfs(graph, root), [](const arc&) { return level{1}; });
}

std::string find_mistake(const csr<arc>& graph, const labels& names, vertex root, const paths<weight>& found) {
  return find_mistake(graph, names, root, found, sequential_sssp(graph, root), [](const arc& a) { return a.length; });
}

}  // namespace amity::apps::graph
