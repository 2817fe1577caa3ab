#include "amity/fabric/mpi/library.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "amity/base/error.hpp"
#include "amity/fabric/launcher_sign.hpp"
#include "amity/fabric/mpi/mpi.hpp"

namespace amity::fabric::mpi {
namespace {

std::string_view name_of_level(int level) {
  switch (level) {
    case MPI_THREAD_SINGLE:
      return "MPI_THREAD_SINGLE";
    case MPI_THREAD_FUNNELED:
      return "MPI_THREAD_FUNNELED";
    case MPI_THREAD_SERIALIZED:
      return "MPI_THREAD_SERIALIZED";
    default:
      return "MPI_THREAD_MULTIPLE";
  }
}

void check_level(rank_t threads, bool own) {
  int given = MPI_THREAD_SINGLE;
  MPI_Query_thread(&given);
  if (threads > 1 && given < MPI_THREAD_MULTIPLE) {
    throw error(
        "AMITY_FABRIC=mpi", no_rank,
        fmt::format("MPI runs with {}, but {} threads a rank need MPI_THREAD_MULTIPLE", name_of_level(given), threads),
        fmt::format("{}, or set AMITY_THREADS=1 and AMITY_PROGRESS_THREAD=0",
                    own ? "use an MPI that is built for threads"
                        : "initialise MPI with MPI_Init_thread and MPI_THREAD_MULTIPLE"));
  }
  int is_main = 0;
  MPI_Is_thread_main(&is_main);
  if (!is_main && given < MPI_THREAD_SERIALIZED) {
    throw error("AMITY_FABRIC=mpi", no_rank,
                fmt::format("MPI runs with {}, but a thread other than MPI's main thread needs MPI_THREAD_SERIALIZED",
                            name_of_level(given)),
                "initialise MPI with MPI_Init_thread and MPI_THREAD_SERIALIZED, or call amity on the main thread");
  }
}

}  // namespace

library_use::library_use(rank_t threads) {
  int finalised = 0;
  MPI_Finalized(&finalised);
  if (finalised) {
    throw error("AMITY_FABRIC=mpi", no_rank, "MPI has been finalised in this process, and cannot be initialised again",
                "call amity::run once, or initialise MPI before the first call and finalise it after the last one");
  }
  int initialised = 0;
  MPI_Initialized(&initialised);
  if (!initialised) {
    int given = MPI_THREAD_SINGLE;
    MPI_Init_thread(nullptr, nullptr, threads > 1 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &given);
    own_ = true;
  }
  try {
    check_level(threads, own_);
  } catch (...) {
    if (own_) MPI_Finalize();
    throw;
  }
}

library_use::~library_use() {
  int finalised = 0;
  MPI_Finalized(&finalised);
  if (own_ && !finalised) MPI_Finalize();
}

void check_launcher() {
  int processes = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &processes);
  if (processes > 1) return;
  const auto sign = find_launcher_sign();
  if (!sign) return;
  throw error("AMITY_FABRIC=mpi", no_rank,
              fmt::format("{} has started {} processes, but {}, which amity is built with, sees this one alone",
                          sign->launcher, sign->processes, library()),
              fmt::format("{}, or build amity with the other MPI (-DMPI_CXX_COMPILER=...)",
                          sign->is_srun ? "choose what that MPI speaks with srun --mpi=... (srun --mpi=list)"
                                        : "start it with the mpirun or mpiexec of that MPI"));
}

std::string library() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int length = 0;
  MPI_Get_library_version(text.data(), &length);
  // "Open MPI v4.1.4, package: ...", "MPICH Version:\t4.0.2\nMPICH Release date: ..."
  std::string name(text.data(), static_cast<std::size_t>(length));
  name.resize(std::min(name.find_first_of(",\n"), name.size()));
  if (const auto colon = name.find(" Version:"); colon != std::string::npos) {
    const auto number = name.find_first_not_of(" \t", colon + std::string_view(" Version:").size());
    name = name.substr(0, colon + 1) + (number == std::string::npos ? "" : name.substr(number));
  }
  return name;
}

}  // namespace amity::fabric::mpi
