#pragma once

/// Where a kernel starts: what the user names, what the input is known for, or what has most arcs.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "amity/base/error.hpp"
#include "apps/graph/collect.hpp"
#include "apps/graph/command/loaded_graph.hpp"
#include "apps/graph/command/session.hpp"
#include "apps/graph/store/distributed_graph.hpp"

namespace amity::apps::graph {

/// Collective: the vertices with most arcs, and the first of equals: places, most first; the same on all ranks.
template <class Arc>
std::vector<vertex> largest_vertices(world& w, const distributed_graph<Arc>& graph, std::size_t count) {
  using entry = std::array<std::uint64_t, 3>;  // ~degree, vertex, place
  std::vector<entry> all;
  for (const auto& part : graph.parts) {
    std::vector<entry> own;
    // Rows go by degree; of those that are as good as the last, the first vertices count.
    for (vertex row = 0; row < part.size(); ++row) {
      if (row >= count && part.rows.degree(row) < part.rows.degree(static_cast<vertex>(count) - 1)) break;
      own.push_back({~part.rows.degree(row), part.vertex_of[row], part.first + row});
    }
    const auto end = own.begin() + static_cast<std::ptrdiff_t>(std::min(count, own.size()));
    std::ranges::partial_sort(own, end);
    all.insert(all.end(), own.begin(), end);
  }
  all = collect(w, all);
  std::ranges::sort(all);
  if (all.size() > count) all.resize(count);
  broadcast(w, all);
  std::vector<vertex> result;
  for (const entry& e : all) result.push_back(static_cast<vertex>(e[2]));
  return result;
}

/// Collective: the place of the root that the user names, or that the input is known for; nothing where there is none.
/// Ends the command where there is no vertex of that name.
template <class Arc>
std::optional<vertex> named_root(session& job, const loaded_graph& input, const distributed_graph<Arc>& graph) {
  const std::string& label = job.wanted().root;
  if (label.empty() && input.default_root.empty()) return {};
  const auto named = input.names.find(job.ranks(), label.empty() ? input.default_root : label);
  if (named) return find_place(job.ranks(), graph, *named);
  if (label.empty()) return {};
  const auto near = input.names.nearest(job.ranks(), label, 3);
  job.on_first([&] {
    throw error("--root", no_rank, fmt::format("there is no {} '{}'", input.noun, label),
                fmt::format("did you mean {}?", fmt::join(near, ", ")));
  });
  return {};
}

/// Collective: the label of the vertex at a place, on rank 0.
template <class Arc>
std::string label_at(world& w, const loaded_graph& input, const distributed_graph<Arc>& graph, vertex place) {
  std::vector<vertex> number;
  for (const auto& part : graph.parts) {
    if (place - part.first < part.size()) number.push_back(part.vertex_of[place - part.first]);
  }
  const auto texts = input.names.texts(w, collect(w, number));
  return texts.empty() ? "" : texts[0];
}

}  // namespace amity::apps::graph
