/// From above, one epoch a level: every part follows the arcs that leave its vertices in the frontier. A target of its
/// own joins the next frontier at once; for another's target it sends a `visit`, whose handler does the same there.
/// Each part remembers which of its own vertices have been visited and which of others' it has asked for, since a
/// second visit never changes anything: one bit for each vertex of the whole graph, so that it sends at most one
/// message for each; less in large jobs (kernels/seen_places.hpp). Nobody could foresee whether a target is new, or
/// whose it is: both are found out without a branch.
///
/// From below, when the frontier has so many arcs that most would lead to visited vertices: each vertex that has not
/// been visited looks for a neighbour that has, and stops at the first, which is in the frontier. No visits are sent;
/// the parts tell each other which vertices they have reached, as words of the bitmap.

#include "apps/graph/kernels/bfs.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <functional>
#include <utility>
#include <vector>

#include "apps/graph/kernels/bitmap.hpp"
#include "apps/graph/kernels/seen_places.hpp"
#include "apps/graph/store/topology.hpp"

namespace amity::apps::graph {
namespace {

struct visit {
  vertex target;  // both are places
  vertex parent;
};

/// Some words of the bitmap of visited vertices.
struct sighting {
  static constexpr std::size_t length = 7;
  vertex target;  // a place of the part that is told
  std::uint32_t first;
  std::array<std::uint64_t, length> words;
};

/// How wide a frontier is, in one number that parts can add up.
struct frontier_size {
  std::uint64_t vertices = 0;
  std::uint64_t arcs = 0;  // that leave them; only their order of magnitude is needed

  static constexpr int arc_bits = 4;
  std::uint64_t packed() const { return (arcs >> arc_bits) << 32 | vertices; }
  static frontier_size unpacked(std::uint64_t sum) { return {sum & 0xffffffff, sum >> 32 << arc_bits}; }
};

/// One thread's part of a search.
class part_of_search {
 public:
  part_of_search(const distributed_graph<vertex>& graph, const graph_part<vertex>& own, paths<level>& mine, bool whole)
      : where_(graph.where),
        own_(own),
        mine_(mine),
        seen_(where_, own.first, whole),
        in_order_(own.size()),
        reached_((own.joined + 63) / 64) {
    mine_ = nothing_reached<level>(own.size());
  }

  void forget() {
    std::ranges::fill(mine_.distance, unreached<level>);
    std::ranges::fill(mine_.parent, no_vertex);
    seen_.clear();
    next_.clear();
    depth_ = 0;
  }

  void take(std::span<const visit> visits) {
    std::array<visit, stretch> fresh;
    while (!visits.empty()) {
      const auto some = visits.first(std::min(stretch, visits.size()));
      visits = visits.subspan(some.size());
      std::size_t count = 0;
      for (const visit& v : some) {
        fresh[count] = v;
        count += seen_.insert(v.target);
      }
      reach({fresh.data(), count});
    }
  }
  void take(std::span<const sighting> sightings) {
    for (const sighting& s : sightings) {
      const auto words = seen_.words().subspan(s.first);
      const std::size_t length = std::min(words.size(), s.words.size());
      for (std::size_t i = 0; i < length; ++i) words[i] |= s.words[i];
    }
  }

  /// The next frontier becomes the frontier.
  void descend() {
    frontier_.swap(next_);
    next_.clear();
    ++depth_;
  }

  void follow_arcs(auto& visits) {
    constexpr std::size_t wide = 32;  // one row in so many
    if (frontier_.size() > own_.size() / wide) put_in_order();
    settle();
    for (std::size_t i = 0; i < frontier_.size(); ++i) {
      own_.rows.prefetch_after(frontier_, i, std::identity());
      const vertex source = own_.first + frontier_[i];
      for (auto targets = own_.rows[frontier_[i]]; !targets.empty();) {
        const auto some = targets.first(std::min(stretch, targets.size()));
        targets = targets.subspan(some.size());
        if (found_count_ + some.size() > found_.size()) pass_on_found(visits);
        look_at(some, source);
      }
    }
    pass_on_found(visits);
  }

  /// Tells the others all that it has reached so far.
  void tell_all(auto& sightings) { tell(seen_.words().subspan(own_.first / 64, reached_.size()), sightings); }

