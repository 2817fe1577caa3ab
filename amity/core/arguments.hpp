#pragma once

/// The arguments of a request or reply, as calls take them: `{1, rank, bytes}`, or any contiguous range of words.

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <span>

namespace amity::core {

/// For the duration of a call: it refers to the words.
class arguments {
 public:
  constexpr arguments() noexcept = default;
  constexpr arguments(std::initializer_list<std::uint64_t> words) noexcept : words_(words.begin(), words.size()) {}
  template <class Range>
  requires std::convertible_to<Range, std::span<const std::uint64_t>>
  constexpr arguments(Range&& words) noexcept : words_(words) {}

  constexpr operator std::span<const std::uint64_t>() const noexcept { return words_; }

 private:
  std::span<const std::uint64_t> words_;
};

}  // namespace amity::core
