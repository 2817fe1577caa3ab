#include "apps/graph/store/ownership.hpp"

#include <algorithm>

namespace amity::apps::graph {
namespace {

// Odd, so that products can be undone; the digits of the golden ratio.
constexpr std::uint32_t factor = 0x9e3779b1;

constexpr std::uint32_t inverse_of(std::uint32_t odd) {
  std::uint32_t inverse = odd;  // right in the lowest three bits; each step doubles how many are
  for (int step = 0; step < 4; ++step) inverse *= 2 - odd * inverse;
  return inverse;
}
static_assert(factor * inverse_of(factor) == 1);

}  // namespace

std::string_view name_of(ownership kind) {
  switch (kind) {
    case ownership::block:
      return "block";
    case ownership::cyclic:
      return "cyclic";
    case ownership::hash:
      return "hash";
  }
  return {};
}

std::optional<ownership> parse_ownership(std::string_view word) {
  for (const ownership kind : {ownership::block, ownership::cyclic, ownership::hash}) {
    if (word == name_of(kind)) return kind;
  }
  return {};
}

dealing::dealing(ownership kind, vertex count, std::uint32_t parts)
    : kind_(kind),
      count_(count),
      parts_(parts),
      block_(std::max<vertex>(1, count / parts + (count % parts != 0))),
      bits_(std::bit_width(std::max<vertex>(count, 2) - 1)) {
  if (std::has_single_bit(parts)) mask_ = parts - 1;
}

vertex dealing::count_of(std::uint32_t part) const {
  if (kind_ == ownership::cyclic) return count_ / parts_ + (part < count_ % parts_ ? 1 : 0);
  const std::uint64_t before = std::uint64_t{part} * block_;
  return static_cast<vertex>(before >= count_ ? 0 : std::min<std::uint64_t>(block_, count_ - before));
}

// Multiplications carry low bits upwards, the shift brings high ones down; each is undone by its inverse.
vertex dealing::forth(vertex v) const {
  const vertex mask = static_cast<vertex>((std::uint64_t{1} << bits_) - 1);
  const int half = (bits_ + 1) / 2;
  v = v * factor & mask;
  v ^= v >> half;
  return v * factor & mask;
}

vertex dealing::back(vertex v) const {
  const vertex mask = static_cast<vertex>((std::uint64_t{1} << bits_) - 1);
  const int half = (bits_ + 1) / 2;
  v = v * inverse_of(factor) & mask;
  v ^= v >> half;  // twice half are all bits
  return v * inverse_of(factor) & mask;
}

}  // namespace amity::apps::graph
