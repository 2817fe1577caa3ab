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
#include <concepts>
#include <limits>
#include <memory>
#include <vector>

#include "amity/base/random.hpp"
#include "apps/graph/collect.hpp"
#include "apps/graph/kernels/relaxation.hpp"
#include "apps/graph/kernels/sssp.hpp"
#include "apps/graph/store/topology.hpp"

namespace amity::apps::graph {
namespace {

template <class Weight>
struct lengths {
  double mean;
  Weight longest;
};

template <class Weight>
lengths<Weight> sample_lengths(world& w, const distributed_graph<weighted_arc<Weight>>& graph) {
  constexpr int samples_of_part = 4096;
  double total = 0;
  Weight longest = 0;
  std::uint64_t samples = 0;
  for (const auto& part : graph.parts) {
    for (vertex row = 0; row < part.joined; ++row) longest = std::max<Weight>(longest, part.rows[row].back().length);
    const auto arcs = part.rows.arcs();
    if (arcs.empty()) continue;
    splitmix64 random(part.first);
    for (int i = 0; i < samples_of_part; ++i) total += static_cast<double>(arcs[random.below(arcs.size())].length);
    samples += samples_of_part;
  }
  total = w.sum(total);
  samples = std::max<std::uint64_t>(1, w.sum(samples));
  return {total / static_cast<double>(samples), greatest_of(w, longest)};
}

/// Wider buckets relax more arcs for distances that are not final, narrower ones want more epochs. The more arcs a
/// vertex has, the more often would its distance be improved within a bucket; how much more, has been measured on
/// random graphs with 4 arcs a vertex and on Graph500's.
template <class Weight>
double choose_delta(world& w, const distributed_graph<weighted_arc<Weight>>& graph, const lengths<Weight>& of) {
  std::uint64_t joined = 0;
  for (const auto& part : graph.parts) joined += part.joined;
  joined = std::max<std::uint64_t>(1, w.sum(joined));
  constexpr double buckets_max = 1 << 16;  // so many lie in the ring, mostly empty, where lengths differ very much
  const double degree = std::max(1.0, static_cast<double>(graph.arcs) / static_cast<double>(joined));
  const double delta = std::max(8 * of.mean / std::pow(degree, 1.5), static_cast<double>(of.longest) / buckets_max);
  return std::max(delta, std::integral<Weight> ? 1 : static_cast<double>(std::numeric_limits<Weight>::min()));
}

/// The ring has no more buckets, and a positive width has a reciprocal.
template <class Weight>
double narrowest(Weight longest) {
  return std::max(static_cast<double>(longest) / static_cast<double>(bucket_ring<Weight>::buckets_max),
                  std::numeric_limits<double>::min());
}

/// The step by which a horizon is moved first. Above 0, and so small that the sum of a horizon and a step has a
/// meaning.
template <class Weight>
Weight first_step(double delta) {
  if constexpr (std::integral<Weight>) {
    return static_cast<Weight>(std::clamp(2 * delta, 1.0, 0x1p61));
  } else {
    return static_cast<Weight>(std::clamp(2 * delta, static_cast<double>(std::numeric_limits<Weight>::min()),
                                          static_cast<double>(std::numeric_limits<Weight>::max())));
  }
}

}  // namespace

template <weight Weight>
class delta_stepping<Weight>::state {
 public:
  virtual ~state() = default;
  virtual const answer<Weight>& run(vertex root, const observer& watch) = 0;
  virtual double delta() const = 0;
};

namespace {

template <class Weight, class Topology, class State>
class state_over final : public State {
  using graph_type = distributed_graph<weighted_arc<Weight>>;
  using part_type = relaxation<Weight>;
  using offer = graph::offer<Weight>;
  using question = graph::question<Weight>;

