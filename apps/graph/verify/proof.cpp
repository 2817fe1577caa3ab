#include "apps/graph/verify/proof.hpp"

#include <memory>
#include <vector>

#include "apps/graph/store/topology.hpp"
#include "apps/graph/verify/mistake.hpp"

namespace amity::apps::graph {
namespace {

level beyond(level distance, vertex) { return distance + 1; }
template <class Weight>
Weight beyond(Weight distance, const weighted_arc<Weight>& a) {
  return path_sum<Weight>(distance, a.length);
}

/// From a vertex on the tree to the target of one of its arcs.
template <class Distance>
struct by_arc {
  vertex target;
  vertex source;
  Distance distance;  ///< of the target, by this arc
};

/// To the parent of a vertex that is not on the tree.
template <class Distance>
struct blame {
  vertex target;
  vertex child;       ///< its number
  Distance distance;  ///< of the child
};

/// What one thread does for its part.
template <class Arc, class Distance>
class part_proof {
 public:
  part_proof(const places& where, const graph_part<Arc>& part, vertex root, const paths<Distance>& found)
      : where_(where), part_(part), found_(found), on_tree_(part.size()) {
    if (!has(root)) return;
    const vertex row = root - part.first;
    if (found.distance[row] == 0 && found.parent[row] == root) {
      join(row);
    } else {
      note(rule::root, row, found.parent[row]);
    }
  }

  void hear(const by_arc<Distance>& told) {
    const vertex row = told.target - part_.first;
    const Distance distance = found_.distance[row];
    if (distance > told.distance) note(rule::no_shortcut, row, told.source, told.distance);
    if (distance == unreached<Distance> && distance == told.distance) [[unlikely]]
      note(rule::range, row, told.source);
    if (found_.parent[row] == told.source && distance == told.distance && !on_tree_[row]) join(row);
  }

  /// Follows the tree within the part. `send` may let arrivals be heard meanwhile.
  void tell(auto send) {
    while (!untold_.empty()) {
      const vertex row = untold_.back();
      untold_.pop_back();
      for (const Arc& a : part_.rows[row]) {
        const by_arc<Distance> told{target_of(a), part_.first + row, beyond(found_.distance[row], a)};
        has(told.target) ? hear(told) : send(told);
      }
    }
  }
  std::uint64_t untold() const { return untold_.size(); }

  /// Once everything has been told.
  void look_at_rest(auto send) {
    for (vertex row = 0; row < part_.size(); ++row) {
      const vertex parent = found_.parent[row];
      if (found_.distance[row] == unreached<Distance>) {
        if (parent != no_vertex) note(rule::unreached_alone, row, parent);
      } else if (!on_tree_[row]) {
        note(rule::rooted, row, parent);
        if (parent < where_.count()) {
          send(blame<Distance>{parent, part_.vertex_of[row], found_.distance[row]});
        } else {
          note(rule::parent, row, parent);
        }
      }
    }
  }

  /// A parent on the tree has told all its targets: no edge makes this one its child. Another parent is itself a
  /// mistake, or has one above it.
  void hear(const blame<Distance>& blamed) {
    if (!has(blamed.target)) return note({rule::parent, blamed.child, blamed.target, blamed.distance, {}});
    const vertex row = blamed.target - part_.first;
    if (!on_tree_[row]) return;
    note({rule::tree_edge, blamed.child, blamed.target, blamed.distance, found_.distance[row]});
  }

  mistake<Distance> first;

 private:
  bool has(vertex place) const { return place - part_.first < part_.size(); }  // places before it wrap around

  void join(vertex row) {
    on_tree_[row] = true;
    untold_.push_back(row);
  }

  void note(rule broken, vertex row, vertex other, Distance by_other = {}) {
    note({broken, part_.vertex_of[row], other, found_.distance[row], by_other});
  }
  void note(const mistake<Distance>& m) {
    if (m.before(first)) first = m;
  }

  const places& where_;
  const graph_part<Arc>& part_;
  const paths<Distance>& found_;
  std::vector<bool> on_tree_;
  std::vector<vertex> untold_;  // rows on the tree that have told nobody
};

template <class Arc, class Distance, class Topology>
std::string find_over(const Topology& topology, world& w, const distributed_graph<Arc>& graph, vertex root,
                      const answer<Distance>& found) {
  std::vector<std::unique_ptr<part_proof<Arc, Distance>>> proofs(graph.parts.size());
  const auto proof = [&](const auto& t) -> auto& { return *proofs[static_cast<std::size_t>(t.thread_index())]; };
  w.epoch([&](thread& t) {
    const auto index = static_cast<std::size_t>(t.thread_index());
    proofs[index] =
        std::make_unique<part_proof<Arc, Distance>>(graph.where, graph.parts[index], root, found.parts[index]);
  });
  const parallel by_owner{thread_of_target{graph.where}};
  {
    // Handlers send nothing, so that what waits to be sent stays with the vertices: a round for each time that the tree
    // leaves a part.
    auto ways = w.message<by_arc<Distance>>([&](const by_arc<Distance>& told, auto& self) { proof(self).hear(told); },
                                            route{topology}, by_owner, coalesce{});
    const auto tell = [&](thread& t) {
      auto& out = ways.on(t);
      proof(t).tell([&](const by_arc<Distance>& told) { out.send(graph.where.rank(told.target), told); });
    };
    while (w.epoch(tell, [&](thread& t) { return proof(t).untold(); }) > 0) {
    }
  }
  auto blames = w.message<blame<Distance>>([&](const blame<Distance>& blamed, auto& self) { proof(self).hear(blamed); },
                                           route{topology}, by_owner, coalesce{});
  w.epoch([&](thread& t) {
    auto& out = blames.on(t);
    proof(t).look_at_rest([&](const blame<Distance>& b) { out.send(graph.where.rank(b.target), b); });
  });
  mistake<Distance> first;
  for (const auto& each : proofs) {
    if (each->first.before(first)) first = each->first;
  }
  return describe_first<Distance>(w, first, [&](vertex place) {
    for (const auto& part : graph.parts) {
      if (place - part.first < part.size()) return part.vertex_of[place - part.first];
    }
    return no_vertex;
  });
}

template <class Arc, class Distance>
std::string find(world& w, const distributed_graph<Arc>& graph, vertex root, const answer<Distance>& found) {
  return with_topology(w, [&](const auto& topology) { return find_over(topology, w, graph, root, found); });
}

}  // namespace

std::string find_mistake(world& w, const distributed_graph<vertex>& graph, vertex root, const answer<level>& found) {
  return find(w, graph, root, found);
}

template <weight Weight>
std::string find_mistake(world& w, const distributed_graph<weighted_arc<Weight>>& graph, vertex root,
                         const answer<Weight>& found) {
  return find(w, graph, root, found);
}

template std::string find_mistake(world&, const distributed_graph<weighted_arc<float>>&, vertex, const answer<float>&);
template std::string find_mistake(world&, const distributed_graph<weighted_arc<double>>&, vertex,
                                  const answer<double>&);
template std::string find_mistake(world&, const distributed_graph<weighted_arc<std::int64_t>>&, vertex,
                                  const answer<std::int64_t>&);

}  // namespace amity::apps::graph
