/// Single-source shortest paths by delta-stepping (Meyer and Sanders, "Delta-stepping: a parallelizable shortest path
/// algorithm", Journal of Algorithms 49, 2003), two epochs a bucket.
///
/// A bucket holds vertices whose distances, as far as they are known, differ by less than delta. First, vertices are
/// taken out of it and offer a distance to the targets of their light arcs, those shorter than delta, which may put
/// more vertices into the same bucket; an offer to another rank's vertex is a message. Its handler goes on with the
/// bucket by itself, sending offers in turn, so that one epoch empties the bucket on all ranks. Then the distances in
/// the bucket are final, and each of its vertices offers a distance along its heavy arcs, once.
///
/// Each rank remembers for every vertex of the whole graph the shortest distance that it has heard of: the distance so
/// far for its own, the best offer made for others'. A longer offer changes nothing and is not sent.

#include <utility>

#include "apps/graph/kernels/bucket_ring.hpp"
#include "apps/graph/kernels/search.hpp"

namespace amity::apps::graph {
namespace {

struct offer {
  vertex target;  // both are places
  vertex parent;
  weight distance;
};

/// One rank's part of a search.
class relaxation {
 public:
  explicit relaxation(const stepping_graph& graph)
      : graph_(graph),
        heard_(graph.own.places(), unreached<weight>),
        parent_(graph.own.block(), no_vertex),
        open_(graph.delta, graph.longest_arc) {}

  /// Takes an offer to a vertex of this rank.
  void take(const offer& made) {
    if (made.distance < heard_[made.target]) improve(made);
  }

  /// Offers along the light arcs of what is in the current bucket and comes into it meanwhile.
  void relax_light(auto& offers) {
    const auto& bucket = open_.current();
    while (taken_ < bucket.size()) relax(graph_.light, bucket, taken_++, offers);
  }

  /// Offers along the heavy arcs of what was in the current bucket, which is empty then.
  void relax_heavy(auto& offers) {
    settled_.clear();
    settled_.swap(open_.current());
    taken_ = 0;
    for (std::size_t i = 0; i < settled_.size(); ++i) settled_count_ += relax(graph_.heavy, settled_, i, offers);
  }

  bucket_ring& open() { return open_; }
  std::uint64_t settled_count() const { return settled_count_; }

  /// The distances and parents of this rank's rows. Nothing is left here.
  paths<weight> release() {
    const auto own = heard_.begin() + graph_.own.first();
    return {{own, own + graph_.own.block()}, std::move(parent_)};
  }

 private:
  /// Offers along the arcs of the i-th entry; no entry at all (false) if it is out of date.
  bool relax(const csr<arc>& rows, const std::vector<bucket_ring::entry>& entries, std::size_t i, auto& offers) {
    rows.prefetch_after(entries, i, [](const bucket_ring::entry& e) { return e.row; });
    const auto [row, distance] = entries[i];
    const vertex source = graph_.own.place(row);
    if (distance != heard_[source]) return false;
    for (const arc& a : rows[row]) {
      const offer made{a.target, source, distance + a.length};
      if (made.distance >= heard_[made.target]) continue;
      if (graph_.own.owns(made.target)) {
        improve(made);
      } else {
        heard_[made.target] = made.distance;
        offers.send(graph_.own.owner(made.target), made);
      }
    }
    return true;
  }

  void improve(const offer& made) {
    const vertex row = graph_.own.row(made.target);
    heard_[made.target] = made.distance;
    parent_[row] = made.parent;
    open_.push(row, made.distance);
  }

  const stepping_graph& graph_;
  large_array<weight> heard_;  // of all places
  large_array<vertex> parent_;
  bucket_ring open_;
  std::size_t taken_ = 0;  // entries of the current bucket whose light arcs have been relaxed
  std::vector<bucket_ring::entry> settled_;
  std::uint64_t settled_count_ = 0;
};

}  // namespace

found<weight> sssp(world& w, const stepping_graph& graph, vertex root, const observer& watch) {
  relaxation part(graph);
  bool carry_on = false;  // handlers relax what they put into the current bucket, unless somebody is at it
  auto offers = w.message<offer>(
      [&](std::span<const offer> batch, auto& self) {
        for (const offer& made : batch) part.take(made);
        if (carry_on) part.relax_light(self);
      },
      coalesce{});

  const meter clock(w);
  if (graph.own.owns(root)) part.take({root, root, 0});
  std::uint32_t rounds = 0;
  for (std::uint64_t bucket = 0; bucket != bucket_ring::none; bucket = w.min(part.open().next())) {
    part.open().advance_to(bucket);
    w.epoch([&] {
      part.relax_light(offers);
      carry_on = true;
    });
    carry_on = false;
    const std::uint64_t settled = w.epoch([&] { part.relax_heavy(offers); }, [&] { return part.settled_count(); });
    watch(++rounds, settled);
  }
  const cost spent = clock.read();
  return {part.release(), rounds, spent};
}

}  // namespace amity::apps::graph
