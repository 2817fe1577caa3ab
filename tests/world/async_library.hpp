#pragma once

/// What the library exports, by a name that dlsym finds.

#include <string>

#include "amity/world/world.hpp"

using send_function = void (*)(amity::world&, amity::rank_t dest, amity::shared<std::string> ear);
