/// Functions of the Fortran interfaces that reach the MPI by other ways than MPI_X and PMPI_X of C.
///
/// These read and set a window's attributes, and read its name, which Open MPI does wrong; all other Fortran functions
/// of MPIs that may block or belong to windows call functions of C. In Fortran, an attribute that the MPI
/// defines is a number: an address, or the value itself. (MPI-3.1, sections 11.2.6 and 17.2.7.)

#include <mpi.h>

#include "amity/interop/mpi/drop_in/calls.hpp"
#include "amity/interop/mpi/drop_in/drop_in.hpp"
#include "amity/interop/mpi/drop_in/native.hpp"

namespace amity::mpi {
namespace {

/// Sets `value` and returns true if amity defines the attribute of the window. `key` is that of C.
[[maybe_unused]] bool read_attribute(MPI_Win handle, int key, MPI_Aint& value) {
  drop_in* const own = drop_in::running();
  window* const found = own == nullptr ? nullptr : own->windows().find(handle);
  if (found == nullptr) return false;
  const void* const attribute = found->find_attribute(key);
  if (key == MPI_WIN_BASE) {
    value = reinterpret_cast<MPI_Aint>(attribute);
  } else if (attribute == nullptr) {
    return false;
  } else {
    value = key == MPI_WIN_SIZE ? *static_cast<const MPI_Aint*>(attribute) : *static_cast<const int*>(attribute);
  }
  return true;
}

}  // namespace
}  // namespace amity::mpi

#if defined(OPEN_MPI)

extern "C" {

/// Exist in the library of Fortran functions, and may be absent from programs without Fortran.
void MPI_Win_get_attr_f(MPI_Fint* win, MPI_Fint* key, MPI_Aint* value, MPI_Fint* flag, MPI_Fint* error);
void MPI_Win_set_attr_f(MPI_Fint* win, MPI_Fint* key, MPI_Aint* value, MPI_Fint* error);

[[gnu::visibility("default")]] void ompi_win_get_attr_f(MPI_Fint* win, MPI_Fint* key, MPI_Aint* value, MPI_Fint* flag,
                                                        MPI_Fint* error) {
  static constinit amity::mpi::native_function<decltype(&MPI_Win_get_attr_f)> next{"Win_get_attr_f"};
  static constinit amity::mpi::native_function<decltype(&MPI_Win_f2c)> handle_of{"Win_f2c"};
  // The window of the MPI has the same attributes with other values, so `flag` and `error` are set.
  next(win, key, value, flag, error);
  amity::mpi::read_attribute(handle_of(*win), *key, *value);
}

[[gnu::visibility("default")]] void ompi_win_set_attr_f(MPI_Fint* win, MPI_Fint* key, MPI_Aint* value,
                                                        MPI_Fint* error) {
  static constinit amity::mpi::native_function<decltype(&MPI_Win_set_attr_f)> next{"Win_set_attr_f"};
  static constinit amity::mpi::native_function<decltype(&MPI_Win_f2c)> handle_of{"Win_f2c"};
  next(win, key, value, error);
  amity::mpi::note_attribute(handle_of(*win), *key);
}

/// The module mpi_f08 of Open MPI 4.1 passes 1 as the length of `name`, and so gets one letter. `name` has at least
/// MPI_MAX_OBJECT_NAME letters, of which Open MPI's constant in C counts one more.
void MPI_Win_get_name_f(MPI_Fint* win, char* name, MPI_Fint* length, MPI_Fint* error, int name_length);

[[gnu::visibility("default")]] void ompi_win_get_name_f(MPI_Fint* win, char* name, MPI_Fint* length, MPI_Fint* error,
                                                        int name_length) {
  static constinit amity::mpi::native_function<decltype(&MPI_Win_get_name_f)> next{"Win_get_name_f"};
  next(win, name, length, error, name_length > 1 ? name_length : MPI_MAX_OBJECT_NAME - 1);
}

}  // extern "C"