 public:
  state_over(const Topology& topology, world& w, const graph_type& graph, const sssp_options& how)
      : world_(w),
        graph_(graph),
        from_below_(how.from_below && graph.undirected),
        offers_(w.message<offer>(take{*this}, route{topology}, parallel{thread_of_target{graph.where}}, coalesce{})),
        questions_(w.message<question>(answer_all{*this}, route{topology}, parallel{thread_of_target{graph.where}},
                                       coalesce{})) {
    const lengths<Weight> of = sample_lengths(w, graph);
    delta_ = how.delta > 0 ? std::max(how.delta, narrowest(of.longest)) : choose_delta(w, graph, of);
    answer_.parts.resize(graph.parts.size());
    parts_.resize(graph.parts.size());
    carries_on_.resize(graph.parts.size());
    world_.epoch([&](thread& t) {
      const auto i = index_of(t);
      parts_[i] = std::make_unique<part_type>(graph.where, graph.parts[i], answer_.parts[i], delta_, of.longest);
    });
  }

  const answer<Weight>& run(vertex root, const observer& watch) override {
    const meter clock(world_);
    beyond_ = first_step<Weight>(delta_);
    horizon_ = from_below_ ? beyond_ : unreached<Weight>;
    world_.epoch([&](thread& t) {
      part_of(t).begin(horizon_);
      const offer first{root, root, 0};
      if (root - graph_.of(t).first < graph_.of(t).size()) part_of(t).take({&first, 1});
    });
    answer_.rounds = 0;
    do {
      for (std::uint64_t bucket; (bucket = next_bucket()) != no_bucket;) {
        const std::uint64_t reached = relax(bucket);
        watch(answer_.rounds++, reached);
      }
    } while (horizon_ < unreached<Weight> && go_beyond());
    world_.epoch([&](thread& t) { part_of(t).end(); });
    answer_.spent = clock.read();
    return answer_;
  }

  double delta() const override { return delta_; }

 private:
  struct take {
    state_over& search;
    void operator()(std::span<const offer> arrived, auto& self) const {
      part_type& part = search.part_of(self);
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
  part_type& part_of(const auto& t) { return *parts_[index_of(t)]; }

  std::uint64_t next_bucket() {
    std::uint64_t bucket = no_bucket;
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
    std::vector<typename part_type::rest> rests(parts_.size());
    world_.epoch([&](thread& t) { rests[index_of(t)] = part_of(t).survey(); });
    typename part_type::rest all;
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
      horizon_ = unreached<Weight>;
    } else {
      const auto next_offer = least_of(world_, all.next_offer);
      horizon_ = path_sum(std::max(horizon_, next_offer), beyond_);
      beyond_ = path_sum(beyond_, beyond_);
      world_.epoch([&](thread& t) { part_of(t).extend(horizon_, offers_.on(t)); });
    }
    return true;
  }

  template <class T, class Handler>
  using messages = message_type<T, Handler, route<Topology>, parallel<thread_of_target>, coalesce>;

  world& world_;
  const graph_type& graph_;
  const bool from_below_;
  double delta_ = 0;
  Weight horizon_ = 0;
  Weight beyond_ = 0;  // how far the horizon is moved
  answer<Weight> answer_;
  std::vector<std::unique_ptr<part_type>> parts_;  // of this rank's threads
  std::vector<char> carries_on_;  // of each thread: its handlers relax what they put into the current bucket
  messages<offer, take> offers_;
  messages<question, answer_all> questions_;
};

}  // namespace

template <weight Weight>
delta_stepping<Weight>::delta_stepping(world& w, const distributed_graph<weighted_arc<Weight>>& graph,
                                       const sssp_options& how)
    : state_(with_topology(w, [&]<class Topology>(const Topology& topology) -> std::unique_ptr<state> {
        return std::make_unique<state_over<Weight, Topology, state>>(topology, w, graph, how);
      })) {}
template <weight Weight>
delta_stepping<Weight>::~delta_stepping() = default;

template <weight Weight>
const answer<Weight>& delta_stepping<Weight>::run(vertex root, const observer& watch) {
  return state_->run(root, watch);
}
template <weight Weight>
double delta_stepping<Weight>::delta() const {
  return state_->delta();
}

template class delta_stepping<float>;
template class delta_stepping<double>;
template class delta_stepping<std::int64_t>;

}  // namespace amity::apps::graph
