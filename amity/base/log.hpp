#pragma once

/// One place through which amity speaks to the person who runs the job: whole lines on standard error.

#include <chrono>
#include <string_view>

#include "amity/base/types.hpp"

namespace amity {

/// Prints "amity: rank R: TEXT" (or "amity: TEXT" for `no_rank`) as one write, so that lines of ranks do not mix.
void log_warning(rank_t rank, std::string_view text) noexcept;

/// Waits until the reader of standard error has read everything, if it is a pipe, for at most `limit`. Call it before
/// the job is aborted through MPI: a launcher that learns of an abort first may exit without reading the rest of the
/// output.
void drain_standard_error(std::chrono::milliseconds limit = std::chrono::seconds(1)) noexcept;

}  // namespace amity