// The names that Fortran compilers, and the modules mpi and mpi_f08, give it.
#define AMITY_MPI_ALIAS(of, name, ...) extern "C" [[gnu::visibility("default"), gnu::alias(of)]] void name(__VA_ARGS__);
#define AMITY_MPI_NAME(name) \
  AMITY_MPI_ALIAS("ompi_win_get_attr_f", name, MPI_Fint*, MPI_Fint*, MPI_Aint*, MPI_Fint*, MPI_Fint*)
AMITY_MPI_NAME(mpi_win_get_attr)
AMITY_MPI_NAME(mpi_win_get_attr_)
AMITY_MPI_NAME(mpi_win_get_attr__)
AMITY_MPI_NAME(MPI_WIN_GET_ATTR)
AMITY_MPI_NAME(MPI_Win_get_attr_f)
AMITY_MPI_NAME(MPI_Win_get_attr_f08)
AMITY_MPI_NAME(pmpi_win_get_attr)
AMITY_MPI_NAME(pmpi_win_get_attr_)
AMITY_MPI_NAME(pmpi_win_get_attr__)
AMITY_MPI_NAME(PMPI_WIN_GET_ATTR)
AMITY_MPI_NAME(PMPI_Win_get_attr_f)
AMITY_MPI_NAME(PMPI_Win_get_attr_f08)
#undef AMITY_MPI_NAME
#define AMITY_MPI_NAME(name) AMITY_MPI_ALIAS("ompi_win_set_attr_f", name, MPI_Fint*, MPI_Fint*, MPI_Aint*, MPI_Fint*)
AMITY_MPI_NAME(mpi_win_set_attr)
AMITY_MPI_NAME(mpi_win_set_attr_)
AMITY_MPI_NAME(mpi_win_set_attr__)
AMITY_MPI_NAME(MPI_WIN_SET_ATTR)
AMITY_MPI_NAME(MPI_Win_set_attr_f)
AMITY_MPI_NAME(MPI_Win_set_attr_f08)
AMITY_MPI_NAME(pmpi_win_set_attr)
AMITY_MPI_NAME(pmpi_win_set_attr_)
AMITY_MPI_NAME(pmpi_win_set_attr__)
AMITY_MPI_NAME(PMPI_WIN_SET_ATTR)
AMITY_MPI_NAME(PMPI_Win_set_attr_f)
AMITY_MPI_NAME(PMPI_Win_set_attr_f08)
#undef AMITY_MPI_NAME
#undef AMITY_MPI_ALIAS

#elif defined(MPICH)

/// What MPICH's functions of C and Fortran call to read, and below to set. `kind`: how the value is stored.
extern "C" [[gnu::visibility("default")]] int MPII_Win_get_attr(MPI_Win win, int key, void* value, int* flag,
                                                                int kind) {
  constexpr int address_sized = 1;  // MPIR_ATTR_AINT
  // The keys of Fortran follow those of C by 1.
  if (MPI_Aint number = 0; kind == address_sized && amity::mpi::read_attribute(win, key - 1, number)) {
    *static_cast<MPI_Aint*>(value) = number;
    *flag = 1;
    return MPI_SUCCESS;
  }
  static constinit amity::mpi::native_function<decltype(&MPII_Win_get_attr)> next{"MPII_Win_get_attr"};
  return next ? next(win, key, value, flag, kind) : MPI_ERR_INTERN;
}

extern "C" [[gnu::visibility("default")]] int MPII_Win_set_attr(MPI_Win win, int key, void* value, int kind) {
  static constinit amity::mpi::native_function<decltype(&MPII_Win_set_attr)> next{"MPII_Win_set_attr"};
  const int code = next ? next(win, key, value, kind) : MPI_ERR_INTERN;
  if (code == MPI_SUCCESS) amity::mpi::note_attribute(win, key);
  return code;
}

#endif
