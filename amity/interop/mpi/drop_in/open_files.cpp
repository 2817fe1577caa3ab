#include "amity/interop/mpi/drop_in/open_files.hpp"

#include "amity/interop/mpi/drop_in/native.hpp"

namespace amity::mpi {

MPI_Comm open_files::comm_of(MPI_File file) {
  const std::scoped_lock alone(mutex_);
  const auto found = comms_.find(file);
  return found == comms_.end() ? MPI_COMM_NULL : found->second;
}

MPI_Comm open_files::comm_for(MPI_Comm comm) {
  int size = 0, rank = 0;
  if (native::comm_size(comm, &size) != MPI_SUCCESS || size == 1) return MPI_COMM_NULL;
  // MPI_Comm_dup would call the program's functions that copy attributes.
  MPI_Comm made = MPI_COMM_NULL;
  native::comm_rank(comm, &rank);
  if (native::comm_split(comm, 0, rank, &made) != MPI_SUCCESS) return MPI_COMM_NULL;
  native::comm_set_errhandler(made, MPI_ERRORS_RETURN);
  return made;
}

void open_files::add(MPI_File file, MPI_Comm comm) {
  if (comm == MPI_COMM_NULL) return;
  const std::scoped_lock alone(mutex_);
  comms_[file] = comm;
}

void open_files::remove(MPI_File file) {
  const std::scoped_lock alone(mutex_);
  const auto found = comms_.find(file);
  if (found == comms_.end()) return;
  native::comm_free(&found->second);
  comms_.erase(found);
}

}  // namespace amity::mpi
