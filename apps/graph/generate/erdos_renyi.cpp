#include "apps/graph/generate/erdos_renyi.hpp"

#include <fmt/format.h>

#include "amity/base/error.hpp"
#include "amity/base/random.hpp"

namespace amity::apps::graph {

erdos_renyi::erdos_renyi(const erdos_renyi_options& how)
    : how_(how), key_(splitmix64::mix(how.seed)), order_(how.vertices, key_) {
  if (how.vertices >= 1 && how.vertices <= vertex{1} << 31) return;
  throw error("erdos_renyi", no_rank, fmt::format("a graph of {} vertices", how.vertices),
              "take 1 to 2147483648: vertices have 32-bit numbers");
}

generated erdos_renyi::about() const {
  return {.title = fmt::format("Erdos-Renyi graph, {} random edges{}, seed {}", how_.edges,
                               how_.cycle ? " and a cycle through all vertices" : "", how_.seed),
          .vertices = how_.vertices,
          .edges = how_.edges + (how_.cycle ? how_.vertices : 0),
          .undirected = how_.undirected};
}

edge erdos_renyi::operator()(std::uint64_t index) const {
  splitmix64 random(splitmix64::mix(key_ + index));
  const float length = static_cast<float>(random() >> 40) * 0x1p-24f;
  if (index >= how_.edges) {
    const auto at = static_cast<vertex>(index - how_.edges);
    return {order_(at), order_(at + 1 == how_.vertices ? 0 : at + 1), length};
  }
  const auto source = static_cast<vertex>(random.below(how_.vertices));
  const auto target = static_cast<vertex>(random.below(how_.vertices));
  return {source, target, length};
}

void erdos_renyi::fill(std::uint64_t first, std::span<edge> out) const {
  for (edge& e : out) e = (*this)(first++);
}

}  // namespace amity::apps::graph
