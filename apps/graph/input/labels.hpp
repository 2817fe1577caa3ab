#pragma once

/// The names of vertices, as the input spells them.
///
/// A vertex is a number, 0 <= vertex < size(), in the order in which labels were first seen. Labels are either texts,
/// interned one by one, or consecutive numbers that need no memory. Text labels cost their length plus at most 40
/// bytes.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "amity/base/large_array.hpp"
#include "apps/graph/types.hpp"

namespace amity::apps::graph {

class labels {
 public:
  /// No labels yet: `intern` adds them.
  labels() = default;

  /// The numbers first, first + 1, ...: `count` of them.
  static labels numbered(vertex count, std::uint64_t first);

  /// The vertex of a label, a new one at first sight. `no_vertex` when there are no numbers left. Not for `numbered`.
  vertex intern(std::string_view label);

  /// As above, for a label that is the decimal number `number`: faster at second sight where numbers are dense.
  vertex intern(std::string_view label, std::uint64_t number);

  /// A new vertex, for a label that is known to be new: without the table, which `find` then does without. Not to be
  /// mixed with `intern`.
  void append(std::string_view label);

  vertex size() const { return counted_ ? *counted_ : static_cast<vertex>(ends_.size()); }
  std::string text(vertex v) const;
  std::optional<vertex> find(std::string_view label) const;

  /// Whether they are numbers, and the first of them.
  bool are_numbered() const { return counted_.has_value(); }
  std::uint64_t first_number() const { return first_; }

  /// A vertex that a person may have meant; the likelier, the smaller the distance.
  struct near_label {
    std::uint64_t distance;
    vertex meant;
  };
  /// At most `count` of them, likeliest first. Looks at every label.
  std::vector<near_label> nearest(std::string_view wanted, std::size_t count) const;

 private:
  /// A place of the hash table: part of the hash, to tell most different labels apart without looking at them.
  struct place {
    std::uint32_t tag = 0;
    vertex holder = no_vertex;
  };

  std::string_view view(vertex v) const;
  std::size_t place_of(std::string_view label, std::uint64_t hash) const;
  void grow();

  std::optional<vertex> counted_;
  std::uint64_t first_ = 0;
  std::string characters_;           // all labels, one after the other
  large_array<std::uint64_t> ends_;  // of each label, in characters_
  large_array<place> table_;         // open addressing; at most half full
  large_array<vertex> of_number_;    // short cut to the vertices of small numbers; `no_vertex` where it knows none
};

}  // namespace amity::apps::graph
