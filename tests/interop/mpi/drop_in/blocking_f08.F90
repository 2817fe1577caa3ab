! Puts while the target blocks in a function of MPI, by the interface of MPI for Fortran 2008.
#define MODULE mpi_f08
#define HANDLE(name) type(name)
#include "blocking.inc"
