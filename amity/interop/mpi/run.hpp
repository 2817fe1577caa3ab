#pragma once

/// Worlds of an MPI program's own communicators.
///
/// For programs that are MPI programs already: `#include <amity/interop/mpi/run.hpp>` beside <mpi.h>. It is the only
/// header of amity that includes mpi.h. Programs that leave MPI to amity use `amity::run` with AMITY_FABRIC=mpi.

#include <utility>

#include <mpi.h>

#include "amity/base/settings.hpp"
#include "amity/world/run.hpp"
#include "amity/world/run_on.hpp"

namespace amity::mpi {

/// Runs `program(world&)` once on each process of `communicator`: the rank of the world is that of the communicator,
/// from which amity's messages stay apart. Collective over the communicator. The program has initialised MPI and
/// finalises it later; with MPI_THREAD_MULTIPLE where a rank has several threads, otherwise amity is used by MPI's main
/// thread or under MPI_THREAD_SERIALIZED. It may be called again, also for several communicators one after the other.
///
/// Returns what the program has returned, an exit status or nothing (0). Errors are printed to standard error, and the
/// status is 1; a rank that fails ends the world on all ranks, where their next call that waits fails, too. MPI itself
/// goes on: what becomes of the processes is the caller's to say.
template <class Program>
int run(MPI_Comm communicator, const settings& config, Program&& program) {
#if defined(OPEN_MPI)
  constexpr auto family = amity::detail::mpi_family::open_mpi;
#elif defined(MPICH_VERSION) || defined(I_MPI_VERSION) || defined(MVAPICH2_VERSION)
  constexpr auto family = amity::detail::mpi_family::mpich;
#else
  constexpr auto family = amity::detail::mpi_family::other;
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
