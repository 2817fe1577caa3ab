#pragma once

/// The fabric of a process that is one rank of its job.

#include <memory>
#include <string_view>

#include "amity/base/settings.hpp"
#include "amity/fabric/fabric.hpp"

namespace amity::detail {

/// Whether this value of AMITY_FABRIC has its ranks in processes of their own.
bool ranks_are_processes(std::string_view fabric);

/// Joins the job by the fabric that AMITY_FABRIC names. Throws `error`.
std::unique_ptr<fabric::fabric> join_job(const settings& config);

}  // namespace amity::detail
