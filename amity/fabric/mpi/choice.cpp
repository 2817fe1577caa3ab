#include "amity/fabric/mpi/choice.hpp"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include <fmt/format.h>

namespace amity::fabric::mpi {
namespace {

std::optional<family> family_of_setting(std::string_view value) {
  for (const family which : {family::open_mpi, family::mpich}) {
    if (value == setting_of(which)) return which;
  }
  return std::nullopt;
}

}  // namespace

std::string_view setting_of(family which) noexcept { return which == family::open_mpi ? "openmpi" : "mpich"; }
std::string_view name_of(family which) noexcept { return which == family::open_mpi ? "Open MPI" : "MPICH"; }

// "Open MPI v4.1.4, package: ..."; "MPICH Version:\t4.0.2\nMPICH Release date: ..."; "MPI VERSION    : CRAY MPICH
// version 8.1.25 (ANL base 3.4a2)\nMPI BUILD INFO : ..."
std::string short_version(std::string_view text) {
  text = text.substr(0, text.find_first_of(",\n"));
  constexpr std::string_view label = "MPI VERSION";
  if (text.starts_with(label)) {
    text.remove_prefix(std::min(text.find_first_not_of(" \t:", label.size()), text.size()));
  }
  std::string version(text);
  constexpr std::string_view number_label = " Version:";
  if (const auto start = version.find(number_label); start != std::string::npos) {
    const auto number = version.find_first_not_of(" \t", start + number_label.size());
    version = version.substr(0, start + 1) + (number == std::string::npos ? "" : version.substr(number));
  }
  return version;
}

std::optional<family> family_of_version(std::string_view version) noexcept {
  const auto contains = [&](std::string_view name) { return version.find(name) != std::string_view::npos; };
  if (contains("Open MPI")) return family::open_mpi;
  if (contains("MPICH") || contains("MVAPICH") || contains("Intel(R) MPI")) return family::mpich;
  return std::nullopt;
}

evidence evidence::of(const settings& config, std::string loaded_version) {
  evidence found{.loaded = std::move(loaded_version),
                 .launched = {},
                 .launcher_variable = {},
                 .setting = family_of_setting(config.text("AMITY_MPI_LIBRARY"))};
  // Each is set by the launcher of one MPI alone. Slurm, and other launchers that speak PMIx, start programs of any
  // MPI.
  if (std::getenv("OMPI_COMM_WORLD_SIZE") != nullptr) {
    found.launched = family::open_mpi;
    found.launcher_variable = "OMPI_COMM_WORLD_SIZE";
  } else if (std::getenv("MPI_LOCALRANKID") != nullptr) {
    found.launched = family::mpich;
    found.launcher_variable = "MPI_LOCALRANKID";
  }
  return found;
}

std::optional<choice> choose(const evidence& found) {
  std::optional<choice> made;
  if (!found.loaded.empty()) {
    const auto which = family_of_version(found.loaded);
    if (!which) return std::nullopt;
    made = {.which = *which, .reason = fmt::format("this process has loaded {}", found.loaded), .warning = {}};
  } else if (found.launched) {
    made = {.which = *found.launched,
            .reason = fmt::format("{} is set by the launcher of {}", found.launcher_variable, name_of(*found.launched)),
            .warning = {}};
  } else if (found.setting) {
    return choice{.which = *found.setting,
                  .reason = fmt::format("AMITY_MPI_LIBRARY={}", setting_of(*found.setting)),
                  .warning = {}};
  }
  if (made && found.setting && *found.setting != made->which) {
    made->warning = fmt::format("AMITY_MPI_LIBRARY={} is ignored: {}", setting_of(*found.setting), made->reason);
  }
  return made;
}

}  // namespace amity::fabric::mpi
