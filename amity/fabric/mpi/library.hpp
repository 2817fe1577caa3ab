#pragma once

/// The MPI of this process: found, loaded, and in use.

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "amity/base/settings.hpp"
#include "amity/base/types.hpp"
#include "amity/fabric/mpi/choice.hpp"
#include "amity/fabric/mpi/module.h"

namespace amity::fabric::mpi {

/// Why the fabric cannot be used, as an `error` says it.
struct refusal {
  std::string problem;
  std::string remedy;
};

/// A module that has been loaded. It stays loaded until the process ends: MPIs cannot be unloaded.
class library {
 public:
  /// The MPI that the evidence of this process names or, without evidence, the only one that a module is found for.
  /// A refusal if neither exists, or if the module cannot be loaded.
  static std::variant<library, refusal> find(const settings& config);

  /// Returns what `find` returns, or throws the refusal as an `error`.
  static library of_process(const settings& config);

  /// The MPI that the program was compiled with, and has loaded. Throws `error` if the process has loaded another MPI,
  /// or none.
  static library of_program(family compiled_with, const settings& config);

  /// Loads the module of each MPI for which one is found. `why_not` says why the others cannot be loaded.
  static std::vector<library> all(std::string& why_not);

  const amity_mpi_module& operator*() const noexcept { return *module_; }
  const amity_mpi_module* operator->() const noexcept { return module_; }

  /// Name and version of the MPI: "Open MPI v4.1.4".
  std::string version() const;

  /// Why this MPI was chosen: "AMITY_MPI_LIBRARY=mpich".
  const std::string& reason() const noexcept { return reason_; }
  /// To be printed if AMITY_MPI_LIBRARY is ignored; otherwise empty.
  const std::string& warning() const noexcept { return warning_; }

 private:
  explicit library(const amity_mpi_module* module) : module_(module) {}
  static std::optional<library> open(family which, std::string& why_not);
  /// `programs_mpi`: MPI_Get_library_version as the program is bound to it, or null.
  static std::variant<library, refusal> load(const choice& made,
                                             decltype(amity_mpi_module::library_version) programs_mpi);

  const amity_mpi_module* module_;
  std::string reason_;
  std::string warning_;
};

/// MPI while this object lives. Initializes it unless the program has done so, and then finalizes it, too.
class library_use : private immovable {
 public:
  /// For a process with this many threads of amity. Throws `error` as `job::of_launcher` says.
  library_use(library mpi, rank_t threads);
  ~library_use();

  const library& mpi() const noexcept { return mpi_; }

 private:
  library mpi_;
  bool initialized_here_ = false;
};

/// Throws `error` if a launcher has started several processes, but this MPI sees one process only.
void check_launcher(const library& mpi);

}  // namespace amity::fabric::mpi
