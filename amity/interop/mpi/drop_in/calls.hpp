#pragma once

/// What the functions of MPI that the library defines have in common.

#include <string_view>

#include <mpi.h>

#include "amity/interop/mpi/drop_in/drop_in.hpp"
#include "amity/interop/mpi/drop_in/handler_call.hpp"
#include "amity/interop/mpi/drop_in/native.hpp"

/// Makes a function PMPI_X of MPI visible, for X. Its MPI_X, which wrappers.py writes, calls it, or first a tool.
#define AMITY_MPI_EXPORT(name) extern "C" __attribute__((visibility("default"))) decltype(PMPI_##name) PMPI_##name;

namespace amity::mpi {

/// Calls the error handler of the window or communicator for the exception that is being handled. If the handler
/// returns, returns an error code whose string is the text of the error; MPI_SUCCESS if the handler is one of MPICH's
/// C++ bindings. `call` is the name of the function. Ends the process if MPI is not in use.
int raise_on_window(std::string_view call, MPI_Win on);
int raise_on_communicator(std::string_view call, MPI_Comm on);

/// A one-sided call is passed to the MPI.
void count_native_call() noexcept;

/// The first process of the window warns of hints that nothing reads.
void warn_of_hints(const window& on);

/// The program has set this attribute.
void note_attribute(MPI_Win on, int key);

/// Calls `serve(window&)` if amity serves the window, else the function of the MPI. Returns an error code of MPI.
template <class Serve, class Native, class... Arguments>
int on_window(std::string_view call, MPI_Win handle, Serve&& serve, Native& native_call, Arguments... arguments) {
  if (handler_call::exists()) [[unlikely]]
    return handler_call::refuse(call.data(), handler_call::one_sided);
  drop_in* const own = drop_in::running();
  if (own != nullptr) [[likely]] {
    if (window* const found = own->windows().find(handle); found != nullptr) [[likely]] {
      try {
        serve(*found);
        return MPI_SUCCESS;
      } catch (...) {
        return raise_on_window(call, handle);
      }
    }
  }
  if (handle != MPI_WIN_NULL) count_native_call();
  return native_call(arguments...);
}

}  // namespace amity::mpi
