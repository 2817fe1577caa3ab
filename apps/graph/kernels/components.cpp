/// Components grow as trees. A vertex hangs below another one of its component that comes earlier in one order of all
/// vertices; the first of a component is its root. To join two vertices is a message to the later one: it hangs below
/// the earlier one from then on, and what it hung below before is joined with that in turn (Rem's algorithm: Dijkstra,
/// "A Discipline of Programming", 1976), in the same handler or by a message from it.
///
/// The order goes by falling degree. Nearly every vertex of a large component finds its way to the very first vertex
/// over its first arcs, which lead to its neighbours of highest degree. Those need not look at their other arcs: their
/// neighbours that have not found that way do so (sampling: Sutton, Ben-Nun and Barak, "Afforest", IPDPS 2018).
///
/// At the end every vertex asks the one it hangs below for what that hangs below, until that is a root: trees of any
/// depth are flat after a logarithmic number of rounds.

#include "apps/graph/kernels/components.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "apps/graph/kernels/order.hpp"
#include "apps/graph/store/look_up.hpp"

namespace amity::apps::graph {
namespace {

// What messages say. All are numbers in the order.
struct join {
  vertex target;
  vertex earlier;
};
struct question {
  vertex target;
  vertex asker;
};
struct reply {
  vertex target;
  vertex above;
};
struct members {
  vertex target;
  std::uint32_t count;
};

struct thread_of_number {
  order numbers;
  std::uint64_t operator()(const auto& message) const { return numbers.thread(message.target); }
};

/// One thread's part of the trees.
class part_of_trees {
 public:
  part_of_trees(const order& numbers, const graph_part<vertex>& own)
      : numbers_(numbers), own_(own), part_(numbers.part(numbers.number(own.first))), above_(own.size()) {
    for (vertex row = 0; row < own.size(); ++row) above_[row] = numbers_.at(part_, row);
  }

  /// The trees of a and b become one.
  void unite(vertex a, vertex b, auto& joins) {
    while (a != b) {
      if (a < b) std::swap(a, b);
      if (!is_own(a)) return joins.send(numbers_.rank(a), {a, b});
      vertex& above = above_[numbers_.row(a)];
      const vertex before = std::exchange(above, std::min(above, b));
      if (before == a) return;
      a = before;
    }
  }

  static constexpr std::uint64_t sampled_arcs = 2;

  void follow_first_arcs(auto& joins) {
    for (vertex row = 0; row < own_.joined; ++row) {
      for (const vertex target : own_.rows[row].first(std::min(own_.rows.degree(row), sampled_arcs))) {
        unite(numbers_.at(part_, row), numbers_.number(target), joins);
      }
    }
  }

  /// Of the vertices that are not in the tree of the first one.
  void follow_other_arcs(auto& joins) {
    for (vertex& above : above_) above &= ~settled;
    for (vertex row = 0; row < own_.joined; ++row) {
      if (above_[row] == 0 || own_.rows.degree(row) <= sampled_arcs) continue;
      for (const vertex target : own_.rows[row].subspan(sampled_arcs)) {
        unite(numbers_.at(part_, row), numbers_.number(target), joins);
      }
    }
  }

  void begin_to_settle() {
    open_.clear();
    for (vertex row = 0; row < own_.size(); ++row) {
      if (above_[row] == 0 || above_[row] == numbers_.at(part_, row)) {
        above_[row] |= settled;
      } else {
        open_.push_back(row);
      }
    }
  }

  /// What a vertex hangs below comes earlier, so that within the part each way up has been shortened already.
  void shorten(auto& questions) {
    std::size_t kept = 0;
    for (const vertex row : open_) {
      vertex above = above_[row];
      if (is_own(above)) above_[row] = above = above_[numbers_.row(above & ~settled)];
      if ((above & settled) != 0) continue;
      open_[kept++] = row;
      if (!is_own(above)) questions.send(numbers_.rank(above), {above, numbers_.at(part_, row)});
    }
    open_.resize(kept);
  }
  reply take(const question& q) const { return {q.asker, above_[numbers_.row(q.target)]}; }
  void take(const reply& r) { above_[numbers_.row(r.target)] = r.above; }
  std::uint64_t unsettled() const { return open_.size(); }

  /// Tells the roots how large their trees are.
  void count_members(auto& counts) {
    sizes_.resize(own_.size());
    std::uint32_t in_first = 0;
    for (const vertex above : above_) {
      const vertex root = above & ~settled;
      if (root == 0) {
        ++in_first;
      } else if (is_own(root)) {
        ++sizes_[numbers_.row(root)];
      } else {
        counts.send(numbers_.rank(root), {root, 1});
      }
    }
    if (in_first > 0) counts.send(0, {0, in_first});
  }
  void take(const members& m) { sizes_[numbers_.row(m.target)] += m.count; }
  std::uint64_t roots() const { return sizes_.size() - static_cast<std::uint64_t>(std::ranges::count(sizes_, 0u)); }
  std::uint64_t largest() const { return sizes_.empty() ? 0 : std::ranges::max(sizes_); }

