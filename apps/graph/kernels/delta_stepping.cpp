/// Single-source shortest paths by delta-stepping (Meyer and Sanders, "Delta-stepping: a parallelizable shortest path
/// algorithm", Journal of Algorithms 49, 2003), an epoch a bucket.
///
/// A bucket holds vertices whose distances, as far as they are known, differ by less than delta. They offer a distance
/// to the targets of their arcs, which may put more vertices into the same bucket; an offer to another thread's vertex
/// is a message. Its handler goes on with the bucket by itself, sending offers in turn, so that one epoch empties the
/// bucket on all ranks.
///
/// Most arcs of a graph of the world join vertices that are near the root, and lead to nothing new. They are never
/// looked at: arcs wait that lead beyond a horizon, and when what is left beyond it has fewer arcs than wait, it looks
/// for its parents itself (kernels/relaxation.hpp; Chakaravarthy et al., "Scalable single source shortest path
/// algorithms for massively parallel systems", IPDPS 2014, have the idea).

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include "amity/base/random.hpp"
#include "apps/graph/kernels/relaxation.hpp"
#include "apps/graph/kernels/sssp.hpp"
#include "apps/graph/store/topology.hpp"

namespace amity::apps::graph {
namespace {

struct lengths {
  double mean;
  weight longest;
};

lengths sample_lengths(world& w, const distributed_graph<arc>& graph) {
  constexpr int samples_of_part = 4096;
  double total = 0, longest = 0;
  std::uint64_t samples = 0;
  for (const auto& part : graph.parts) {
    for (vertex row = 0; row < part.joined; ++row)
      longest = std::max(longest, static_cast<double>(part.rows[row].back().length));
    const auto arcs = part.rows.arcs();
    if (arcs.empty()) continue;
    splitmix64 random(part.first);
    for (int i = 0; i < samples_of_part; ++i) total += static_cast<double>(arcs[random.below(arcs.size())].length);
    samples += samples_of_part;
  }
  total = w.sum(total);
  samples = std::max<std::uint64_t>(1, w.sum(samples));
  return {total / static_cast<double>(samples), static_cast<weight>(w.max(longest))};
}

/// Wider buckets relax more arcs for distances that are not final, narrower ones want more epochs. The more arcs a
/// vertex has, the more often would its distance be improved within a bucket; how much more, has been measured on
/// random graphs with 4 arcs a vertex and on Graph500's.
weight choose_delta(world& w, const distributed_graph<arc>& graph, const lengths& of) {
  std::uint64_t joined = 0;
  for (const auto& part : graph.parts) joined += part.joined;
  joined = std::max<std::uint64_t>(1, w.sum(joined));
  constexpr double buckets_max = 1 << 16;  // so many lie in the ring, mostly empty, where lengths differ very much
  const double degree = std::max(1.0, static_cast<double>(graph.arcs) / static_cast<double>(joined));
  const double delta = std::max(8 * of.mean / std::pow(degree, 1.5), static_cast<double>(of.longest) / buckets_max);
  return std::max(static_cast<weight>(delta), std::numeric_limits<weight>::min());
}

}  // namespace

class delta_stepping::state {
 public:
  virtual ~state() = default;
  virtual const answer<weight>& run(vertex root, const observer& watch) = 0;
  virtual weight delta() const = 0;
};

namespace {

template <class Topology, class State>
class state_over final : public State {
 public:
  state_over(const Topology& topology, world& w, const distributed_graph<arc>& graph, const sssp_options& how)
      : world_(w),
        graph_(graph),
        from_below_(how.from_below && graph.undirected),
        offers_(w.message<offer>(take{*this}, route{topology}, parallel{thread_of_target{graph.where}}, coalesce{})),
        questions_(w.message<question>(answer_all{*this}, route{topology}, parallel{thread_of_target{graph.where}},
                                       coalesce{})) {
    const lengths of = sample_lengths(w, graph);
    delta_ = how.delta > 0 ? how.delta : choose_delta(w, graph, of);
    answer_.parts.resize(graph.parts.size());
    parts_.resize(graph.parts.size());
    carries_on_.resize(graph.parts.size());
    world_.epoch([&](thread& t) {
      const auto i = index_of(t);
      parts_[i] = std::make_unique<relaxation>(graph.where, graph.parts[i], answer_.parts[i], delta_, of.longest);
    });
  }

