#pragma once

/// Groups of processes of the MPI.

#include <vector>

#include <mpi.h>

#include "amity/base/types.hpp"
#include "amity/interop/mpi/drop_in/native.hpp"

namespace amity::mpi {

/// A group that this object frees.
class owned_group : private immovable {
 public:
  /// `get` is `native::comm_group` or `native::comm_remote_group`. If it fails, the handle is MPI_GROUP_NULL.
  template <class Get>
  owned_group(Get& get, MPI_Comm of) {
    if (get(of, &handle_) != MPI_SUCCESS) handle_ = MPI_GROUP_NULL;
  }
  ~owned_group();
  MPI_Group handle() const noexcept { return handle_; }
  /// The caller frees it.
  MPI_Group take() noexcept;

 private:
  MPI_Group handle_ = MPI_GROUP_NULL;
};

/// The rank in `to` of each process of `from`; MPI_UNDEFINED: it is not in `to`. Throws `mpi_error`.
std::vector<int> translate_ranks(MPI_Group from, MPI_Group to);

}  // namespace amity::mpi
