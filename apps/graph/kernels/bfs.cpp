/// From above, one epoch a level: every part follows the arcs that leave its vertices in the frontier. A target of its
/// own joins the next frontier at once; for another's target it sends a `visit`, whose handler does the same there.
/// Each part keeps one bit for each vertex of the whole graph: "visited" for its own, "already asked for" for others',
/// since a second visit never changes anything. So a part sends at most one message for each vertex.
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
  part_of_search(const distributed_graph<vertex>& graph, const graph_part<vertex>& own, paths<level>& mine)
      : where_(graph.where), own_(own), mine_(mine), seen_(where_.count()), reached_((own.joined + 63) / 64) {
    mine_ = nothing_reached<level>(own.size());
  }

  void forget() {
    std::ranges::fill(mine_.distance, unreached<level>);
    std::ranges::fill(mine_.parent, no_vertex);
    seen_.clear();
    next_.clear();
    depth_ = 0;
  }

  void take(const visit& v) {
    if (seen_.insert(v.target)) reach(v.target, v.parent);
  }
  void take(const sighting& s) {
    const auto words = seen_.words().subspan(s.first);
    const std::size_t length = std::min(words.size(), s.words.size());
    for (std::size_t i = 0; i < length; ++i) words[i] |= s.words[i];
  }

  /// The next frontier becomes the frontier.
  void descend() {
    frontier_.swap(next_);
    next_.clear();
    ++depth_;
  }

  void follow_arcs(auto& visits) {
    for (std::size_t i = 0; i < frontier_.size(); ++i) {
      own_.rows.prefetch_after(frontier_, i, std::identity());
      const vertex source = own_.first + frontier_[i];
      for (const vertex target : own_.rows[frontier_[i]]) {
        if (!seen_.insert(target)) continue;
        if (target - own_.first < where_.block()) {
          reach(target, source);
        } else {
          visits.send(where_.rank(target), {target, source});
        }
      }
    }
  }

  /// Tells the others all that it has reached so far.
  void tell_all(auto& sightings) { tell(seen_.words().subspan(own_.first / 64, reached_.size()), sightings); }

  /// Nothing may be handled meanwhile: what others reach in this level must not be seen before the next one.
  void look_from_below() {
    const auto seen = seen_.words().subspan(own_.first / 64, reached_.size());
    for (std::size_t w = 0; w < reached_.size(); ++w) {
      std::uint64_t found = 0;
      for (std::uint64_t rest = ~seen[w] & rows_of_word(w); rest != 0; rest &= rest - 1) {
        const auto row = static_cast<vertex>(64 * w + static_cast<std::size_t>(std::countr_zero(rest)));
        for (const vertex neighbour : own_.rows[row]) {
          if (!seen_.contains(neighbour)) continue;
          found |= rest & -rest;
          mine_.distance[row] = depth_;
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

  frontier_size size_of_next() const {
    frontier_size size{next_.size(), 0};
    for (const vertex row : next_) size.arcs += own_.rows.degree(row);
    return size;
  }

 private:
  void reach(vertex target, vertex parent) {
    const vertex row = target - own_.first;
    mine_.distance[row] = depth_;
    mine_.parent[row] = parent;
    next_.push_back(row);
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
  bitmap seen_;                          // of all places
  large_array<std::uint64_t> reached_;   // from below, in this level: a bit for each own row that has arcs
  std::vector<vertex> frontier_, next_;  // rows
  level depth_ = 0;
};

}  // namespace

class breadth_first_search::state {
 public:
  state(world& w, const distributed_graph<vertex>& graph, const bfs_options& how)
      : world_(w),
        graph_(graph),
        how_(how),
        visits_(w.message<visit>(take{*this}, parallel{thread_of_target{graph.where}}, coalesce{})),
        sightings_(w.message<sighting>(take{*this}, parallel{thread_of_target{graph.where}}, coalesce{})) {
    answer_.parts.resize(graph.parts.size());
    parts_.resize(graph.parts.size());
    world_.epoch([&](thread& t) {
      const auto i = static_cast<std::size_t>(t.thread_index());
      parts_[i] = std::make_unique<part_of_search>(graph_, graph_.parts[i], answer_.parts[i]);
    });
  }

  const answer<level>& run(vertex root, const observer& watch) {
    const meter clock(world_);
    frontier_size width = each_part([&](part_of_search& part, thread& t) {
      part.forget();
      if (root - graph_.of(t).first < graph_.of(t).size()) part.take(visit{root, root});
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
    state& search;
    template <class Message>
    void operator()(std::span<const Message> arrived, auto& self) const {
      part_of_search& part = *search.parts_[static_cast<std::size_t>(self.thread_index())];
      for (const Message& each : arrived) part.take(each);
    }
  };

  /// An epoch in which each part does something. How large the next frontier is in all.
  frontier_size each_part(auto work) {
    const auto part = [&](thread& t) -> part_of_search& { return *parts_[static_cast<std::size_t>(t.thread_index())]; };
    return frontier_size::unpacked(
        world_.epoch([&](thread& t) { work(part(t), t); }, [&](thread& t) { return part(t).size_of_next().packed(); }));
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
  using messages = message_type<T, handler, parallel<thread_of_target>, coalesce>;

  world& world_;
  const distributed_graph<vertex>& graph_;
  bfs_options how_;
  answer<level> answer_;
  std::vector<std::unique_ptr<part_of_search>> parts_;  // of this rank's threads
  messages<visit> visits_;
  messages<sighting> sightings_;
};

breadth_first_search::breadth_first_search(world& w, const distributed_graph<vertex>& graph, const bfs_options& how)
    : state_(std::make_unique<state>(w, graph, how)) {}
breadth_first_search::~breadth_first_search() = default;

const answer<level>& breadth_first_search::run(vertex root, const observer& watch) { return state_->run(root, watch); }

}  // namespace amity::apps::graph
