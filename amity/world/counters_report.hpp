#pragma once

/// The report that AMITY_MESSAGE_COUNTERS asks for: what became of the messages of each type.

#include <string>

#include "amity/core/message_counters.hpp"
#include "amity/world/world.hpp"

namespace amity::detail {

/// A table with a line for each type of message that the ranks have made and that has ended, and for what is registered
/// still, if anything of it was sent; summed over the ranks. Collective; every rank gets it.
std::string counters_report(world& own, const core::counter_book& ended);

}  // namespace amity::detail
