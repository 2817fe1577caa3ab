#include "apps/graph/store/distribution.hpp"

#include <algorithm>

namespace amity::apps::graph {
std::string_view name_of(distribution kind) {
  switch (kind) {
    case distribution::block:
      return "block";
    case distribution::cyclic:
      return "cyclic";
    case distribution::hash:
      return "hash";
  }
  return {};
}

std::optional<distribution> parse_distribution(std::string_view word) {
  for (const distribution kind : {distribution::block, distribution::cyclic, distribution::hash}) {
    if (word == name_of(kind)) return kind;
  }
  return {};
}

dealing::dealing(distribution kind, vertex count, std::uint32_t parts)
    : kind_(kind),
      count_(count),
      parts_(parts),
      block_(std::max<vertex>(1, count / parts + (count % parts != 0))),
      scramble_(count, 1) {
  if (std::has_single_bit(parts)) mask_ = parts - 1;
}

vertex dealing::count_of(std::uint32_t part) const {
  if (kind_ == distribution::cyclic) return count_ / parts_ + (part < count_ % parts_ ? 1 : 0);
  const std::uint64_t before = std::uint64_t{part} * block_;
  return static_cast<vertex>(before >= count_ ? 0 : std::min<std::uint64_t>(block_, count_ - before));
}

}  // namespace amity::apps::graph