  /// Nothing may be handled meanwhile: what others reach in this level must not be seen before the next one.
  void look_from_below() {
    settle();
    const auto seen = seen_.words().subspan(own_.first / 64, reached_.size());
    for (std::size_t w = 0; w < reached_.size(); ++w) {
      std::uint64_t found = 0;
      for (std::uint64_t rest = ~seen[w] & rows_of_word(w); rest != 0; rest &= rest - 1) {
        const auto row = static_cast<vertex>(64 * w + static_cast<std::size_t>(std::countr_zero(rest)));
        for (const vertex neighbour : own_.rows[row]) {
          if (!seen_.contains(neighbour)) continue;
          found |= rest & -rest;
          mine_.parent[row] = neighbour;
          next_.push_back(row);
          break;
        }
      }
      reached_[w] = found;
    }
  }
  void tell_reached(auto& sightings) {
    const auto seen = seen_.words().subspan(own_.first / 64, reached_.size());
    for (std::size_t w = 0; w < reached_.size(); ++w) seen[w] |= reached_[w];
    tell(reached_, sightings);
  }

  std::uint64_t vertices_of_next() const { return next_.size(); }
  std::uint64_t arcs_of_next() const {
    std::uint64_t arcs = 0;
    for (const vertex row : next_) arcs += own_.rows.degree(row);
    return arcs;
  }

 private:
  /// Own vertices that nobody has reached before.
  void reach(std::span<const visit> own) {
    for (const auto& [target, parent] : own) {
      const vertex row = target - own_.first;
      mine_.parent[row] = parent;
      next_.push_back(row);
    }
  }

  /// Most have been seen.
  void look_at(std::span<const vertex> targets, vertex source) {
    std::size_t count = found_count_;
    for (const vertex target : targets) {
      found_[count] = {target, source};
      count += !seen_.contains(target);
    }
    found_count_ = count;
  }

  /// To the next frontier, or to their owners, whose messages may be handled meanwhile.
  void pass_on_found(auto& visits) {
    std::size_t own = 0, others = 0;
    for (const visit& v : std::span(found_.data(), std::exchange(found_count_, 0))) {
      const bool is_new = seen_.insert(v.target);
      const bool is_own = seen_.owns(v.target);
      found_[own] = others_found_[others] = v;
      own += is_new & is_own;
      others += is_new & !is_own;
    }
    reach({found_.data(), own});
    for (const visit& v : std::span(others_found_.data(), others)) visits.send(where_.rank(v.target), v);
  }

  /// Sorts a wide frontier by rows: then its arcs lie side by side, and one row has about as many as the one before.
  void put_in_order() {
    for (const vertex row : frontier_) in_order_.insert(row);
    frontier_.clear();
    const auto words = in_order_.words();
    for (std::size_t w = 0; w < words.size(); ++w) {
      for (std::uint64_t rest = std::exchange(words[w], 0); rest != 0; rest &= rest - 1)
        frontier_.push_back(static_cast<vertex>(64 * w + static_cast<std::size_t>(std::countr_zero(rest))));
    }
  }

  /// Writes down how far the frontier is: now, since a frontier in order is written side by side.
  void settle() {
    for (const vertex row : frontier_) mine_.distance[row] = depth_ - 1;
  }

  /// The bits of a word that stand for rows with arcs.
  std::uint64_t rows_of_word(std::size_t w) const {
    const std::size_t rows = std::min<std::size_t>(64, own_.joined - 64 * w);
    return rows == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << rows) - 1;
  }

  void tell(std::span<const std::uint64_t> words, auto& sightings) {
    for (std::size_t w = 0; w < words.size(); w += sighting::length) {
      sighting s{0, static_cast<std::uint32_t>(own_.first / 64 + w), {}};
      std::ranges::copy(words.subspan(w, std::min(sighting::length, words.size() - w)), s.words.begin());
      if (std::ranges::count(s.words, 0) == std::ssize(s.words)) continue;
      for (rank_t rank = 0; rank < where_.ranks(); ++rank) {
        for (rank_t thread = 0; thread < where_.threads(); ++thread) {
          s.target = where_.place(rank, thread, 0);
          if (s.target != own_.first) sightings.send(rank, s);
        }
      }
    }
  }

  const places& where_;
  const graph_part<vertex>& own_;
  paths<level>& mine_;
  seen_places seen_;
  bitmap in_order_;                      // of rows; empty but while the frontier is sorted
  large_array<std::uint64_t> reached_;   // from below, in this level: a bit for each own row that has arcs
  std::vector<vertex> frontier_, next_;  // rows

  static constexpr std::size_t stretch = 256;
  std::array<visit, 4 * stretch> found_, others_found_;
  std::size_t found_count_ = 0;
  level depth_ = 0;
};

}  // namespace

class breadth_first_search::state {
 public:
  virtual ~state() = default;
  virtual const answer<level>& run(vertex root, const observer& watch) = 0;
};

