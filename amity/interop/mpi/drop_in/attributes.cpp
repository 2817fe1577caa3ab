/// Attributes and hints of windows. Names, groups, error handlers and attributes of the program are those of the
/// window of the MPI, and the window here knows which attributes were set. (MPI-3.1, sections 6.7.3, 11.2.6
/// and 11.2.7.)

#include "amity/interop/mpi/drop_in/am_hints.hpp"
#include "amity/interop/mpi/drop_in/calls.hpp"
#include "amity/interop/mpi/drop_in/pointer_checks.hpp"

using namespace amity::mpi;

extern "C" {

int PMPI_Win_get_attr(MPI_Win win, int keyval, void* value, int* flag) {
  drop_in* const own = drop_in::running();
  window* const found = own == nullptr ? nullptr : own->windows().find(win);
  void* const predefined = found == nullptr ? nullptr : found->find_attribute(keyval);
  const bool is_base = found != nullptr && keyval == MPI_WIN_BASE;
  if (predefined == nullptr && !is_base) return native::win_get_attr(win, keyval, value, flag);
  try {
    check_pointer(value, "attribute_val");
    check_pointer(flag, "flag");
  } catch (const mpi_error&) {
    return raise_on_window("MPI_Win_get_attr", win);
  }
  *static_cast<void**>(value) = predefined;
  *flag = 1;
  return MPI_SUCCESS;
}

int PMPI_Win_set_attr(MPI_Win win, int keyval, void* value) {
  const int code = native::win_set_attr(win, keyval, value);
  if (code == MPI_SUCCESS) note_attribute(win, keyval);
  return code;
}

int PMPI_Win_set_info(MPI_Win win, MPI_Info info) {
  return on_window(
      "MPI_Win_set_info", win,
      [&](window& on) {
        on.info().merge(info, is_am_hint);
        warn_of_hints(on);
      },
      native::win_set_info, win, info);
}

int PMPI_Win_get_info(MPI_Win win, MPI_Info* info_used) {
  return on_window(
      "MPI_Win_get_info", win,
      [&](window& on) {
        check_pointer(info_used, "info_used");
        *info_used = on.info().copy();
      },
      native::win_get_info, win, info_used);
}

}  // extern "C"

AMITY_MPI_EXPORT(Win_get_attr)
AMITY_MPI_EXPORT(Win_set_attr)
AMITY_MPI_EXPORT(Win_set_info)
AMITY_MPI_EXPORT(Win_get_info)
