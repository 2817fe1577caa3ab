! Windows of each flavor and epochs of each kind, by the interface of MPI for Fortran 2008.
#define MODULE mpi_f08
#define HANDLE(name) type(name)
#include "windows.inc"