namespace {

template <class Topology, class State>
class state_over final : public State {
 public:
  state_over(const Topology& topology, world& w, const distributed_graph<vertex>& graph, const bfs_options& how)
      : world_(w),
        graph_(graph),
        how_(how),
        visits_(w.message<visit>(take{*this}, route{topology}, parallel{thread_of_target{graph.where}}, coalesce{})),
        sightings_(
            w.message<sighting>(take{*this}, route{topology}, parallel{thread_of_target{graph.where}}, coalesce{})) {
    answer_.parts.resize(graph.parts.size());
    parts_.resize(graph.parts.size());
    constexpr std::uint64_t parts_max = 64;  // so that the set takes no more memory than the answer
    const bool whole = how_.from_below || graph_.where.count() <= parts_max * graph_.where.block();
    world_.epoch([&](thread& t) {
      const auto i = static_cast<std::size_t>(t.thread_index());
      parts_[i] = std::make_unique<part_of_search>(graph_, graph_.parts[i], answer_.parts[i], whole);
    });
  }

  const answer<level>& run(vertex root, const observer& watch) override {
    const meter clock(world_);
    frontier_size width = each_part([&](part_of_search& part, thread& t) {
      part.forget();
      const visit first{root, root};
      if (root - graph_.of(t).first < graph_.of(t).size()) part.take(std::span(&first, 1));
    });
    std::uint64_t reached = 1;
    std::uint64_t arcs_left = graph_.arcs;
    bool below = false;
    for (level depth = 0; width.vertices > 0; ++depth) {
      watch(depth, reached);
      arcs_left -= std::min(arcs_left, width.arcs);
      const bool was_below = std::exchange(below, how_.from_below && look_from_below(below, width, arcs_left));
      if (below && !was_below) {
        each_part([&](part_of_search& part, thread& t) { part.tell_all(sightings_.on(t)); });
      }
      width = each_part([&](part_of_search& part, thread& t) {
        part.descend();
        if (below) {
          part.look_from_below();
          part.tell_reached(sightings_.on(t));
        } else {
          part.follow_arcs(visits_.on(t));
        }
      });
      reached += width.vertices;
      answer_.rounds = depth + 1;
    }
    answer_.spent = clock.read();
    return answer_;
  }

 private:
  /// What messages do where they arrive.
  struct take {
    state_over& search;
    template <class Message>
    void operator()(std::span<const Message> arrived, auto& self) const {
      part_of_search& part = *search.parts_[static_cast<std::size_t>(self.thread_index())];
      part.take(arrived);
    }
  };

  /// An epoch in which each part does something. How large the next frontier is in all; its arcs matter only to whom
  /// may look from below.
  frontier_size each_part(auto work) {
    const auto part = [&](thread& t) -> part_of_search& { return *parts_[static_cast<std::size_t>(t.thread_index())]; };
    const auto size_of_next = [&](thread& t) {
      const std::uint64_t arcs = how_.from_below ? part(t).arcs_of_next() : 0;
      return frontier_size{part(t).vertices_of_next(), arcs}.packed();
    };
    return frontier_size::unpacked(world_.epoch([&](thread& t) { work(part(t), t); }, size_of_next));
  }

  /// Whether to look from below in the next level: while the frontier is a good part of what is left.
  bool look_from_below(bool below, const frontier_size& width, std::uint64_t arcs_left) const {
    constexpr std::uint64_t arcs_left_per_arc = 15;  // Beamer's figures, which are right here too
    constexpr std::uint64_t vertices_per_vertex = 18;
    return below ? width.vertices > graph_.vertices() / vertices_per_vertex
                 : width.arcs > arcs_left / arcs_left_per_arc;
  }

  using handler = take;
  template <class T>
  using messages = message_type<T, handler, route<Topology>, parallel<thread_of_target>, coalesce>;

  world& world_;
  const distributed_graph<vertex>& graph_;
  bfs_options how_;
  answer<level> answer_;
  std::vector<std::unique_ptr<part_of_search>> parts_;  // of this rank's threads
  messages<visit> visits_;
  messages<sighting> sightings_;
};

}  // namespace

breadth_first_search::breadth_first_search(world& w, const distributed_graph<vertex>& graph, const bfs_options& how)
    : state_(with_topology(w, [&]<class Topology>(const Topology& topology) -> std::unique_ptr<state> {
        return std::make_unique<state_over<Topology, state>>(topology, w, graph, how);
      })) {}
breadth_first_search::~breadth_first_search() = default;

const answer<level>& breadth_first_search::run(vertex root, const observer& watch) { return state_->run(root, watch); }

}  // namespace amity::apps::graph
