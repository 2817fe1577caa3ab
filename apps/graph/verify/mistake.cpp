#include "apps/graph/verify/mistake.hpp"

#include <fmt/format.h>

#include <bit>
#include <type_traits>

namespace amity::apps::graph {
namespace {

template <class Distance>
std::string at_distance(Distance distance) {
  return distance == unreached<Distance> ? "unreached" : fmt::format("at distance {}", distance);
}

std::string name_of(vertex number) { return number == no_vertex ? "no vertex" : fmt::format("vertex {}", number); }

template <class Distance>
std::string sentence(const mistake<Distance>& m, vertex other) {
  const std::string who = fmt::format("vertex {}, {}", m.number, at_distance(m.distance));
  switch (m.broken) {
    case rule::root:
      return fmt::format("{}, its parent {}: the root must be at distance 0 and its own parent", who, name_of(other));
    case rule::unreached_alone:
      return fmt::format("{}: its parent is {}, but what is unreached has none", who, name_of(other));
    case rule::parent:
      return fmt::format("{}: its parent is no vertex of the graph", who);
    case rule::tree_edge:
      return fmt::format("{}: no edge from its parent, {} {}, leads to that distance", who, name_of(other),
                         at_distance(m.by_other));
    case rule::no_shortcut:
      return fmt::format("{}: an edge from {} leads to it at distance {}", who, name_of(other), m.by_other);
    case rule::rooted:
      return fmt::format("{}: its parents never lead to the root", who);
    case rule::range:
      return fmt::format("{}: a path by {} exceeds the type of the weights; use smaller weights", who, name_of(other));
    case rule::none:
      break;
  }
  return {};
}

}  // namespace

template <class Distance>
std::string describe_first(world& w, const mistake<Distance>& mine,
                           const std::function<vertex(vertex place)>& number_at) {
  const std::uint64_t key = std::uint64_t{static_cast<std::uint8_t>(mine.broken)} << 32 | mine.number;
  const std::uint64_t first = w.min(key);
  if (static_cast<rule>(first >> 32) == rule::none) return {};
  // Mistakes of one vertex against one rule are all found by one thread: so one rank has this one.
  const auto agreed = [&](std::uint64_t value) { return w.min(first == key ? value : ~std::uint64_t{0}); };
  const auto agreed_distance = [&](Distance distance) {
    using bits = std::conditional_t<sizeof(Distance) == sizeof(std::uint32_t), std::uint32_t, std::uint64_t>;
    return std::bit_cast<Distance>(static_cast<bits>(agreed(std::bit_cast<bits>(distance))));
  };
  const mistake<Distance> told{.broken = static_cast<rule>(first >> 32),
                               .number = static_cast<vertex>(first),
                               .other = static_cast<vertex>(agreed(mine.other)),
                               .distance = agreed_distance(mine.distance),
                               .by_other = agreed_distance(mine.by_other)};
  return sentence(told, static_cast<vertex>(w.min(std::uint64_t{number_at(told.other)})));
}

template std::string describe_first(world&, const mistake<level>&, const std::function<vertex(vertex)>&);
template std::string describe_first(world&, const mistake<float>&, const std::function<vertex(vertex)>&);
template std::string describe_first(world&, const mistake<double>&, const std::function<vertex(vertex)>&);
template std::string describe_first(world&, const mistake<std::int64_t>&, const std::function<vertex(vertex)>&);

}  // namespace amity::apps::graph
