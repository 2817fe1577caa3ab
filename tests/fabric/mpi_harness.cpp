#include "mpi_harness.hpp"

#include <cstdlib>

#include "amity/fabric/mpi/mpi.hpp"

namespace amity::fabric::testing {

rank_t ranks_of_mpi() {
  const char* const value = std::getenv("AMITY_TEST_MPI_RANKS");
  return value == nullptr ? 0 : std::atoi(value);
}

void run_on_mpi(const settings& config, const rank_body& body) {
  // Ends with the program: MPI cannot be initialised again for the next test.
  static const auto outlives_all_tests = mpi::job::of_launcher({}, 1);
  const auto joined = mpi::job::of_launcher(config, 1);
  try {
    joined->run([&](fabric& own) {
      body(own);
      return 0;
    });
  } catch (...) {
    joined->abort();
    throw;
  }
}

}  // namespace amity::fabric::testing
