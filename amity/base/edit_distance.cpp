#include "amity/base/edit_distance.hpp"

#include <algorithm>
#include <vector>

namespace amity {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  const std::size_t width = b.size() + 1;
  std::vector<std::size_t> table((a.size() + 1) * width);  // [i, j]: from the first i of a to the first j of b
  const auto at = [&](std::size_t i, std::size_t j) -> std::size_t& { return table[i * width + j]; };
  for (std::size_t i = 0; i <= a.size(); ++i) at(i, 0) = i;
  for (std::size_t j = 0; j <= b.size(); ++j) at(0, j) = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replace = at(i - 1, j - 1) + (a[i - 1] == b[j - 1] ? 0 : 1);
      at(i, j) = std::min({replace, at(i - 1, j) + 1, at(i, j - 1) + 1});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) at(i, j) = std::min(at(i, j), at(i - 2, j - 2) + 1);
    }
  }
  return at(a.size(), b.size());
}

std::optional<std::string_view> nearest(std::string_view typed, std::span<const std::string_view> words) {
  std::optional<std::string_view> best;
  std::size_t allowed = std::max<std::size_t>(1, typed.size() / 3);
  for (const auto word : words) {
    const std::size_t distance = edit_distance(typed, word);
    if (distance < allowed || (distance == allowed && !best)) {
      best = word;
      allowed = distance;
    }
  }
  return best;
}

}  // namespace amity
