/// Labels spread from handlers alone: each one goes on from the vertices that its message reaches.

#include "apps/graph/kernels/components.hpp"

namespace amity::apps::graph {
namespace {

struct spread {
  vertex target;
  vertex label;
};

class part_of_check {
 public:
  part_of_check(const places& where, const graph_part<vertex>& own, const large_array<vertex>& labels)
      : where_(where), own_(own), labels_(labels), reached_(own.size()) {}

  void start(auto& spreads) {
    for (vertex row = 0; row < own_.size(); ++row) {
      if (labels_[row] != own_.first + row) continue;
      ++roots_;
      take({labels_[row], labels_[row]}, spreads);
    }
  }

  void take(const spread& arrived, auto& spreads) {
    arrive(arrived.target - own_.first, arrived.label);
    while (!upcoming_.empty()) {
      const vertex row = upcoming_.back();
      upcoming_.pop_back();
      for (const vertex target : own_.rows[row]) {
        if (target - own_.first < own_.size()) {
          arrive(target - own_.first, labels_[row]);
        } else {
          spreads.send(where_.rank(target), {target, labels_[row]});
        }
      }
    }
  }

  std::uint64_t mistakes() const { return disagreements_ + own_.size() - count_reached_; }
  std::uint64_t roots() const { return roots_; }

 private:
  void arrive(vertex row, vertex label) {
    disagreements_ += labels_[row] != label;
    if (reached_[row]) return;
    reached_[row] = true;
    ++count_reached_;
    upcoming_.push_back(row);
  }

  const places& where_;
  const graph_part<vertex>& own_;
  const large_array<vertex>& labels_;
  std::vector<bool> reached_;
  std::vector<vertex> upcoming_;
  std::uint64_t roots_ = 0;
  std::uint64_t count_reached_ = 0;
  std::uint64_t disagreements_ = 0;
};

}  // namespace

std::uint64_t mistakes_of(world& w, const distributed_graph<vertex>& graph, const components& found) {
  std::vector<part_of_check> parts;
  for (std::size_t i = 0; i < graph.parts.size(); ++i) {
    parts.emplace_back(graph.where, graph.parts[i], found.labels[i]);
  }
  const auto part = [&](const auto& who) -> part_of_check& {
    return parts[static_cast<std::size_t>(who.thread_index())];
  };
  auto spreads = w.message<spread>([&](const spread& s, auto& self) { part(self).take(s, self); },
                                   parallel{thread_of_target{graph.where}}, coalesce{});
  const std::uint64_t mistakes =
      w.epoch([&](thread& t) { part(t).start(spreads.on(t)); }, [&](thread& t) { return part(t).mistakes(); });
  std::uint64_t roots = 0;
  for (const part_of_check& each : parts) roots += each.roots();
  return mistakes + (w.sum(roots) == found.count ? 0 : 1);
}

}  // namespace amity::apps::graph
