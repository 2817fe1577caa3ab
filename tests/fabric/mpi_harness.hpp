#pragma once

/// Jobs of MPI for tests: the test program itself runs on each rank, started by MPI's launcher, and all ranks go
/// through the same tests at the same time. CMake says with AMITY_TEST_MPI_RANKS how many they are.

#include "amity/base/settings.hpp"
#include "tests/fabric/harness.hpp"

namespace amity::fabric::testing {

/// 0 where MPI's launcher has not started this program.
rank_t ranks_of_mpi();

/// Runs `body` on this rank of a job. An exception ends it on all ranks. Collective.
void run_on_mpi(const settings& config, const rank_body& body);

}  // namespace amity::fabric::testing