  const answer<weight>& run(vertex root, const observer& watch) override {
    const meter clock(world_);
    beyond_ = 2 * delta_;
    horizon_ = from_below_ ? beyond_ : unreached<weight>;
    world_.epoch([&](thread& t) {
      part_of(t).begin(horizon_);
      const offer first{root, root, 0};
      if (root - graph_.of(t).first < graph_.of(t).size()) part_of(t).take({&first, 1});
    });
    answer_.rounds = 0;
    do {
      for (std::uint64_t bucket; (bucket = next_bucket()) != bucket_ring::none;) {
        const std::uint64_t reached = relax(bucket);
        watch(answer_.rounds++, reached);
      }
    } while (horizon_ < unreached<weight> && go_beyond());
    world_.epoch([&](thread& t) { part_of(t).end(); });
    answer_.spent = clock.read();
    return answer_;
  }

  weight delta() const override { return delta_; }

 private:
  struct take {
    state_over& search;
    void operator()(std::span<const offer> arrived, auto& self) const {
      relaxation& part = search.part_of(self);
      part.take(arrived);
      if (search.carries_on_[index_of(self)]) part.relax_current(self);
    }
  };
  struct answer_all {
    state_over& search;
    void operator()(std::span<const question> arrived, auto& self) const {
      search.part_of(self).answer(arrived, search.offers_.on(self));
    }
  };

  static std::size_t index_of(const auto& t) { return static_cast<std::size_t>(t.thread_index()); }
  relaxation& part_of(const auto& t) { return *parts_[index_of(t)]; }

  std::uint64_t next_bucket() {
    std::uint64_t bucket = bucket_ring::none;
    for (auto& part : parts_) bucket = std::min(bucket, part->open().next());
    return world_.min(bucket);
  }

  /// How many vertices have been reached in all.
  std::uint64_t relax(std::uint64_t bucket) {
    for (auto& part : parts_) part->open().advance_to(bucket);
    const std::uint64_t reached = world_.epoch(
        [&](thread& t) {
          part_of(t).relax_current(offers_.on(t));
          carries_on_[index_of(t)] = true;
        },
        [&](thread& t) { return part_of(t).reached(); });
    std::ranges::fill(carries_on_, false);
    for (auto& part : parts_) part->end_current();
    return reached;
  }

  /// Everything nearer than the horizon is found. Whether there may be more.
  bool go_beyond() {
    std::vector<relaxation::rest> rests(parts_.size());
    world_.epoch([&](thread& t) { rests[index_of(t)] = part_of(t).survey(); });
    relaxation::rest all;
    for (const auto& rest : rests) {
      all.arcs_aside += rest.arcs_aside;
      all.arcs_beyond += rest.arcs_beyond;
      all.next_offer = std::min(all.next_offer, rest.next_offer);
    }
    all.arcs_aside = world_.sum(all.arcs_aside);
    all.arcs_beyond = world_.sum(all.arcs_beyond);
    if (all.arcs_aside == 0) return false;
    constexpr std::uint64_t arcs_a_question = 5;  // that are relaxed in the time of a question and its answer
    if (all.arcs_beyond * arcs_a_question < all.arcs_aside) {
      world_.epoch([&](thread& t) { part_of(t).look_below(questions_.on(t)); });
      world_.epoch([&](thread& t) { part_of(t).open_beyond(); });
      horizon_ = unreached<weight>;
    } else {
      const auto next_offer = static_cast<weight>(world_.min(static_cast<double>(all.next_offer)));
      horizon_ = std::max(horizon_, next_offer) + beyond_;
      beyond_ *= 2;
      world_.epoch([&](thread& t) { part_of(t).extend(horizon_, offers_.on(t)); });
    }
    return true;
  }

  template <class T, class Handler>
  using messages = message_type<T, Handler, route<Topology>, parallel<thread_of_target>, coalesce>;

  world& world_;
  const distributed_graph<arc>& graph_;
  const bool from_below_;
  weight delta_ = 0;
  weight horizon_ = 0;
  weight beyond_ = 0;  // how far the horizon is moved
  answer<weight> answer_;
  std::vector<std::unique_ptr<relaxation>> parts_;  // of this rank's threads
  std::vector<char> carries_on_;  // of each thread: its handlers relax what they put into the current bucket
  messages<offer, take> offers_;
  messages<question, answer_all> questions_;
};

}  // namespace

delta_stepping::delta_stepping(world& w, const distributed_graph<arc>& graph, const sssp_options& how)
    : state_(with_topology(w, [&]<class Topology>(const Topology& topology) -> std::unique_ptr<state> {
        return std::make_unique<state_over<Topology, state>>(topology, w, graph, how);
      })) {}
delta_stepping::~delta_stepping() = default;

const answer<weight>& delta_stepping::run(vertex root, const observer& watch) { return state_->run(root, watch); }
weight delta_stepping::delta() const { return state_->delta(); }

}  // namespace amity::apps::graph
