#pragma once

/// The start-up of processes whose process manager speaks PMIx: Open MPI's mpirun, Slurm with PMIx, PRRTE.
///
/// The client library is loaded when it is needed, so that amity is built without it. What is used of it has been the
/// same since version 2 of the standard.

#include <memory>

#include "amity/fabric/bootstrap.hpp"

namespace amity::detail {

/// Whether the environment says that there is such a process manager.
bool pmix_is_there();

/// Joins its job. Throws `error` if the library is missing, or refuses.
std::unique_ptr<fabric::bootstrap> pmix_bootstrap();

}  // namespace amity::detail
