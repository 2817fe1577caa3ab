#pragma once

/// The bounds of options that stand for settings.

#include <string_view>

#include <CLI/CLI.hpp>

#include "amity/base/settings.hpp"

namespace amity::tools {

/// What the setting can be, which is in the table.
inline CLI::Range range_of(std::string_view setting) {
  const setting_info& info = *find_setting(setting);
  return {info.min, info.max};
}

}  // namespace amity::tools
