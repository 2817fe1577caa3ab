#pragma once

/// Which fabrics this build of amity has.

#include <optional>
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

struct mpi_choice {
  std::string name;    ///< "openmpi" or "mpich"
  std::string reason;  ///< "OMPI_COMM_WORLD_SIZE is set by the launcher of Open MPI"
};
/// The MPI of a process by its launcher, or else by AMITY_MPI_LIBRARY. Empty: neither names it.
std::optional<mpi_choice> find_mpi(const settings& values);

}  // namespace amity
