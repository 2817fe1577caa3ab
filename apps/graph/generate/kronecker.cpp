#include "apps/graph/generate/kronecker.hpp"

#include <fmt/format.h>

#include <array>
#include <cstddef>

#include "amity/base/error.hpp"
#include "amity/base/random.hpp"

namespace amity::apps::graph {
namespace {

constexpr std::array quadrant_probabilities{0.57, 0.19, 0.19, 0.05};
constexpr int levels = 4;  // drawn at once
constexpr std::size_t outcomes = std::size_t{1} << (2 * levels);

/// Draws one of 256 outcomes from 32 random bits: eight choose an entry, the others whether its own outcome or the
/// other one counts (Walker's alias method, as built by Vose). Odds are exact to 2^-32.
struct alias {
  std::uint32_t own;  // of 2^24
  std::uint8_t other;
};

/// The bits of an outcome are the levels' bits of the source, then those of the target.
constexpr double probability_of(std::size_t outcome) {
  double product = 1;
  for (int i = 0; i < levels; ++i) {
    const std::size_t down = outcome >> (levels + i) & 1, right = outcome >> i & 1;
    product *= quadrant_probabilities[2 * down + right];
  }
  return product;
}

constexpr std::array<alias, outcomes> make_aliases() {
  std::array<alias, outcomes> table{};
  std::array<double, outcomes> left{};         // probability not yet given to an entry; 1 is an entry's share
  std::array<std::size_t, outcomes> scarce{};  // outcomes with less than a share left
  std::array<std::size_t, outcomes> ample{};
  std::size_t scarce_count = 0, ample_count = 0;
  for (std::size_t i = 0; i < outcomes; ++i) {
    left[i] = probability_of(i) * outcomes;
    table[i] = {std::uint32_t{1} << 24, static_cast<std::uint8_t>(i)};
    (left[i] < 1 ? scarce[scarce_count++] : ample[ample_count++]) = i;
  }
  while (scarce_count > 0 && ample_count > 0) {
    const std::size_t poor = scarce[--scarce_count], rich = ample[ample_count - 1];
    table[poor] = {static_cast<std::uint32_t>(left[poor] * 0x1p24 + 0.5), static_cast<std::uint8_t>(rich)};
    left[rich] -= 1 - left[poor];
    if (left[rich] >= 1) continue;
    --ample_count;
    scarce[scarce_count++] = rich;
  }
  return table;
}

constexpr std::array<alias, outcomes> aliases = make_aliases();

std::uint32_t draw(std::uint32_t random) {
  const std::uint32_t entry = random >> 24;
  const alias& a = aliases[entry];
  // No branch could foresee this.
  const std::uint32_t takes_other = (random & 0xffffff) < a.own ? 0 : ~std::uint32_t{0};
  return entry ^ ((entry ^ a.other) & takes_other);
}

kronecker_options checked(const kronecker_options& how) {
  if (how.scale < 1 || how.scale > 30) {
    throw error("kronecker", no_rank, fmt::format("scale {}", how.scale), "take 1 to 30: vertices have 32-bit numbers");
  }
  if (how.edge_factor < 1 || how.edge_factor > std::uint32_t{1} << 20) {
    throw error("kronecker", no_rank, fmt::format("edge factor {}", how.edge_factor),
                "take 1 to 1048576 edges for each vertex; Graph500 has 16");
  }
  return how;
}

}  // namespace

kronecker::kronecker(const kronecker_options& how)
    : how_(checked(how)), key_(splitmix64::mix(how.seed)), number_(vertex{1} << how.scale, key_) {}

generated kronecker::about() const {
  return {.title = fmt::format("Kronecker graph, scale {}, edge factor {}, seed {}", how_.scale, how_.edge_factor,
                               how_.seed),
          .vertices = vertex{1} << how_.scale,
          .edges = std::uint64_t{how_.edge_factor} << how_.scale,
          .undirected = true};
}

edge kronecker::operator()(std::uint64_t index) const {
  splitmix64 random(splitmix64::mix(key_ + index));
  std::uint32_t source = 0, target = 0;
  const auto descend = [&](std::uint64_t bits) {
    const std::uint32_t outcome = draw(static_cast<std::uint32_t>(bits));
    source = source << levels | outcome >> levels;
    target = target << levels | (outcome & ((1u << levels) - 1));
  };
  for (int drawn = 0; drawn < how_.scale; drawn += 2 * levels) {
    const std::uint64_t bits = random();
    descend(bits >> 32);
    descend(bits);
  }
  // Levels are alike and independent: those that are too many are left out.
  const vertex mask = (vertex{1} << how_.scale) - 1;
  return {number_(source & mask), number_(target & mask), static_cast<float>(random() >> 40) * 0x1p-24f};
}

void kronecker::fill(std::uint64_t first, std::span<edge> out) const {
  for (edge& e : out) e = (*this)(first++);
}

}  // namespace amity::apps::graph
