#pragma once

/// The start-up of processes that amity's own launcher has started: they write into the memory of the job.

#include <memory>

#include "amity/base/settings.hpp"
#include "amity/fabric/bootstrap.hpp"

namespace amity::detail {

/// Joins the job of AMITY_JOB_FD as rank AMITY_RANK of AMITY_RANKS. Throws `error`.
std::unique_ptr<fabric::bootstrap> launched_bootstrap(const settings& config);

}  // namespace amity::detail
