#pragma once

/// One place through which amity speaks to the person who runs the job: whole lines on standard error.

#include <string_view>

#include "amity/base/types.hpp"

namespace amity {

/// Prints "amity: rank R: TEXT" (or "amity: TEXT" for `no_rank`) as one write, so that lines of ranks do not mix.
void log_warning(rank_t rank, std::string_view text) noexcept;

}  // namespace amity
