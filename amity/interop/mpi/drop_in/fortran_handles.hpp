#pragma once

/// Handles of Fortran. Some MPIs convert them by macros, others by functions.

#include <mpi.h>

#include "amity/interop/mpi/drop_in/native.hpp"

namespace amity::mpi {
namespace native {

#ifndef MPI_Type_c2f
inline constinit native_function<decltype(&MPI_Type_c2f)> type_c2f{"Type_c2f"};
#endif
#ifndef MPI_Type_f2c
inline constinit native_function<decltype(&MPI_Type_f2c)> type_f2c{"Type_f2c"};
#endif
#ifndef MPI_Comm_f2c
inline constinit native_function<decltype(&MPI_Comm_f2c)> comm_f2c{"Comm_f2c"};
#endif
#ifndef MPI_Win_f2c
inline constinit native_function<decltype(&MPI_Win_f2c)> win_f2c{"Win_f2c"};
#endif

}  // namespace native

inline MPI_Fint type_to_fortran(MPI_Datatype type) {
#ifdef MPI_Type_c2f
  return MPI_Type_c2f(type);
#else
  return native::type_c2f(type);
#endif
}

inline MPI_Datatype type_of_fortran(MPI_Fint type) {
#ifdef MPI_Type_f2c
  return MPI_Type_f2c(type);
#else
  return native::type_f2c(type);
#endif
}

inline MPI_Comm comm_of_fortran(MPI_Fint comm) {
#ifdef MPI_Comm_f2c
  return MPI_Comm_f2c(comm);
#else
  return native::comm_f2c(comm);
#endif
}

inline MPI_Win win_of_fortran(MPI_Fint win) {
#ifdef MPI_Win_f2c
  return MPI_Win_f2c(win);
#else
  return native::win_f2c(win);
#endif
}

}  // namespace amity::mpi
