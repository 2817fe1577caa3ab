#pragma once

/// One thread's part of delta-stepping: its vertices' distances, the buckets of those whose arcs have not been relaxed,
/// and how arcs are relaxed, that is, offer a distance to their targets.
///
/// An arc whose offer would lie at the horizon or beyond waits: its row is set aside, with the first such arc, as rows
/// go by rising length. Everything nearer than the horizon is found out by nearer things alone. So once the buckets are
/// empty, distances below the horizon are final; the others can then be found in two ways, of which the search takes
/// the cheaper one: the rows set aside go on, up to a new horizon, or the vertices beyond look for their parents
/// themselves, along their own arcs, which are few when most arcs belong to vertices of large degrees.

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "apps/graph/kernels/bucket_ring.hpp"
#include "apps/graph/kernels/known_distances.hpp"
#include "apps/graph/store/distributed_graph.hpp"

namespace amity::apps::graph {

template <class Weight>
struct offer {
  vertex target;  // both are places
  vertex parent;
  Weight distance;
};

/// A vertex beyond the horizon asks the other end of an arc for an offer.
template <class Weight>
struct question {
  vertex target;  // both are places
  vertex asker;
  Weight length;
};

template <weight Weight>
class relaxation {
 public:
  using offer = graph::offer<Weight>;
  using question = graph::question<Weight>;
  using arc = weighted_arc<Weight>;

  /// What it finds goes to `mine`.
  relaxation(const places& where, const graph_part<arc>& part, paths<Weight>& mine, double delta, Weight longest_arc)
      : where_(where), part_(part), mine_(mine), known_(where, part.first), open_(delta, longest_arc) {
    mine_ = nothing_reached<Weight>(part.size());
  }

  /// A new search.
  void begin(Weight horizon) {
    known_.forget();
    std::ranges::fill(mine_.parent, no_vertex);
    open_.begin();
    horizon_ = horizon;
    aside_.clear();
    reached_ = 0;
  }

  /// Takes offers to vertices of this thread. Who makes an offer is nearer than the offer is: nothing as far needs to
  /// be sent back.
  void take(std::span<const offer> made) {
    constexpr std::size_t ahead = 16;
    for (std::size_t i = 0; i < made.size(); ++i) {
      if (i + ahead < made.size()) known_.prefetch_own(where_.row(made[i + ahead].target));
      const offer& o = made[i];
      if (o.distance < known_[o.target]) improve(o);
      if (o.distance < known_[o.parent]) known_.set(o.parent, o.distance);
    }
  }

  /// Relaxes what is in the current bucket, and what comes into it meanwhile.
  void relax_current(auto& offers) {
    const auto& bucket = open_.current();
    do {
      while (taken_ < bucket.size()) {
        part_.rows.prefetch_after(bucket, taken_, [](const auto& e) { return e.row; });
        const auto [row, distance] = bucket[taken_++];
        if (distance == known_.own(row)) relax({row, distance, 0}, offers);
      }
      make(offers);
    } while (taken_ < bucket.size());
  }

  /// The current bucket is empty now, on all ranks.
  void end_current() {
    open_.current().clear();
    taken_ = 0;
  }

  /// What is left to do beyond the horizon, where everything nearer is done.
  struct rest {
    std::uint64_t arcs_aside = 0;   ///< of rows that were set aside
    std::uint64_t arcs_beyond = 0;  ///< of rows beyond the horizon
    Weight next_offer = unreached<Weight>;
  };
  rest survey() const {
    rest left;
    for (const auto& [row, distance, next] : aside_) {
      if (distance != known_.own(row)) continue;
      left.arcs_aside += part_.rows.degree(row) - next;
      left.next_offer = std::min(left.next_offer, path_sum<Weight>(distance, part_.rows[row][next].length));
    }
    for (vertex row = 0; row < part_.joined; ++row) {
      if (known_.own(row) >= horizon_) left.arcs_beyond += part_.rows.degree(row);
    }
    return left;
  }

  /// Relaxes what was set aside, up to a new horizon.
  void extend(Weight horizon, auto& offers) {
    horizon_ = horizon;
    std::vector<half_relaxed> rows;
    rows.swap(aside_);
    for (const half_relaxed& from : rows) {
      if (from.distance == known_.own(from.row)) relax(from, offers);
    }
    make(offers);
  }

