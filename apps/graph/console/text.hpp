#pragma once

/// Figures as people write them.

#include <cstdint>
#include <string>
#include <string_view>

namespace amity::apps::graph {

/// 1234567 -> "1,234,567".
std::string grouped(std::uint64_t n);

/// "level" -> "levels", "vertex" -> "vertices".
std::string plural(std::string_view noun);

/// "1 level", "2 levels", "1 vertex", "3 vertices".
std::string counted(std::uint64_t n, std::string_view noun);

/// Three digits and a unit of powers of 1000: "999 B", "1.23 MB".
std::string bytes_text(std::uint64_t bytes);

/// Three digits and a unit: "1.23 us", "45.6 ms", "7.89 s".
std::string duration_text(std::uint64_t ns);

/// Three digits and a prefix of powers of 1000: "1.23 M", "456 k", "7.8 ".
std::string rate_text(double per_second);

/// `share` of `width` as a bar of '#', at least one where share > 0.
std::string bar(double share, std::size_t width);

}  // namespace amity::apps::graph
