/// Vertices have an order by falling degree, and a triangle counts where its last two vertices meet. Each vertex tells
/// its earlier neighbours which of its neighbours are earlier still: those that the two have in common are the first
/// vertices of triangles. Even a hub has few neighbours that are earlier. A list goes to each part once, whatever the
/// number of neighbours there, and no further than to the last of them.

#include "apps/graph/kernels/triangles.hpp"

#include <algorithm>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "apps/graph/kernels/bitmap.hpp"
#include "apps/graph/kernels/order.hpp"

namespace amity::apps::graph {
namespace {

/// A message: places, in their order, that have a common neighbour later than all of them. The last one is in the part
/// that gets it.
using neighbours = std::vector<vertex>;

struct thread_of_last {
  places where;
  std::uint64_t operator()(const neighbours& list) const { return where.thread(list.back()); }
};

class part_of_count {
 public:
  part_of_count(const places& where, const graph_part<vertex>& own)
      : where_(where),
        own_(own),
        earlier_(own.joined),
        marked_(where.count()),
        told_(static_cast<std::size_t>(where.ranks()) * static_cast<std::size_t>(where.threads()), no_vertex) {
    const order numbers(where);
    for (vertex row = 0; row < own.joined; ++row) {
      const auto targets = own.rows[row];
      const auto later = std::ranges::lower_bound(targets, numbers.number(own.first + row), {},
                                                  [&](vertex target) { return numbers.number(target); });
      earlier_[row] = static_cast<vertex>(later - targets.begin());
      wedges_ += targets.size() * (targets.size() - 1) / 2;
    }
  }

  void tell(vertex row, auto& out) {
    const std::span<const vertex> list = earlier(row);
    bool here = false;
    for (std::size_t i = list.size(); i-- > 1;) {
      const std::uint32_t part = where_.part(list[i]);
      if (std::exchange(told_[part], row) == row) continue;
      if (is_own(list[i])) {
        here = true;
      } else {
        outgoing_.assign(list.begin(), list.begin() + static_cast<std::ptrdiff_t>(i) + 1);
        out.send(where_.rank(list[i]), outgoing_);
      }
    }
    if (here) close(list);
  }

  /// Counts the triangles of those that are here with earlier ones of the list. Sends nothing, since it marks.
  void close(std::span<const vertex> list) {
    std::uint64_t found = 0;
    for (const vertex place : list) marked_.insert(place);
    for (std::size_t i = 1; i < list.size(); ++i) {
      if (!is_own(list[i])) continue;
      for (const vertex first : earlier(list[i] - own_.first)) found += marked_.contains(first);
    }
    for (const vertex place : list) marked_.erase(place);
    count_ += found;
  }

  vertex rows() const { return own_.joined; }
  std::uint64_t count() const { return count_; }
  std::uint64_t wedges() const { return wedges_; }

 private:
  std::span<const vertex> earlier(vertex row) const { return own_.rows[row].first(earlier_[row]); }
  bool is_own(vertex place) const { return place - own_.first < own_.size(); }

  const places& where_;
  const graph_part<vertex>& own_;
  large_array<vertex> earlier_;  // of each row: how many of its targets are
  bitmap marked_;                // places; none but in `close`
  std::vector<vertex> told_;     // of each part: the last row whose list it got
  neighbours outgoing_;
  std::uint64_t count_ = 0;
  std::uint64_t wedges_ = 0;
};

}  // namespace

triangles count_triangles(world& w, const distributed_graph<vertex>& graph, const observer& watch) {
  constexpr std::uint32_t rounds = 8;
  std::vector<std::unique_ptr<part_of_count>> parts(graph.parts.size());
  const auto part = [&](const auto& who) -> part_of_count& {
    return *parts[static_cast<std::size_t>(who.thread_index())];
  };
  auto lists = w.message<neighbours>([&](const neighbours& n, auto& self) { part(self).close(n); },
                                     parallel{thread_of_last{graph.where}}, coalesce{});
  triangles found;
  const meter clock(w);
  w.epoch([&](thread& t) {
    parts[static_cast<std::size_t>(t.thread_index())] = std::make_unique<part_of_count>(graph.where, graph.of(t));
  });
  for (std::uint32_t round = 0; round < rounds; ++round) {
    // Rows go by falling degree: every round has some of all.
    w.epoch([&](thread& t) {
      for (vertex row = round; row < part(t).rows(); row += rounds) part(t).tell(row, lists.on(t));
    });
    watch(round, std::uint64_t{graph.vertices()} * (round + 1) / rounds);
  }
  for (const auto& each : parts) {
    found.count += each->count();
    found.wedges += each->wedges();
  }
  found.count = w.sum(found.count);
  found.wedges = w.sum(found.wedges);
  found.spent = clock.read();
  return found;
}

}  // namespace amity::apps::graph
