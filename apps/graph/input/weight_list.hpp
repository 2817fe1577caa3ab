#pragma once

/// The weights of edges, in their order: int64 until the first weight that is not an integer, then double. 8 bytes
/// each.

#include <bit>
#include <cstdint>
#include <optional>
#include <vector>

#include "amity/base/assert.hpp"
#include "apps/graph/input/input.hpp"
#include "apps/graph/input/weight_text.hpp"

namespace amity::apps::graph {

class weight_list {
 public:
  bool empty() const { return bits_.empty(); }
  std::size_t size() const { return bits_.size(); }
  void reserve(std::size_t count) { bits_.reserve(count); }

  /// Whether they are doubles.
  bool is_real() const { return real_; }

  void add(std::int64_t weight) {
    real_ ? add(static_cast<double>(weight)) : bits_.push_back(std::bit_cast<bits>(weight));
  }
  void add(double weight);
  /// `from` is where the weight was found: an integer that no double is equal to is named there if `make_real` is
  /// called.
  void add(const weight_value& weight, const line_reader& from);

  /// Makes all of them doubles. Throws the `input_error` about the first one of which no double is equal.
  void make_real();

  /// `Weight` is int64 if they are not doubles, otherwise double or float.
  template <weight Weight>
  Weight at(std::size_t i) const {
    if constexpr (std::integral<Weight>) {
      AMITY_ASSERT(!real_, i);
      return std::bit_cast<std::int64_t>(bits_[i]);
    } else {
      AMITY_ASSERT(real_, i);
      return static_cast<Weight>(std::bit_cast<double>(bits_[i]));
    }
  }

 private:
  using bits = std::uint64_t;

  void convert();

  std::vector<bits> bits_;
  bool real_ = false;
  std::optional<input_error> inexact_;
};

}  // namespace amity::apps::graph
