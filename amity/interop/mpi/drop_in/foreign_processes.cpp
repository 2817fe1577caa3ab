#include "amity/interop/mpi/drop_in/foreign_processes.hpp"

#include <algorithm>
#include <vector>

#include "amity/interop/mpi/drop_in/groups.hpp"
#include "amity/interop/mpi/drop_in/native.hpp"

namespace amity::mpi {
namespace {

/// Processes of `some` that are not in `all`.
int count_outside(const owned_group& all, const owned_group& some) {
  if (some.handle() == MPI_GROUP_NULL) return 0;
  const std::vector<int> found = translate_ranks(some.handle(), all.handle());
  return static_cast<int>(std::ranges::count(found, MPI_UNDEFINED));
}

}  // namespace

foreign_processes::foreign_processes() {
  MPI_Comm parent = MPI_COMM_NULL;
  native::comm_get_parent(&parent);
  if (parent != MPI_COMM_NULL) note();
}

bool foreign_processes::are_found_in(MPI_Comm comm) {
  if (comm == MPI_COMM_NULL) return false;
  const owned_group all(native::comm_group, MPI_COMM_WORLD);
  int is_inter = 0;
  native::comm_test_inter(comm, &is_inter);
  if (is_inter != 0 && count_outside(all, owned_group(native::comm_remote_group, comm)) > 0) return true;
  return count_in(comm) > 0;
}

int foreign_processes::count_in(MPI_Comm comm) {
  return count_outside(owned_group(native::comm_group, MPI_COMM_WORLD), owned_group(native::comm_group, comm));
}

}  // namespace amity::mpi
