#pragma once

/// A set of small numbers, one bit each.

#include <cstdint>

#include "amity/base/large_array.hpp"

namespace amity::apps::graph {

class bitmap {
 public:
  explicit bitmap(std::size_t bits) : words_(bits / 64 + 1) {}

  /// Adds `bit`; whether it was new.
  bool insert(std::size_t bit) {
    std::uint64_t& word = words_[bit / 64];
    const std::uint64_t mask = std::uint64_t{1} << (bit % 64);
    const bool is_new = (word & mask) == 0;
    word |= mask;
    return is_new;
  }

 private:
  large_array<std::uint64_t> words_;
};

}  // namespace amity::apps::graph
