#pragma once

/// A set of small numbers, one bit each.

#include <algorithm>
#include <cstdint>
#include <span>

#include "amity/base/large_array.hpp"

namespace amity::apps::graph {

class bitmap {
 public:
  static constexpr std::size_t word_bits = 64;

  explicit bitmap(std::size_t bits) : words_(bits / word_bits + 1) {}

  /// Adds `bit`; whether it was new.
  bool insert(std::size_t bit) {
    std::uint64_t& word = words_[bit / word_bits];
    const std::uint64_t mask = std::uint64_t{1} << (bit % word_bits);
    const bool is_new = (word & mask) == 0;
    word |= mask;
    return is_new;
  }
  void erase(std::size_t bit) { words_[bit / word_bits] &= ~(std::uint64_t{1} << (bit % word_bits)); }
  bool contains(std::size_t bit) const { return (words_[bit / word_bits] >> (bit % word_bits) & 1) != 0; }
  void clear() { std::ranges::fill(words_, 0); }

  std::span<std::uint64_t> words() { return words_; }

 private:
  large_array<std::uint64_t> words_;
};

}  // namespace amity::apps::graph
