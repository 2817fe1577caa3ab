#include <algorithm>
#include <unordered_map>
#include <utility>

#include "apps/graph/input/debian_version.hpp"
#include "apps/graph/input/packages.hpp"

namespace amity::apps::graph {
namespace {

/// Calls visit(name) for each name in "a (>= 1) | b:any, c [amd64] <!nocheck>": a, b, c.
template <class Visit>
void for_each_name(std::string_view relations, Visit&& visit) {
  while (!relations.empty()) {
    const std::size_t end = relations.find_first_of(",|");
    std::string_view name = relations.substr(0, end);
    relations.remove_prefix(end == relations.npos ? relations.size() : end + 1);
    name.remove_prefix(std::min(name.find_first_not_of(" \t"), name.size()));
    name = name.substr(0, name.find_first_of(" \t:([<"));
    if (!name.empty()) visit(name);
  }
}

/// One package for each name, the newest, in the order in which names first appear.
std::vector<package> newest_of_each(std::vector<package> packages) {
  std::vector<package> newest;
  std::unordered_map<std::string, std::size_t> position;
  for (package& candidate : packages) {
    const auto [found, is_new] = position.try_emplace(candidate.name, newest.size());
    if (is_new) {
      newest.push_back(std::move(candidate));
    } else if (compare_versions(candidate.version, newest[found->second].version) > 0) {
      newest[found->second] = std::move(candidate);
    }
  }
  return newest;
}

/// The packages that provide each name that no package has.
class virtual_names {
 public:
  virtual_names(const std::vector<package>& packages, const labels& real) {
    for (vertex v = 0; v < packages.size(); ++v) {
      for_each_name(packages[v].provides, [&](std::string_view name) {
        if (!real.find(name)) providers_[std::string(name)].push_back(v);
      });
    }
  }

  std::span<const vertex> providers(std::string_view name) const {
    const auto found = providers_.find(std::string(name));
    return found == providers_.end() ? std::span<const vertex>() : found->second;
  }

 private:
  std::unordered_map<std::string, std::vector<vertex>> providers_;
};

}  // namespace

edge_list build_package_graph(std::vector<package> packages, bool reverse) {
  packages = newest_of_each(std::move(packages));
  edge_list graph;
  graph.title = reverse ? "packages of this machine's apt, with those that depend on them"
                        : "packages of this machine's apt, with those that they depend on";
  graph.noun = "package";
  graph.unit = "MB";
  graph.has_lengths = true;
  graph.default_root = reverse ? "libc6" : "gnome";
  for (const package& p : packages) graph.names.intern(p.name);

  const virtual_names provided(packages, graph.names);
  std::vector<vertex> satisfying;
  for (vertex source = 0; source < packages.size(); ++source) {
    satisfying.clear();
    for_each_name(packages[source].depends, [&](std::string_view name) {
      if (const auto real = graph.names.find(name)) {
        satisfying.push_back(*real);
      } else {
        const auto providers = provided.providers(name);
        satisfying.insert(satisfying.end(), providers.begin(), providers.end());
      }
    });
    std::sort(satisfying.begin(), satisfying.end());
    satisfying.erase(std::unique(satisfying.begin(), satisfying.end()), satisfying.end());
    for (const vertex target : satisfying) {
      const vertex from = reverse ? target : source;
      const vertex to = reverse ? source : target;
      graph.edges.push_back({from, to});
      graph.weights.add(static_cast<double>(packages[to].bytes) / 1e6);
    }
  }
  return graph;
}

}  // namespace amity::apps::graph
