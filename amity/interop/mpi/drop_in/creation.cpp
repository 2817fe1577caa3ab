/// Functions of MPI that make windows and end them. (MPI-3.1, section 11.2; MPI-4.1, section 12.2.3.)

#include <limits>
#include <memory>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "amity/interop/mpi/drop_in/calls.hpp"
#include "amity/interop/mpi/drop_in/mpi_error.hpp"
#include "amity/interop/mpi/drop_in/pointer_checks.hpp"

namespace amity::mpi {
namespace {

void check_request(const new_window& wanted) {
  if (wanted.bytes < 0) {
    throw mpi_error(MPI_ERR_SIZE, fmt::format("a size of {} bytes", wanted.bytes), "pass a size of 0 or more");
  }
  if (wanted.unit <= 0) {
    throw mpi_error(MPI_ERR_DISP, fmt::format("a displacement unit of {} bytes", wanted.unit),
                    "pass a unit of 1 or more");
  }
  if (wanted.flavor == MPI_WIN_FLAVOR_CREATE && wanted.base == nullptr && wanted.bytes > 0) {
    throw mpi_error(MPI_ERR_BASE, fmt::format("{} bytes at a null pointer", wanted.bytes),
                    "pass the address of the memory");
  }
}

/// Makes a window, or lets `native_call()` make one if amity cannot serve it. `base` is where the address of allocated
/// memory goes.
template <class Native>
int create(const new_window& wanted, MPI_Win* win, void* base, Native native_call) {
  if (handler_call::exists()) return handler_call::refuse(wanted.call.data(), handler_call::one_sided);
  drop_in* const own = drop_in::running();
  if (own == nullptr || wanted.comm == MPI_COMM_NULL || !window::can_serve(wanted.comm)) {
    report* const reporting = drop_in::reporting();
    if (reporting != nullptr && wanted.comm != MPI_COMM_NULL) reporting->count_native_window(wanted.call, wanted.comm);
    const int code = native_call();
    if (code == MPI_SUCCESS) drop_in::explain_window_of_session(wanted.call);
    return code;
  }
  const bool allocates = wanted.flavor == MPI_WIN_FLAVOR_ALLOCATE || wanted.flavor == MPI_WIN_FLAVOR_SHARED;
  try {
    check_request(wanted);
    check_pointer(win, "win");
    if (allocates) check_pointer(base, "baseptr");
    auto made = std::make_unique<window>(own->own_job(), own->memory(), own->handles(), own->messages(), wanted);
    *win = made->handle();
    if (allocates) *static_cast<void**>(base) = made->base();
    warn_of_hints(*made);
    own->windows().add(std::move(made));
    return MPI_SUCCESS;
  } catch (...) {
    return raise_on_communicator(wanted.call, wanted.comm);
  }
}

int free_window(MPI_Win* win) {
  if (handler_call::exists()) return handler_call::refuse("MPI_Win_free", handler_call::one_sided);
  drop_in* const own = drop_in::running();
  if (own == nullptr) return native::win_free(win);
  try {
    check_pointer(win, "win");
  } catch (const mpi_error&) {
    return raise_on_communicator("MPI_Win_free", MPI_COMM_WORLD);
  }
  window* const found = own->windows().find(*win);
  if (found == nullptr) return native::win_free(win);
  try {
    found->core().check_end("MPI_Win_free");
  } catch (...) {
    return raise_on_window("MPI_Win_free", *win);
  }
  const int code = found->delete_attributes();  // by functions of the program, which may still use the window
  std::unique_ptr<window> ended = own->windows().remove(*win);
  own->requests().end(*ended);
  ended.reset();
  const MPI_Win handle = std::exchange(*win, MPI_WIN_NULL);
  try {
    own->own_job().check();
    return code;
  } catch (...) {
    return raise_on_window("MPI_Win_free", handle);  // after a failure, the handle and its error handler remain
  }
}

/// The memory of a member that this process can use by loads and stores.
template <class Unit>
void query(window& on, int rank, MPI_Aint* bytes, Unit* unit, void* base) {
  if (on.is_dynamic()) {
    throw mpi_error(MPI_ERR_RMA_FLAVOR, "a dynamic window", "pass a window that was made with memory");
  }
  if (rank != MPI_PROC_NULL && (rank < 0 || rank >= on.size())) {
    throw mpi_error(MPI_ERR_RANK, fmt::format("rank {}", rank),
                    fmt::format("pass a rank from 0 to {}, or MPI_PROC_NULL", on.size() - 1));
  }
  check_pointer(bytes, "size");
  check_pointer(unit, "disp_unit");
  check_pointer(base, "baseptr");
  rank_t member = rank;
  if (rank == MPI_PROC_NULL) {  // the first member with memory
    member = 0;
    while (member + 1 < on.size() && on.core().mapped(member).empty()) ++member;
  }
  const mutable_bytes memory = on.core().mapped(member);
  *bytes = static_cast<MPI_Aint>(memory.size());
  *unit = static_cast<Unit>(on.unit_of(member));
  *static_cast<void**>(base) = memory.data();
}

}  // namespace
}  // namespace amity::mpi

using namespace amity::mpi;

