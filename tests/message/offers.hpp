#pragma once

/// Values by key, of which the smallest count: messages that may be dropped, combined and repeated.

#include <cstddef>
#include <cstdint>
#include <functional>

namespace amity::testing {

struct offer {
  std::uint32_t key;
  std::uint32_t value;
  bool operator==(const offer&) const = default;
};

inline constexpr auto key_of = [](const offer& o) { return o.key; };
inline constexpr auto smaller = [](const offer& a, const offer& b) { return a.value <= b.value ? a : b; };

}  // namespace amity::testing

template <>
struct std::hash<amity::testing::offer> {
  std::size_t operator()(const amity::testing::offer& o) const noexcept { return o.key * 131 + o.value; }
};
