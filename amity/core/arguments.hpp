#pragma once

/// The arguments of a request or reply, as calls take them: `{1, rank, bytes}`, or any contiguous range of words.

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>

#include "amity/base/types.hpp"

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

/// Most words of arguments that a request or reply carries before its payload.
inline constexpr std::size_t args_max = 16;

[[noreturn, gnu::cold]] void throw_too_many_arguments(std::string_view call, rank_t rank, std::size_t args);
/// Throws `error` for more than `args_max`.
inline void check_args(std::string_view call, rank_t rank, std::size_t args) {
  if (args > args_max) [[unlikely]]
    throw_too_many_arguments(call, rank, args);
}

}  // namespace amity::core
