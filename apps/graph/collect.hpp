#pragma once

/// Small things that ranks tell each other outside the kernels. All are collective.

#include <concepts>
#include <cstdint>
#include <utility>
#include <vector>

#include "amity/amity.hpp"
#include "apps/graph/types.hpp"

namespace amity::apps::graph {

/// Gives all ranks the value of rank `source`. T is trivially copyable, or has a codec.
template <class T>
void broadcast(world& w, T& value, rank_t source = 0) {
  auto target = w.share(value);
  w.epoch([&] {
    for (rank_t r = 0; w.rank() == source && r < w.size(); ++r) {
      if (r == source) continue;
      w.async(
          r, [](T& mine, const T& sent) { mine = sent; }, target, value);
    }
  });
}

/// What all ranks have, one after the other, on rank 0; nothing on others.
template <class T>
std::vector<T> collect(world& w, const std::vector<T>& mine) {
  std::vector<std::vector<T>> all(w.rank() == 0 ? static_cast<std::size_t>(w.size()) : 0);
  auto target = w.share(all);
  w.epoch([&] {
    w.async(
        0,
        [](std::vector<std::vector<T>>& there, rank_t from, const std::vector<T>& sent) {
          there[static_cast<std::size_t>(from)] = sent;
        },
        target, w.rank(), mine);
  });
  std::vector<T> joined;
  for (const auto& each : all) joined.insert(joined.end(), each.begin(), each.end());
  return joined;
}

/// The greatest, and the least, of all ranks' weights or distances, which are not negative; exact for each type.
template <weight Weight>
Weight greatest_of(world& w, Weight mine) {
  if constexpr (std::integral<Weight>) {
    return static_cast<Weight>(w.max(static_cast<std::uint64_t>(mine)));
  } else {
    return static_cast<Weight>(w.max(static_cast<double>(mine)));
  }
}
template <weight Weight>
Weight least_of(world& w, Weight mine) {
  if constexpr (std::integral<Weight>) {
    return static_cast<Weight>(w.min(static_cast<std::uint64_t>(mine)));
  } else {
    return static_cast<Weight>(w.min(static_cast<double>(mine)));
  }
}

/// The sums of all ranks' counts, element by element, on rank 0. All have as many.
inline std::vector<std::uint64_t> sum_on_first(world& w, const std::vector<std::uint64_t>& mine) {
  const std::vector<std::uint64_t> all = collect(w, mine);
  std::vector<std::uint64_t> sums(all.empty() ? 0 : mine.size());
  for (std::size_t i = 0; i < all.size(); ++i) sums[i % mine.size()] += all[i];
  return sums;
}

}  // namespace amity::apps::graph
