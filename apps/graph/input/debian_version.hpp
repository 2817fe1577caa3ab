#pragma once

/// The order of Debian package versions (Debian Policy Manual, section 5.6.12).

#include <string_view>

namespace amity::apps::graph {

/// Negative, zero or positive as `a` is older than, the same as or newer than `b`.
int compare_versions(std::string_view a, std::string_view b);

}  // namespace amity::apps::graph
