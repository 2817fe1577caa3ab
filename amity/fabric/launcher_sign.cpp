#include "amity/fabric/launcher_sign.hpp"

#include <array>
#include <cstdlib>

namespace amity::fabric {

std::optional<launcher_sign> find_launcher_sign() {
  constexpr std::array known{
      launcher_sign{
          .variable = "OMPI_COMM_WORLD_SIZE", .launcher = "Open MPI's mpirun", .processes = 0, .is_srun = false},
      launcher_sign{.variable = "PMI_SIZE",
                    .launcher = "a launcher that speaks PMI (MPICH's mpiexec does)",
                    .processes = 0,
                    .is_srun = false},
      launcher_sign{.variable = "SLURM_STEP_NUM_TASKS", .launcher = "srun", .processes = 0, .is_srun = true},
  };
  for (launcher_sign sign : known) {
    const char* const value = std::getenv(sign.variable);
    sign.processes = value == nullptr ? 0 : std::strtol(value, nullptr, 10);
    if (sign.processes > 1) return sign;
  }
  return std::nullopt;
}

}  // namespace amity::fabric
