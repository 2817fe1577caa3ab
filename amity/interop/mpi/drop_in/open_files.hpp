#pragma once

/// The files that an MPI program has open, with a communicator for each: a file handle has none to call collectives on.

#include <map>
#include <mutex>

#include <mpi.h>

#include "amity/base/types.hpp"

namespace amity::mpi {

/// Any thread may call it.
class open_files : private immovable {
 public:
  /// Returns MPI_COMM_NULL for files of one process, and for files that it does not know.
  MPI_Comm comm_of(MPI_File file);
  /// Returns a communicator for a file that the members of `comm` open, or MPI_COMM_NULL. Collective over `comm`; all
  /// members are in the call.
  static MPI_Comm comm_for(MPI_Comm comm);
  /// Takes the communicator of the file.
  void add(MPI_File file, MPI_Comm comm);
  /// The file is about to end. Frees its communicator.
  void remove(MPI_File file);

 private:
  std::mutex mutex_;
  std::map<MPI_File, MPI_Comm> comms_;
};

}  // namespace amity::mpi
