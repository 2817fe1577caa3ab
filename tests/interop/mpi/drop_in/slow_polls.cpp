// A process waits for another one in a call of a window. slow_polls_tool.c counts how often the MPI is polled
// meanwhile.

#include <unistd.h>

#include "filled_window.hpp"
#include "program.hpp"

int main(int argc, char** argv) {
  const program::session running(argc, argv);
  program::step = "MPI_Win_complete, before MPI_Win_post";
  program::filled_window<long> all("created", 1);
  MPI_Group to = program::group_of({1}), from = program::group_of({0});
  // In one of several rounds, process 0 waits even if it gets no CPU for long.
  for (long round = 1; round <= 3; ++round) {
    MPI_Barrier(MPI_COMM_WORLD);
    if (program::rank() == 0) {
      MPI_Pcontrol(1);
      MPI_Win_start(to, 0, all.win);
      MPI_Put(&round, 1, MPI_LONG, 1, 0, 1, MPI_LONG, all.win);
      MPI_Win_complete(all.win);
      MPI_Pcontrol(2);
    } else {
      ::usleep(300'000);
      MPI_Win_post(from, 0, all.win);
      MPI_Win_wait(all.win);
      CHECK(all.memory[0] == round);
    }
  }
  if (program::rank() == 0) MPI_Pcontrol(3);
  MPI_Group_free(&to);
  MPI_Group_free(&from);
}
