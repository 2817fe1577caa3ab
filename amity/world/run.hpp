#pragma once

/// The way in: runs a program as a job.

#include <concepts>
#include <functional>
#include <type_traits>
#include <utility>

#include "amity/base/settings.hpp"
#include "amity/world/world.hpp"

namespace amity {

namespace detail {

int run_job(const settings& config, int argc, const char* const* argv, const std::function<int(world&)>& program);
int report_startup_failure() noexcept;

template <class Program>
concept program = std::invocable<Program&, world&> &&
    (std::is_void_v<std::invoke_result_t<Program&, world&>> ||
     std::is_convertible_v<std::invoke_result_t<Program&, world&>, int>);

/// `program`, which must outlive it, with status 0 where it returns nothing.
template <program Program>
std::function<int(world&)> with_status(Program& program) {
  return [&program](world& rank) -> int {
    if constexpr (std::is_void_v<std::invoke_result_t<Program&, world&>>) {
      program(rank);
      return 0;
    } else {
      return program(rank);
    }
  };
}

}  // namespace detail

/// Runs `program(world&)`, which returns an exit status or nothing, once for each rank that this process hosts, and
/// returns the exit status for main. AMITY_FABRIC, or the settings given, say where the ranks are:
///
/// - `shm`: processes. Started by `amity run`, this process is one of them. Otherwise, with AMITY_RANKS above 1, it
///   becomes the launcher and starts itself that many times with the same arguments.
/// - `threads`: threads of this process, which call `program` at the same time.
/// - `mpi`: processes that MPI's launcher has started (mpirun -n 4 ./program). This process is one of them.
/// - `sim`: simulated ranks, which call `program` in turns, on one thread.
///
/// Errors are printed to standard error; the status is 1 then, and the job ends on all ranks. `exit` and `quick_exit`
/// before the program has returned are such errors, even with status 0; a process that a rank has forked may exit.
///
/// Which rank of which job a process is, its launcher alone says: AMITY_RANK, AMITY_RANKS and AMITY_JOB_FD are taken
/// from the environment of a launched process also where the program gives settings of its own.
template <class Program>
int run(const settings& config, int argc, const char* const* argv, Program&& program) {
  static_assert(detail::program<Program>,
                "amity: the program of amity::run takes amity::world& and returns an exit status or nothing");
  if constexpr (detail::program<Program>) {
    return detail::run_job(config, argc, argv, detail::with_status(program));
  }
}

template <class Program>
int run(int argc, const char* const* argv, Program&& program) try {
  return run(settings::from_environment(), argc, argv, std::forward<Program>(program));
} catch (...) {
  return detail::report_startup_failure();
}

}  // namespace amity
