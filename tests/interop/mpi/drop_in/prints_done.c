/* Prints a word. With USES_MPI, it begins and ends MPI before. */
#include <stdio.h>

#ifdef USES_MPI
#include <mpi.h>
#endif

int main(int argc, char** argv) {
#ifdef USES_MPI
  MPI_Init(&argc, &argv);
  MPI_Finalize();
#else
  (void)argc;
  (void)argv;
#endif
  puts("done");
  return 0;
}
