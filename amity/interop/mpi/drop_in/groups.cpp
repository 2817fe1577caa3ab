#include "amity/interop/mpi/drop_in/groups.hpp"

#include <cstddef>
#include <numeric>
#include <utility>

#include "amity/interop/mpi/drop_in/mpi_error.hpp"

namespace amity::mpi {

owned_group::~owned_group() {
  if (handle_ != MPI_GROUP_NULL) native::group_free(&handle_);
}

MPI_Group owned_group::take() noexcept { return std::exchange(handle_, MPI_GROUP_NULL); }

std::vector<int> translate_ranks(MPI_Group from, MPI_Group to) {
  int size = 0;
  check_native(native::group_size(from, &size), "MPI_Group_size");
  std::vector<int> ranks(static_cast<std::size_t>(size)), found(static_cast<std::size_t>(size), MPI_UNDEFINED);
  std::iota(ranks.begin(), ranks.end(), 0);
  check_native(native::group_translate_ranks(from, size, ranks.data(), to, found.data()), "MPI_Group_translate_ranks");
  return found;
}

}  // namespace amity::mpi
