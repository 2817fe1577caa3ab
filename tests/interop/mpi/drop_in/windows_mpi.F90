! Windows of each flavor and epochs of each kind, by the interface `use mpi`.
#define MODULE mpi
#define HANDLE(name) integer
#include "windows.inc"
