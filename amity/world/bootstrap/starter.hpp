#pragma once

/// Who has started this process, and the start-up that goes with it.

#include <memory>
#include <string>

#include "amity/base/settings.hpp"
#include "amity/fabric/bootstrap.hpp"

namespace amity::detail {

/// In the order in which they are looked for.
enum class starter {
  own_launcher,  ///< `amity run`, or a program that has started itself
  pmix,          ///< Open MPI's mpirun, Slurm with PMIx
  pmi1,          ///< the launcher of MPICH and its kin
  nobody,
  program,  ///< its processes can connect already, as those of MPI; `find_starter` does not return it
};

/// Looks at the environment alone.
starter find_starter(const settings& config);

/// Whether no other process of the job has a lower rank, as far as the environment says: one to speak for all.
bool is_first_process(const settings& config);

/// Throws `error` if the environment shows that a launcher has started several processes, though nobody is there by
/// whom they could find one another.
void refuse_to_be_one_of_many();

/// Throws `error` if the environment shows that a launcher has started several processes, of which each would run all
/// ranks of a job of its own.
void refuse_to_be_many_jobs(const std::string& fabric);

/// Joins the job that was started. A starter that is there but cannot be joined is an `error`.
std::shared_ptr<fabric::bootstrap> make_bootstrap(const settings& config);

}  // namespace amity::detail