extern "C" {

int PMPI_Win_create(void* base, MPI_Aint size, int disp_unit, MPI_Info info, MPI_Comm comm, MPI_Win* win) {
  return create({"MPI_Win_create", MPI_WIN_FLAVOR_CREATE, base, size, disp_unit, info, comm}, win, nullptr,
                [&] { return native::win_create(base, size, disp_unit, info, comm, win); });
}

int PMPI_Win_allocate(MPI_Aint size, int disp_unit, MPI_Info info, MPI_Comm comm, void* baseptr, MPI_Win* win) {
  return create({"MPI_Win_allocate", MPI_WIN_FLAVOR_ALLOCATE, nullptr, size, disp_unit, info, comm}, win, baseptr,
                [&] { return native::win_allocate(size, disp_unit, info, comm, baseptr, win); });
}

int PMPI_Win_allocate_shared(MPI_Aint size, int disp_unit, MPI_Info info, MPI_Comm comm, void* baseptr, MPI_Win* win) {
  return create({"MPI_Win_allocate_shared", MPI_WIN_FLAVOR_SHARED, nullptr, size, disp_unit, info, comm}, win, baseptr,
                [&] { return native::win_allocate_shared(size, disp_unit, info, comm, baseptr, win); });
}

int PMPI_Win_create_dynamic(MPI_Info info, MPI_Comm comm, MPI_Win* win) {
  return create({"MPI_Win_create_dynamic", MPI_WIN_FLAVOR_DYNAMIC, nullptr, 0, 1, info, comm}, win, nullptr,
                [&] { return native::win_create_dynamic(info, comm, win); });
}

int PMPI_Win_free(MPI_Win* win) { return free_window(win); }

int PMPI_Win_shared_query(MPI_Win win, int rank, MPI_Aint* size, int* disp_unit, void* baseptr) {
  return on_window(
      "MPI_Win_shared_query", win, [&](window& on) { query(on, rank, size, disp_unit, baseptr); },
      native::win_shared_query, win, rank, size, disp_unit, baseptr);
}

int PMPI_Win_attach(MPI_Win win, void* base, MPI_Aint size) {
  return on_window(
      "MPI_Win_attach", win,
      [&](window& on) {
        if (size < 0) {
          throw mpi_error(MPI_ERR_SIZE, fmt::format("a size of {} bytes", size), "pass a size of 0 or more");
        }
        on.attach(base, static_cast<std::size_t>(size));
      },
      native::win_attach, win, base, size);
}

int PMPI_Win_detach(MPI_Win win, const void* base) {
  return on_window(
      "MPI_Win_detach", win, [&](window& on) { on.detach(base); }, native::win_detach, win, base);
}

#if MPI_VERSION >= 4

int PMPI_Win_create_c(void* base, MPI_Aint size, MPI_Aint disp_unit, MPI_Info info, MPI_Comm comm, MPI_Win* win) {
  return create({"MPI_Win_create", MPI_WIN_FLAVOR_CREATE, base, size, disp_unit, info, comm}, win, nullptr,
                [&] { return native::win_create_c(base, size, disp_unit, info, comm, win); });
}

int PMPI_Win_allocate_c(MPI_Aint size, MPI_Aint disp_unit, MPI_Info info, MPI_Comm comm, void* baseptr, MPI_Win* win) {
  return create({"MPI_Win_allocate", MPI_WIN_FLAVOR_ALLOCATE, nullptr, size, disp_unit, info, comm}, win, baseptr,
                [&] { return native::win_allocate_c(size, disp_unit, info, comm, baseptr, win); });
}

int PMPI_Win_allocate_shared_c(MPI_Aint size, MPI_Aint disp_unit, MPI_Info info, MPI_Comm comm, void* baseptr,
                               MPI_Win* win) {
  return create({"MPI_Win_allocate_shared", MPI_WIN_FLAVOR_SHARED, nullptr, size, disp_unit, info, comm}, win, baseptr,
                [&] { return native::win_allocate_shared_c(size, disp_unit, info, comm, baseptr, win); });
}

int PMPI_Win_shared_query_c(MPI_Win win, int rank, MPI_Aint* size, MPI_Aint* disp_unit, void* baseptr) {
  return on_window(
      "MPI_Win_shared_query", win, [&](window& on) { query(on, rank, size, disp_unit, baseptr); },
      native::win_shared_query_c, win, rank, size, disp_unit, baseptr);
}

#endif

}  // extern "C"

AMITY_MPI_EXPORT(Win_create)
AMITY_MPI_EXPORT(Win_allocate)
AMITY_MPI_EXPORT(Win_allocate_shared)
AMITY_MPI_EXPORT(Win_create_dynamic)
AMITY_MPI_EXPORT(Win_free)
AMITY_MPI_EXPORT(Win_shared_query)
AMITY_MPI_EXPORT(Win_attach)
AMITY_MPI_EXPORT(Win_detach)
#if MPI_VERSION >= 4
AMITY_MPI_EXPORT(Win_create_c)
AMITY_MPI_EXPORT(Win_allocate_c)
AMITY_MPI_EXPORT(Win_allocate_shared_c)
AMITY_MPI_EXPORT(Win_shared_query_c)
#endif
