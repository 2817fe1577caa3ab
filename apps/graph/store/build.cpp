#include "apps/graph/store/build.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <concepts>
#include <functional>
#include <memory>
#include <numeric>
#include <vector>

#include "apps/graph/store/topology.hpp"

namespace amity::apps::graph {
namespace {

template <class Arc>
constexpr bool has_weight = !std::same_as<Arc, vertex>;

template <class Arc>
Arc arc_to(vertex target, weight_of<Arc> length) {
  if constexpr (has_weight<Arc>) {
    return {target, length};
  } else {
    return target;
  }
}

vertex moved(vertex, vertex target) { return target; }
template <class Weight>
weighted_arc<Weight> moved(const weighted_arc<Weight>& a, vertex target) {
  return {target, a.length};
}

/// An arc on its way. It goes to the owner of its target first, which knows the target's place, and then on to the
/// owner of its source, which has the row.
template <class Arc>
struct travelling_arc {
  vertex source;
  Arc way;  ///< to a vertex at first, to a place then
};

/// What one thread knows while its part is built.
template <class Arc>
class part_builder {
 public:
  part_builder(const dealing& owners, std::uint32_t index)
      : owners_(owners), index_(index), degree_(owners.count_of(index)), row_of_(owners.count_of(index)) {}

  void count(vertex v) { ++degree_[owners_.slot(v)]; }

  /// Gives the vertices their rows, by falling degree.
  void order() {
    std::vector<vertex> slots(degree_.size());
    std::iota(slots.begin(), slots.end(), vertex{0});
    std::ranges::stable_sort(slots, std::ranges::greater(), [&](vertex slot) { return degree_[slot]; });
    part.vertex_of.resize(slots.size());
    part.input_degree.resize(slots.size());
    large_array<std::uint64_t> degrees(slots.size() + 1);
    for (vertex row = 0; row < slots.size(); ++row) {
      row_of_[slots[row]] = row;
      part.vertex_of[row] = owners_.at(index_, slots[row]);
      degrees[row] = degree_[slots[row]];
      part.input_degree[row] = static_cast<std::uint32_t>(std::min<std::uint64_t>(degrees[row], ~std::uint32_t{0}));
    }
    degree_ = {};
    part.rows = csr<Arc>(std::move(degrees));
    next_.resize(slots.size());
    for (vertex row = 0; row < slots.size(); ++row) next_[row] = part.rows.first(row);
  }

  vertex place(vertex v) const { return part.first + row_of_[owners_.slot(v)]; }

  void add(const travelling_arc<Arc>& arrived) {
    part.rows.arcs()[next_[row_of_[owners_.slot(arrived.source)]]++] = arrived.way;
  }

  /// Puts the arcs of each row in order: by length, and by their targets' rows, which go by degree in each part.
  void finish(const places& where, bool simple) {
    row_of_ = {};
    next_ = {};
    const int row_bits = std::countr_zero(where.block());
    const auto before = [&](const Arc& a, const Arc& b) {
      if constexpr (has_weight<Arc>) {
        if (a.target == b.target) return a.length < b.length;
      }
      return std::rotr(target_of(a), row_bits) < std::rotr(target_of(b), row_bits);
    };
    part.rows.shrink_rows([&](vertex, std::span<Arc> arcs) -> std::uint64_t {
      std::ranges::sort(arcs, before);
      std::span<Arc> kept = arcs;
      if (simple) {
        const auto repeated = std::ranges::unique(arcs, {}, [](const Arc& a) { return target_of(a); });
        kept = arcs.first(arcs.size() - repeated.size());
      }
      if constexpr (has_weight<Arc>) {
        std::ranges::sort(kept, [&](const Arc& a, const Arc& b) {
          return a.length == b.length ? before(a, b) : a.length < b.length;
        });
      }
      return kept.size();
    });
    while (part.joined < part.size() && part.rows.degree(part.joined) > 0) ++part.joined;
  }

  graph_part<Arc> part;

