#pragma once

/// What <amity/interop/mpi/run.hpp> stands on; it keeps mpi.h out of the library's other headers.

#include <cstdint>
#include <functional>

#include "amity/base/settings.hpp"
#include "amity/world/world.hpp"

namespace amity::detail {

/// MPIs whose programs and libraries fit one another.
enum class mpi_family : std::uint8_t { open_mpi, mpich };

/// `communicator` is a Fortran handle, of an MPI of this family.
int run_on_communicator(int communicator, mpi_family family, const settings& config,
                        const std::function<int(world&)>& program);

}  // namespace amity::detail