  large_array<vertex> labels() && {
    for (vertex& above : above_) above = numbers_.place(above & ~settled);
    return std::move(above_);
  }

 private:
  bool is_own(vertex number) const { return numbers_.part(number) == part_; }

  static constexpr vertex settled = vertex{1} << 31;  // numbers are smaller: places are

  const order& numbers_;
  const graph_part<vertex>& own_;
  vertex part_;
  large_array<vertex> above_;         // of each row: what it hangs below, itself if it is a root; perhaps `settled`
  std::vector<vertex> open_;          // rows that do not know their root yet
  large_array<std::uint32_t> sizes_;  // of trees whose roots are here
};

}  // namespace

components connected_components(world& w, const distributed_graph<vertex>& graph, const observer& watch) {
  const order numbers(graph.where);
  const parallel on_owner{thread_of_number{numbers}};
  std::vector<std::unique_ptr<part_of_trees>> parts(graph.parts.size());
  const auto part = [&](const auto& who) -> part_of_trees& {
    return *parts[static_cast<std::size_t>(who.thread_index())];
  };
  components found;
  auto joins = w.message<join>([&](const join& j, auto& self) { part(self).unite(j.target, j.earlier, self); },
                               on_owner, coalesce{});
  auto replies = w.message<reply>([&](const reply& r, auto& self) { part(self).take(r); }, on_owner, coalesce{});
  auto questions = w.message<question>(
      [&](const question& q, auto& self) { replies.on(self).send(numbers.rank(q.asker), part(self).take(q)); },
      on_owner, coalesce{});
  const auto together = [](const members& a, const members& b) { return members{a.target, a.count + b.count}; };
  auto counts = w.message<members>([&](const members& m, auto& self) { part(self).take(m); },
                                   combine{&members::target, together}, on_owner, coalesce{});

  const auto settle = [&] {
    std::uint64_t unsettled =
        w.epoch([&](thread& t) { part(t).begin_to_settle(); }, [&](thread& t) { return part(t).unsettled(); });
    while (unsettled > 0) {
      watch(found.rounds++, graph.vertices() - unsettled);
      unsettled =
          w.epoch([&](thread& t) { part(t).shorten(questions.on(t)); }, [&](thread& t) { return part(t).unsettled(); });
    }
    watch(found.rounds++, graph.vertices());
  };

  const meter clock(w);
  w.epoch([&](thread& t) {
    parts[static_cast<std::size_t>(t.thread_index())] = std::make_unique<part_of_trees>(numbers, graph.of(t));
  });
  w.epoch([&](thread& t) { part(t).follow_first_arcs(joins.on(t)); });
  settle();
  w.epoch([&](thread& t) { part(t).follow_other_arcs(joins.on(t)); });
  settle();
  found.count =
      w.epoch([&](thread& t) { part(t).count_members(counts.on(t)); }, [&](thread& t) { return part(t).roots(); });
  for (auto& each : parts) {
    found.largest = std::max(found.largest, each->largest());
    found.labels.push_back(std::move(*each).labels());
  }
  found.largest = w.max(found.largest);
  found.spent = clock.read();
  return found;
}

std::vector<large_array<vertex>> first_of_components(world& w, const distributed_graph<vertex>& graph,
                                                     const components& found) {
  struct member {
    vertex target;  // the place that is the label
    vertex number;
  };
  const auto index = [](const auto& who) { return static_cast<std::size_t>(who.thread_index()); };
  const auto earlier = [](const member& a, const member& b) { return a.number < b.number ? a : b; };
  std::vector<large_array<vertex>> first;
  for (const auto& part : graph.parts) first.emplace_back(part.size(), no_vertex);
  auto tell = w.message<member>(
      [&](const member& m, auto& self) {
        vertex& least = first[index(self)][m.target - graph.parts[index(self)].first];
        least = std::min(least, m.number);
      },
      combine{&member::target, earlier}, parallel{thread_of_target{graph.where}}, coalesce{});
  w.epoch([&](thread& t) {
    const auto& part = graph.of(t);
    const auto& labels = found.labels[index(t)];
    for (vertex row = 0; row < part.size(); ++row) {
      tell.on(t).send(graph.where.rank(labels[row]), {labels[row], part.vertex_of[row]});
    }
  });
  return look_up(w, graph, found.labels, [&](std::size_t part, vertex row) { return first[part][row]; });
}

}  // namespace amity::apps::graph