 private:
  const dealing& owners_;
  std::uint32_t index_;
  large_array<std::uint64_t> degree_;  // of slots
  large_array<vertex> row_of_;         // of slots
  large_array<std::uint64_t> next_;    // of rows: where the next arc goes
};

void check_ends(vertex source, vertex target, vertex vertices) {
  const vertex greater = std::max(source, target);
  if (greater < vertices) return;
  throw error("build_graph", no_rank, fmt::format("an edge to vertex {} of {}", greater, vertices),
              "number vertices from 0, or say how many there are");
}

template <class Arc, class Topology>
distributed_graph<Arc> build_over(const Topology& topology, world& w, vertex vertices,
                                  const weighted_edge_source<weight_of<Arc>>& edges, const build_options& how) {
  using weight_type = weight_of<Arc>;
  using edges_span = std::span<const weighted_edge<weight_type>>;
  using travelling = travelling_arc<Arc>;
  const auto threads = static_cast<std::uint32_t>(w.threads());
  const auto first_part = static_cast<std::uint32_t>(w.rank()) * threads;
  distributed_graph<Arc> graph{
      .where = places((vertices - 1) / (static_cast<std::uint32_t>(w.size()) * threads) + 1, w.size(), w.threads()),
      .owners = dealing(how.kind, vertices, static_cast<std::uint32_t>(w.size()) * threads),
      .parts = {},
      .undirected = how.undirected};
  const dealing& owners = graph.owners;
  std::vector<std::unique_ptr<part_builder<Arc>>> builders(threads);
  const auto builder = [&](rank_t index) -> part_builder<Arc>& { return *builders[static_cast<std::size_t>(index)]; };
  const auto owner = [&](vertex v) { return static_cast<rank_t>(owners.part(v) / threads); };
  const auto thread_of = [&](vertex v) { return owners.part(v) % threads; };

  // Calls visit(source, target, length) for each arc of this thread's edges.
  const auto for_each_arc = [&](const thread& t, auto visit) {
    edges(t, [&](edges_span some) {
      for (const auto& e : some) {
        const bool loop = e.source == e.target;
        // A row of nothing but loops would end up empty among those that have arcs.
        if (how.simple && loop) continue;
        visit(e.source, e.target, e.length);
        // Both ways of a loop are one.
        if (how.undirected && !loop) visit(e.target, e.source, e.length);
      }
    });
  };

  const auto make = [&](thread& t) {
    const auto index = static_cast<std::size_t>(t.thread_index());
    builders[index] = std::make_unique<part_builder<Arc>>(owners, first_part + static_cast<std::uint32_t>(index));
    builders[index]->part.first = graph.where.place(w.rank(), t.thread_index(), 0);
  };
  w.epoch(make);
  {
    auto ends = w.message<vertex>(
        [&](std::span<const vertex> sources, auto& self) {
          for (const vertex v : sources) builder(self.thread_index()).count(v);
        },
        route{topology}, parallel{[&](const vertex& v) -> std::uint64_t { return thread_of(v); }}, coalesce{});
    std::vector<std::uint64_t> counted(threads);
    graph.edges = w.epoch(
        [&](thread& t) {
          auto& out = ends.on(t);
          std::uint64_t& count = counted[static_cast<std::size_t>(t.thread_index())];
          edges(t, [&](edges_span some) {
            for (const auto& e : some) check_ends(e.source, e.target, vertices);
            count += some.size();
          });
          for_each_arc(t, [&](vertex source, vertex, weight_type) { out.send(owner(source), source); });
        },
        [&](thread& t) { return counted[static_cast<std::size_t>(t.thread_index())]; });
  }
  w.epoch([&](thread& t) { builder(t.thread_index()).order(); });
  {
    auto to_source = w.message<travelling>(
        [&](std::span<const travelling> arrived, auto& self) {
          for (const travelling& a : arrived) builder(self.thread_index()).add(a);
        },
        route{topology}, parallel{[&](const travelling& a) -> std::uint64_t { return thread_of(a.source); }},
        coalesce{});
    auto to_target = w.message<travelling>(
        [&](std::span<const travelling> arrived, auto& self) {
          auto& out = to_source.on(self);
          auto& own = builder(self.thread_index());
          for (const travelling& a : arrived)
            out.send(owner(a.source), {a.source, moved(a.way, own.place(target_of(a.way)))});
        },
        route{topology}, parallel{[&](const travelling& a) -> std::uint64_t { return thread_of(target_of(a.way)); }},
        coalesce{});
    w.epoch([&](thread& t) {
      auto& out = to_target.on(t);
      for_each_arc(t, [&](vertex source, vertex target, weight_type length) {
        out.send(owner(target), {source, arc_to<Arc>(target, length)});
      });
    });
  }
  graph.arcs = w.epoch([&](thread& t) { builder(t.thread_index()).finish(graph.where, how.simple); },
                       [&](thread& t) { return builder(t.thread_index()).part.rows.arcs().size(); });
  for (auto& each : builders) graph.parts.push_back(std::move(each->part));
  return graph;
}

}  // namespace

template <class Arc>
distributed_graph<Arc> build_graph(world& w, vertex vertices, const weighted_edge_source<weight_of<Arc>>& edges,
                                   const build_options& how) {
  return with_topology(w, [&](const auto& topology) { return build_over<Arc>(topology, w, vertices, edges, how); });
}

template distributed_graph<vertex> build_graph(world&, vertex, const edge_source&, const build_options&);
template distributed_graph<weighted_arc<float>> build_graph(world&, vertex, const edge_source&, const build_options&);
template distributed_graph<weighted_arc<double>> build_graph(world&, vertex, const weighted_edge_source<double>&,
                                                             const build_options&);
template distributed_graph<weighted_arc<std::int64_t>> build_graph(world&, vertex,
                                                                   const weighted_edge_source<std::int64_t>&,
                                                                   const build_options&);

}  // namespace amity::apps::graph
