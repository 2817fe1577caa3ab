/// Breadth-first search on one thread without messages: what two ranks have to beat (row `cost`).
///
/// Direction-optimising (Beamer, Asanovic, Patterson: "Direction-optimizing breadth-first search", SC 2012): while the
/// frontier is small its vertices look for unvisited ones, and while it is large the unvisited look for a parent in it,
/// where one is enough. The answer is the parent of each vertex.

#include <bit>

#include "bench/compare/searches.hpp"

namespace amity::bench::compare {
namespace {

using word = std::uint64_t;
constexpr vertex word_bits = 64;

/// Where to turn: to the unvisited when the frontier has more than this share of the arcs that nobody has followed, and
/// back when it is falling below this share of the vertices.
constexpr std::uint64_t arcs_share = 15;
constexpr std::uint64_t vertices_share = 18;
constexpr std::size_t prefetch_ahead = 8;

class breadth_first {
 public:
  explicit breadth_first(sequential_graph& g) : parent(g.out.size(), no_vertex), backwards_(std::move(g.in)) {
    out_.first = std::move(g.out.first);
    out_.arcs.reserve(g.out.arcs.size());
    for (const arc& a : g.out.arcs) out_.arcs.push_back(a.target);
    g.out.arcs = {};
    while (active_ > 0 && in().degree(active_ - 1) == 0) --active_;
  }

  void operator()(vertex root) {
    std::ranges::fill(parent, no_vertex);
    std::ranges::fill(visited_, 0);
    std::uint64_t arcs_left = out_.arcs.size();
    frontier_.assign(1, root);
    visit(root, root);
    std::uint64_t arcs_ahead = out_.degree(root);
    while (!frontier_.empty()) {
      if (arcs_ahead > arcs_left / arcs_share) {
        search_backwards();
        arcs_ahead = 0;
      } else {
        arcs_left -= arcs_ahead;
        arcs_ahead = search_forwards();
      }
    }
  }

  void check(vertex root) const {
    std::vector<vertex> level(out_.size(), no_vertex), queue{root};
    level[root] = 0;
    for (std::size_t head = 0; head < queue.size(); ++head) {
      for (const vertex target : out_[queue[head]]) {
        if (level[target] != no_vertex) continue;
        level[target] = level[queue[head]] + 1;
        queue.push_back(target);
      }
    }
    for (vertex v = 0; v < out_.size(); ++v) {
      require((level[v] == no_vertex) == (parent[v] == no_vertex), "another set of vertices is reached");
    }
    check_paths(out_, root, level, parent, [](vertex target) { return std::pair(target, vertex{1}); });
  }

  std::vector<vertex> parent;

 private:
  const rows<vertex>& in() const { return backwards_.first.empty() ? out_ : backwards_; }

  void visit(vertex v, vertex from) {
    visited_[v / word_bits] |= word{1} << v % word_bits;
    parent[v] = from;
  }

  static bool has(const std::vector<word>& set, vertex v) { return set[v / word_bits] >> v % word_bits & 1; }

  /// Returns how many arcs leave the next frontier.
  std::uint64_t search_forwards() {
    std::uint64_t arcs_ahead = 0;
    next_.clear();
    for (std::size_t i = 0; i < frontier_.size(); ++i) {
      if (i + 2 * prefetch_ahead < frontier_.size()) __builtin_prefetch(&out_.first[frontier_[i + 2 * prefetch_ahead]]);
      if (i + prefetch_ahead < frontier_.size()) {
        __builtin_prefetch(&out_.arcs[out_.first[frontier_[i + prefetch_ahead]]]);
      }
      for (const vertex target : out_[frontier_[i]]) {
        if (has(visited_, target)) continue;
        visit(target, frontier_[i]);
        next_.push_back(target);
        arcs_ahead += out_.degree(target);
      }
    }
    frontier_.swap(next_);
    return arcs_ahead;
  }

  /// Goes on until the frontier is small and falling.
  void search_backwards() {
    std::ranges::fill(in_frontier_, 0);
    for (const vertex v : frontier_) in_frontier_[v / word_bits] |= word{1} << v % word_bits;
    std::uint64_t width = frontier_.size(), before = 0;
    do {
      before = std::exchange(width, 0);
      for (vertex i = 0; i * word_bits < active_; ++i) {
        word found = 0;
        for (word left = ~visited_[i]; left != 0; left &= left - 1) {
          const auto bit = static_cast<vertex>(std::countr_zero(left));
          const vertex v = i * word_bits + bit;
          for (const vertex source : in()[v]) {
            if (!has(in_frontier_, source)) continue;
            parent[v] = source;
            found |= word{1} << bit;
            break;
          }
        }
        found_[i] = found;
        visited_[i] |= found;
        width += static_cast<std::uint64_t>(std::popcount(found));
      }
      in_frontier_.swap(found_);
    } while (width >= before || width > active_ / vertices_share);
    frontier_.clear();
    for (vertex i = 0; i < in_frontier_.size(); ++i) {
      for (word left = in_frontier_[i]; left != 0; left &= left - 1) {
        frontier_.push_back(i * word_bits + static_cast<vertex>(std::countr_zero(left)));
      }
    }
  }

  rows<vertex> out_, backwards_;
  vertex active_ = static_cast<vertex>(parent.size());  // those behind have no arc to them
  std::vector<word> visited_ = std::vector<word>(parent.size() / word_bits + 1);
  std::vector<word> in_frontier_ = visited_, found_ = visited_;
  std::vector<vertex> frontier_, next_;
};

}  // namespace
}  // namespace amity::bench::compare

int main(int argc, char** argv) {
  return amity::bench::compare::run_searches<amity::bench::compare::breadth_first>(argc, argv);
}