  /// Looks for offers to the rows beyond the horizon: own neighbours' at once, others' by questions. What comes of it
  /// is opened by `open_beyond`, when all answers are there.
  void look_below(auto& questions) {
    aside_.clear();
    looking_ = true;
    for (vertex row = 0; row < part_.joined; ++row) {
      if (known_.own(row) < horizon_) continue;
      offer best{part_.first + row, no_vertex, known_.own(row)};
      const auto arcs = part_.rows[row];
      for (const arc& a : arcs) {
        if (a.length >= best.distance) break;
        if (!known_.owns(a.target)) continue;
        const Weight below = known_[a.target];
        const Weight distance = path_sum<Weight>(below, a.length);
        if (below < horizon_ && distance < best.distance) {
          best.parent = a.target;
          best.distance = distance;
        }
      }
      if (best.parent != no_vertex) improve(best);
      for (const arc& a : arcs) {
        if (a.length >= best.distance) break;
        if (!known_.owns(a.target)) questions.send(where_.rank(a.target), {a.target, best.target, a.length});
      }
    }
  }

  void answer(std::span<const question> asked, auto& offers) {
    constexpr std::size_t ahead = 16;
    for (std::size_t i = 0; i < asked.size(); ++i) {
      if (i + ahead < asked.size()) known_.prefetch_own(where_.row(asked[i + ahead].target));
      const question& q = asked[i];
      const Weight here = known_[q.target];
      if (here < horizon_) offers.send(where_.rank(q.asker), {q.asker, q.target, path_sum(here, q.length)});
    }
  }

  /// From now on there is no horizon, and one bucket: what is left are mostly the ends of paths, whose order matters
  /// little.
  void open_beyond() {
    looking_ = false;
    open_.merge();
    for (vertex row = 0; row < part_.joined; ++row) {
      const Weight distance = known_.own(row);
      if (distance >= horizon_ && distance < unreached<Weight>) open_.push(row, distance);
    }
    horizon_ = unreached<Weight>;
  }

  /// The search is over.
  void end() {
    for (vertex row = 0; row < part_.size(); ++row) mine_.distance[row] = known_.own(row);
  }

  bucket_ring<Weight>& open() { return open_; }
  std::uint64_t reached() const { return reached_; }

 private:
  struct [[gnu::packed, gnu::aligned(4)]] half_relaxed {
    vertex row;
    Weight distance;
    std::uint32_t next;  ///< the first arc that has not been relaxed
  };

  /// Offers along the arcs of a row, as far as the horizon. What would improve nothing is sorted out without a branch:
  /// nobody could foresee it.
  void relax(half_relaxed from, auto& offers) {
    const auto arcs = part_.rows[from.row];
    const vertex source = part_.first + from.row;
    std::size_t i = from.next;
    while (i < arcs.size()) {
      if (better_count_ + stretch > better_.size()) make(offers);
      const std::size_t end = std::min(arcs.size(), i + stretch);
      std::size_t count = better_count_;
      for (; i < end; ++i) {
        const offer o{arcs[i].target, source, path_sum<Weight>(from.distance, arcs[i].length)};
        if (o.distance >= horizon_) break;
        better_[count] = o;
        count += o.distance < known_[o.target];
      }
      better_count_ = count;
      if (i < end) {
        aside_.push_back({from.row, from.distance, static_cast<std::uint32_t>(i)});
        return;
      }
    }
  }

  /// Makes the offers that have been collected.
  void make(auto& offers) {
    for (std::size_t i = 0; i < better_count_; ++i) {
      const offer o = better_[i];
      if (o.distance >= known_[o.target]) continue;
      if (known_.owns(o.target)) {
        improve(o);
      } else {
        known_.set(o.target, o.distance);
        offers.send(where_.rank(o.target), o);
      }
    }
    better_count_ = 0;
  }

  void improve(const offer& o) {
    const vertex row = where_.row(o.target);
    reached_ += known_.own(row) == unreached<Weight>;
    known_.set(o.target, o.distance);
    mine_.parent[row] = o.parent;
    if (!looking_) open_.push(row, o.distance);
  }

  static constexpr std::size_t stretch = 256;

  const places& where_;
  const graph_part<arc>& part_;
  paths<Weight>& mine_;
  known_distances<Weight> known_;
  bucket_ring<Weight> open_;
  std::size_t taken_ = 0;            // entries of the current bucket that have been relaxed
  Weight horizon_ = 0;               // `unreached`: none
  std::vector<half_relaxed> aside_;  // rows that have arcs beyond the horizon
  bool looking_ = false;
  std::array<offer, 4 * stretch> better_;  // than what is known, by the time when they were collected
  std::size_t better_count_ = 0;
  std::uint64_t reached_ = 0;
};

}  // namespace amity::apps::graph
