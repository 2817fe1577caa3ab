#include "tests/interop/mpi/packed_by_mpi.hpp"

#include <cstdlib>
#include <random>

#include <gtest/gtest.h>

namespace amity::mpi::testing {

surroundings::surroundings(std::ptrdiff_t bytes) : bytes_(bytes), memory_(static_cast<std::size_t>(2 * bytes)) {
  std::mt19937 random(3);
  for (std::byte& each : memory_) each = static_cast<std::byte>(random());
}

bool surroundings::contain(MPI_Datatype type, int count) const {
  MPI_Aint lower_bound = 0, extent = 0, true_lower_bound = 0, true_extent = 0;
  MPI_Type_get_extent(type, &lower_bound, &extent);
  MPI_Type_get_true_extent(type, &true_lower_bound, &true_extent);
  return std::abs(extent) * count + std::abs(true_lower_bound) + true_extent < bytes_;
}

std::vector<std::byte> packed_by_mpi(const std::byte* buffer, int count, MPI_Datatype type) {
  int bytes = 0, position = 0;
  MPI_Pack_size(count, type, MPI_COMM_SELF, &bytes);
  std::vector<std::byte> packed(static_cast<std::size_t>(bytes) + 1);
  EXPECT_EQ(MPI_Pack(buffer, count, type, packed.data(), bytes, &position, MPI_COMM_SELF), MPI_SUCCESS);
  packed.resize(static_cast<std::size_t>(position));
  return packed;
}

}  // namespace amity::mpi::testing
