#pragma once

/// Runs amity on the communicators of an MPI program.
///
/// For programs that use MPI already: include this header and compile with the wrapper of Open MPI or MPICH, or of an
/// MPI with the binary interface of MPICH. Amity needs a module for that MPI on each host (docs/mpi.md). No other
/// header of amity includes mpi.h. Programs that leave MPI to amity call `amity::run` with AMITY_FABRIC=mpi.

#include <utility>

#include <mpi.h>

#include "amity/base/settings.hpp"
#include "amity/world/run.hpp"
#include "amity/world/run_on.hpp"

namespace amity::mpi {

/// Runs `program(world&)` once on each process of `communicator`. The rank in the world is the rank in the
/// communicator; messages of amity travel on duplicates of it. Collective over the communicator. The caller has
/// initialized MPI and finalizes it later. If a rank has several threads, MPI must provide MPI_THREAD_MULTIPLE;
/// otherwise the caller must be MPI's main thread, or MPI must provide MPI_THREAD_SERIALIZED. May be called repeatedly,
/// for any communicators.
///
/// Returns the exit status that the program has returned, or 0 if it returns nothing. If the program fails, prints the
/// error to standard error and returns 1; a rank that fails ends the world on all ranks, where the next call that waits
/// fails, too. MPI continues, and the caller decides how the processes end.
template <class Program>
int run(MPI_Comm communicator, const settings& config, Program&& program) {
#if defined(OPEN_MPI)
  constexpr auto family = amity::detail::mpi_family::open_mpi;
#elif defined(MPICH_VERSION) || defined(I_MPI_VERSION) || defined(MVAPICH2_VERSION)
  constexpr auto family = amity::detail::mpi_family::mpich;
#else
#error "amity: compile with the wrapper of Open MPI or MPICH, or of an MPI with the binary interface of MPICH"
#endif
  static_assert(amity::detail::program<Program>,
                "amity: the program of amity::run takes amity::world& and returns an exit status or nothing");
  return amity::detail::run_on_communicator(MPI_Comm_c2f(communicator), family, config,
                                            amity::detail::with_status(program));
}

template <class Program>
int run(MPI_Comm communicator, Program&& program) try {
  return run(communicator, settings::from_environment(), std::forward<Program>(program));
} catch (...) {
  return amity::detail::report_startup_failure();
}

}  // namespace amity::mpi
