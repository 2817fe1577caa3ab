#pragma once

/// The few types that every floor shares.

#include <cstddef>
#include <cstdint>
#include <span>

namespace amity {

/// A rank of the job: 0 <= rank < size. Signed, so that a computation gone wrong shows as the negative number it is.
using rank_t = std::int32_t;

/// Stands where a rank would: there is none, or a failing call belongs to none (settings, launcher).
inline constexpr rank_t no_rank = -1;

using bytes_view = std::span<const std::byte>;
using mutable_bytes = std::span<std::byte>;

/// Alignment of everything that two ranks share, and of every packet's payload.
inline constexpr std::size_t cache_line_bytes = 64;

/// A base of classes whose objects stay where they are.
struct immovable {
  immovable() = default;
  immovable(const immovable&) = delete;
  immovable& operator=(const immovable&) = delete;
};

}  // namespace amity
