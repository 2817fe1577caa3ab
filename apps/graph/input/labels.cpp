#include "apps/graph/input/labels.hpp"

#include <algorithm>
#include <charconv>
#include <functional>
#include <utility>

#include "amity/base/edit_distance.hpp"

namespace amity::apps::graph {
namespace {

std::uint32_t tag_of(std::uint64_t hash) { return static_cast<std::uint32_t>(hash >> 32); }

std::uint64_t hash_of(std::string_view label) { return std::hash<std::string_view>{}(label); }

}  // namespace

labels labels::numbered(vertex count, std::uint64_t first) {
  labels result;
  result.counted_ = count;
  result.first_ = first;
  return result;
}

std::string_view labels::view(vertex v) const {
  const std::uint64_t begin = v == 0 ? 0 : ends_[v - 1];
  return std::string_view(characters_).substr(begin, ends_[v] - begin);
}

/// Where the label is, or where it would go. The table is not empty and has free places.
std::size_t labels::place_of(std::string_view label, std::uint64_t hash) const {
  const std::size_t mask = table_.size() - 1;
  for (std::size_t i = hash & mask;; i = (i + 1) & mask) {
    const place& candidate = table_[i];
    if (candidate.holder == no_vertex) return i;
    if (candidate.tag == tag_of(hash) && view(candidate.holder) == label) return i;
  }
}

void labels::grow() {
  table_.assign(std::max<std::size_t>(1024, 2 * table_.size()), place{});
  const std::size_t mask = table_.size() - 1;
  for (vertex v = 0; v < ends_.size(); ++v) {
    const std::uint64_t hash = hash_of(view(v));
    std::size_t i = hash & mask;  // all labels differ: the first free place will do
    while (table_[i].holder != no_vertex) i = (i + 1) & mask;
    table_[i] = {tag_of(hash), v};
  }
}

void labels::append(std::string_view label) {
  characters_ += label;
  ends_.push_back(characters_.size());
}

vertex labels::intern(std::string_view label) {
  if (2 * ends_.size() >= table_.size()) grow();
  const std::uint64_t hash = hash_of(label);
  place& found = table_[place_of(label, hash)];
  if (found.holder != no_vertex) return found.holder;
  if (size() == no_vertex) return no_vertex;
  found = {tag_of(hash), size()};
  characters_ += label;
  ends_.push_back(characters_.size());
  return found.holder;
}

vertex labels::intern(std::string_view label, std::uint64_t number) {
  if (number < of_number_.size() && of_number_[number] != no_vertex) return of_number_[number];
  const vertex v = intern(label);
  // The short cut may take a few words for each label, so that one large number cannot make it huge.
  if (number < 4096 + 8 * std::uint64_t{size()}) {
    if (number >= of_number_.size()) of_number_.resize(std::max(number + 1, 2 * of_number_.size()), no_vertex);
    of_number_[number] = v;
  }
  return v;
}

std::string labels::text(vertex v) const { return counted_ ? std::to_string(first_ + v) : std::string(view(v)); }

std::optional<vertex> labels::find(std::string_view label) const {
  if (counted_) {
    std::uint64_t number = 0;
    const auto [end, failed] = std::from_chars(label.data(), label.data() + label.size(), number);
    if (failed != std::errc{} || end != label.data() + label.size()) return {};
    if (number < first_ || number - first_ >= *counted_) return {};
    return static_cast<vertex>(number - first_);
  }
  if (table_.empty()) {
    for (vertex v = 0; v < size(); ++v) {
      if (view(v) == label) return v;
    }
    return {};
  }
  const vertex holder = table_[place_of(label, hash_of(label))].holder;
  return holder == no_vertex ? std::nullopt : std::optional(holder);
}

std::vector<labels::near_label> labels::nearest(std::string_view wanted, std::size_t count) const {
  if (size() == 0) return {};
  if (counted_) return {{0, 0}, {1, size() - 1}};
  // A label that goes on where `wanted` stops is likelier than one that differs in the middle.
  std::vector<near_label> candidates;
  candidates.reserve(size());
  for (vertex v = 0; v < size(); ++v) {
    const std::string_view label = view(v);
    const bool begins = !wanted.empty() && label.substr(0, wanted.size()) == wanted;
    const std::size_t length_gap = std::max(label.size(), wanted.size()) - std::min(label.size(), wanted.size());
    if (begins) {
      candidates.push_back({2 + length_gap / 4, v});
    } else if (length_gap <= 1 + wanted.size() / 2) {
      candidates.push_back({2 * edit_distance(wanted, label), v});
    }
  }
  count = std::min(count, candidates.size());
  const auto likelier = [](const near_label& a, const near_label& b) {
    return std::pair(a.distance, a.meant) < std::pair(b.distance, b.meant);
  };
  std::partial_sort(candidates.begin(), candidates.begin() + static_cast<std::ptrdiff_t>(count), candidates.end(),
                    likelier);
  candidates.resize(count);
  return candidates;
}

}  // namespace amity::apps::graph
