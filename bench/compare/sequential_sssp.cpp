/// Single-source shortest paths on one thread without messages: what two ranks have to beat (row `cost`).
///
/// Delta-stepping (Meyer and Sanders, Journal of Algorithms 49, 2003), with the arcs of a row by rising length. Where a
/// bucket has more heavy arcs than are worth following, the vertices that are not settled look backwards instead, as in
/// direction-optimising search (Chakaravarthy et al., "Scalable single source shortest path algorithms for massively
/// parallel systems", IPDPS 2014): no further than an arc could bring them nearer, which is seldom far.

#include "bench/compare/searches.hpp"

namespace amity::bench::compare {
namespace {

constexpr float unreached = std::numeric_limits<float>::infinity();
constexpr std::size_t prefetch_ahead = 8;
/// Arcs that a look backwards is taken to cost.
constexpr std::uint64_t arcs_of_a_look = 4;
/// A power of two: the bucket of a distance is then exact, and so is where a bucket begins.
constexpr std::uint64_t buckets_a_unit = 64;

class delta_stepping {
 public:
  explicit delta_stepping(sequential_graph& g)
      : parent(g.out.size(), no_vertex), out_(std::move(g.out)), both_ways_(g.both_ways) {
    while (active_ > 0 && out_.degree(active_ - 1) == 0) --active_;
    for (vertex v = 0; v < out_.size(); ++v) {
      const auto begin = out_.arcs.begin() + static_cast<std::ptrdiff_t>(out_.first[v]);
      const auto end = out_.arcs.begin() + static_cast<std::ptrdiff_t>(out_.first[v + 1]);
      std::sort(begin, end, [](const arc& a, const arc& b) { return a.length < b.length; });
      const auto heavy = std::find_if(begin, end, [&](const arc& a) { return bucket_of(a.length) > 0; });
      heavy_.push_back(static_cast<std::uint64_t>(heavy - out_.arcs.begin()));
    }
  }

  void operator()(vertex root) {
    std::ranges::fill(distance_, unreached);
    std::ranges::fill(parent, no_vertex);
    std::uint64_t unsettled = active_;
    improve(root, root, 0);
    // Arcs are shorter than 1, so that the ring of buckets has come round to nothing when all of it is empty.
    for (std::uint64_t bucket = 0, empty = 0; empty < buckets_.size(); ++bucket) {
      auto& entries = buckets_[bucket % buckets_.size()];
      if (entries.empty()) {
        ++empty;
        continue;
      }
      empty = 0;
      relax(entries, out_.first.data(), heavy_.data());
      std::uint64_t heavy_arcs = 0, settled = 0;
      for (const entry& e : entries) {
        if (e.distance != distance_[e.v]) continue;
        heavy_arcs += out_.first[e.v + 1] - heavy_[e.v];
        entries[settled++] = e;
      }
      entries.resize(settled);
      unsettled -= std::min(unsettled, settled);
      if (both_ways_ && heavy_arcs > unsettled * arcs_of_a_look) {
        look_backwards(bucket);
      } else {
        relax(entries, heavy_.data(), out_.first.data() + 1);
      }
      entries.clear();
    }
  }

  void check(vertex root) const {
    check_paths(out_, root, distance_, parent, [](const arc& a) { return std::pair(a.target, a.length); });
  }

  std::vector<vertex> parent;

 private:
  struct entry {
    vertex v;
    float distance;
  };

  static std::uint64_t bucket_of(float distance) {
    return static_cast<std::uint64_t>(distance * static_cast<float>(buckets_a_unit));
  }

  void improve(vertex v, vertex from, float distance) {
    distance_[v] = distance;
    parent[v] = from;
    buckets_[bucket_of(distance) % buckets_.size()].push_back({v, distance});
  }

  /// Follows arcs `begin[v]` to `end[v]` of each vertex v that has no entry with a shorter distance; those that come to
  /// these entries meanwhile, too.
  void relax(const std::vector<entry>& entries, const std::uint64_t* begin, const std::uint64_t* end) {
    for (std::size_t i = 0; i < entries.size(); ++i) {
      if (i + prefetch_ahead < entries.size()) __builtin_prefetch(&out_.arcs[begin[entries[i + prefetch_ahead].v]]);
      const auto [v, distance] = entries[i];
      if (distance != distance_[v]) continue;
      for (std::uint64_t k = begin[v]; k < end[v]; ++k) {
        const auto [target, length] = out_.arcs[k];
        if (distance + length < distance_[target]) improve(target, v, distance + length);
      }
    }
  }

  /// What following the heavy arcs of a bucket that is settled would find.
  void look_backwards(std::uint64_t bucket) {
    const auto begin = static_cast<float>(bucket) / static_cast<float>(buckets_a_unit);
    const auto end = static_cast<float>(bucket + 1) / static_cast<float>(buckets_a_unit);
    for (vertex v = 0; v < active_; ++v) {
      if (distance_[v] < end) continue;
      float best = distance_[v];
      vertex from = no_vertex;
      for (std::uint64_t k = heavy_[v]; k < out_.first[v + 1]; ++k) {
        const auto [source, length] = out_.arcs[k];
        if (begin + length >= best) break;
        if (distance_[source] >= end || distance_[source] + length >= best) continue;
        best = distance_[source] + length;
        from = source;
      }
      if (from != no_vertex) improve(v, from, best);
    }
  }

  rows<arc> out_;
  std::vector<std::uint64_t> heavy_;  // where the heavy arcs of each row begin
  bool both_ways_;
  vertex active_ = static_cast<vertex>(parent.size());  // those behind have no arc
  std::vector<float> distance_ = std::vector<float>(parent.size());
  // One more than an arc can reach over, and one for the bucket that a sum may be rounded up into.
  std::vector<std::vector<entry>> buckets_ = std::vector<std::vector<entry>>(buckets_a_unit + 2);
};

}  // namespace
}  // namespace amity::bench::compare

int main(int argc, char** argv) {
  return amity::bench::compare::run_searches<amity::bench::compare::delta_stepping>(argc, argv);
}
