#pragma once

/// Ends of the process without MPI_Finalize.

namespace amity::mpi {

/// From now on, `exit` and `quick_exit` with a status of 0 end the process with 1 if it is in an epoch, and name the
/// window. `_exit` and `_Exit` do so in any case. Called once.
void watch_exits();

}  // namespace amity::mpi
