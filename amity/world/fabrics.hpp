#pragma once

/// Which fabrics this build of amity has.

#include <string>
#include <vector>

#include "amity/base/settings.hpp"
#include "amity/fabric/fabric.hpp"

namespace amity {

/// The capabilities of each fabric, as a job with these settings would have them. Creates no fabric.
std::vector<fabric::capabilities> describe_fabrics(const settings& values);

/// Which of them a program with these settings would use if whoever has started this process started it, and why no
/// other: a line each.
std::vector<std::string> explain_fabric(const settings& values);

}  // namespace amity
