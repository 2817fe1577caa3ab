#pragma once

/// What `amity info` tells, apart from how it prints it.

#include <string>
#include <string_view>
#include <vector>

#include "amity/base/settings.hpp"
#include "amity/fabric/fabric.hpp"

namespace amity::tools {

struct inventory {
  std::string_view version;
  settings values;
  std::vector<fabric::capabilities> fabrics;
  std::vector<std::string> choice;  ///< of the fabric: which, and why no other
};

/// False: it is not in the build, or does not work here. The description gives the reason.
inline bool is_available(const fabric::capabilities& caps) noexcept { return caps.packet_bytes_max > 0; }

/// "default", "environment" or "program".
std::string_view to_text(settings::origin from);

std::string as_table(const inventory& all);
std::string as_json(const inventory& all);

}  // namespace amity::tools
