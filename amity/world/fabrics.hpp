#pragma once

/// Which fabrics this build of amity has.

#include <vector>

#include "amity/base/settings.hpp"
#include "amity/fabric/fabric.hpp"

namespace amity {

/// The capabilities of each fabric, as a job with these settings would have them. Creates no fabric.
std::vector<fabric::capabilities> describe_fabrics(const settings& values);

}  // namespace amity
