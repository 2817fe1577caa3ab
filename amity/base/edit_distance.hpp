#pragma once

/// The nearest of some words: for "did you mean ...?".

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

namespace amity {

/// The least number of characters to insert, delete, replace, or swap with their neighbour, to turn `a` into `b`
/// (optimal string alignment distance). Takes time and memory in proportion to the product of the lengths.
std::size_t edit_distance(std::string_view a, std::string_view b);

/// The word nearest to `typed`, the first of equally near ones; nothing if none is near enough to be meant, that is, if
/// more than a third of `typed` would have to change (one character is always allowed).
std::optional<std::string_view> nearest(std::string_view typed, std::span<const std::string_view> words);

}  // namespace amity
