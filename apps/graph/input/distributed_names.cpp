#include "apps/graph/input/distributed_names.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace amity::apps::graph {

distributed_names::distributed_names(labels held, std::vector<range> ranges) : held_(std::move(held)) {
  std::map<rank_t, vertex> before;
  for (const range& each : ranges) {
    vertex& so_far = before[each.holder];
    ranges_.push_back({each, so_far});
    so_far += each.last - each.first;
    size_ = each.last;
  }
}

const distributed_names::held_range& distributed_names::range_of(vertex v) const {
  return *std::ranges::upper_bound(ranges_, v, {}, [](const held_range& r) { return r.of.last; });
}

vertex distributed_names::number_of(rank_t own, vertex held) const {
  for (const auto& [of, held_before] : ranges_) {
    if (of.holder == own && held - held_before < of.last - of.first) return of.first + (held - held_before);
  }
  return no_vertex;
}

std::vector<std::string> distributed_names::texts(world& w, std::span<const vertex> wanted) const {
  std::vector<std::string> result(wanted.size());
  if (are_numbered()) {
    std::ranges::transform(wanted, result.begin(), [&](vertex v) { return held_.text(v); });
    return result;
  }
  struct question {
    std::uint64_t slot;
    vertex asked;
    rank_t asker;
  };
  using answer = std::pair<std::uint64_t, std::string>;
  auto reply = w.message<answer>([&](const answer& a) { result[a.first] = a.second; }, coalesce{});
  auto ask = w.message<question>(
      [&](const question& q, auto& self) {
        const held_range& r = range_of(q.asked);
        reply.on(self).send(q.asker, {q.slot, held_.text(r.held_before + (q.asked - r.of.first))});
      },
      coalesce{});
  w.epoch([&] {
    for (std::size_t i = 0; i < wanted.size(); ++i) ask.send(range_of(wanted[i]).of.holder, {i, wanted[i], w.rank()});
  });
  return result;
}

std::optional<vertex> distributed_names::find(world& w, std::string_view label) const {
  if (are_numbered()) return held_.find(label);
  const auto held = held_.find(label);
  const auto found = static_cast<vertex>(w.min(std::uint64_t{held ? number_of(w.rank(), *held) : no_vertex}));
  if (found != no_vertex) return found;
  // Readers of text keep numbers without leading zeros.
  const bool is_number = std::ranges::all_of(label, [](char c) { return c >= '0' && c <= '9'; });
  if (is_number && label.size() > 1 && label[0] == '0') return find(w, label.substr(1));
  return {};
}

std::vector<std::string> distributed_names::nearest(world& w, std::string_view wanted, std::size_t count) const {
  using near = std::tuple<std::uint64_t, vertex, std::string>;  // distance, number, text: likelier ones are smaller
  std::vector<near> all;
  const auto own = held_.nearest(wanted, count);
  if (are_numbered()) {
    for (const auto& each : own) all.emplace_back(each.distance, each.meant, held_.text(each.meant));
  } else {
    auto collected = w.share(all);
    w.epoch([&] {
      for (const auto& each : own) {
        for (rank_t r = 0; r < w.size(); ++r) {
          w.async(
              r, [](std::vector<near>& to, const near& n) { to.push_back(n); }, collected,
              near(each.distance, number_of(w.rank(), each.meant), held_.text(each.meant)));
        }
      }
    });
  }
  std::ranges::sort(all);
  std::vector<std::string> result;
  for (std::size_t i = 0; i < std::min(count, all.size()); ++i) result.push_back(std::get<std::string>(all[i]));
  return result;
}

}  // namespace amity::apps::graph
