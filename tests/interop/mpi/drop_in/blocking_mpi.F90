! Puts while the target blocks in a function of MPI, by the interface `use mpi`.
#define MODULE mpi
#define HANDLE(name) integer
#include "blocking.inc"
