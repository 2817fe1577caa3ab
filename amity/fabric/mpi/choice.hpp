#pragma once

/// Which MPI a process uses.
///
/// A process can use one MPI only, and the processes of a job must use the same one. Evidence decides, in this order:
/// the MPI that the process has loaded already, the launcher that started the process, the setting AMITY_MPI_LIBRARY.

#include <optional>
#include <string>
#include <string_view>

#include "amity/base/settings.hpp"

namespace amity::fabric::mpi {

/// The MPIs that modules exist for. MPICH stands for all MPIs with its binary interface.
enum class family { open_mpi, mpich };

/// As in the setting and in the names of modules: "openmpi".
std::string_view setting_of(family which) noexcept;
/// As in messages: "Open MPI".
std::string_view name_of(family which) noexcept;

/// Name and version alone, from the text that MPI_Get_library_version returns: "Open MPI v4.1.4".
std::string short_version(std::string_view text);
/// The family of the MPI with this version; nothing if no module exists for it.
std::optional<family> family_of_version(std::string_view version) noexcept;

/// What a process shows of the MPI that it belongs to.
struct evidence {
  std::string loaded;              ///< version of the MPI that the process has loaded; empty: none
  std::optional<family> launched;  ///< the MPI whose launcher has started the process
  std::string launcher_variable;   ///< by which that launcher was recognized
  std::optional<family> setting;   ///< AMITY_MPI_LIBRARY

  /// The version is that of the MPI in this process, if one is loaded; the rest is taken from the environment.
  static evidence of(const settings& config, std::string loaded_version);
};

struct choice {
  family which;
  std::string reason;   ///< "the process has loaded Open MPI v4.1.4"
  std::string warning;  ///< to be printed if AMITY_MPI_LIBRARY is ignored; otherwise empty
};

/// Nothing if there is no evidence, or if the process has loaded an MPI of another family.
std::optional<choice> choose(const evidence& found);

}  // namespace amity::fabric::mpi
