#include "amity/interop/mpi/drop_in/calls.hpp"

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>
#include <string>

#include <fmt/format.h>

#include "amity/base/error.hpp"
#include "amity/base/log.hpp"
#include "amity/interop/mpi/drop_in/am_hints.hpp"
#include "amity/interop/mpi/drop_in/cxx_handlers.hpp"
#include "amity/interop/mpi/drop_in/mpi_error.hpp"
#include "amity/window/window_error.hpp"

namespace amity::mpi {
namespace {

int class_of_message(int which) { return drop_in::running()->messages().error_class_of(which); }

/// An error class of MPI, or one that this library has added.
int class_of(window_fault fault) {
  switch (fault) {
    case window_fault::epoch:
      return MPI_ERR_RMA_SYNC;
    case window_fault::member:
      return MPI_ERR_RANK;
    case window_fault::range:
      return MPI_ERR_RMA_RANGE;
    case window_fault::attachment:
      return MPI_ERR_RMA_ATTACH;
    case window_fault::memory:
      return MPI_ERR_NO_MEM;
    case window_fault::sharing:
      return MPI_ERR_RMA_SHARED;
    case window_fault::operation:
      return MPI_ERR_OP;
    case window_fault::promise:
      return MPI_ERR_ASSERT;
    case window_fault::buffer:
      return class_of_message(MPIX_AM_BUFFER);
    case window_fault::guarantee:
      return class_of_message(MPIX_AM_HINT);
    case window_fault::detached:
      return class_of_message(MPIX_AM_DETACHED);
    case window_fault::handler:
      return class_of_message(MPIX_AM_HANDLER);
    case window_fault::counts:
      return class_of_message(MPIX_AM_COUNT);
    case window_fault::alignment:
    case window_fault::layout:
    case window_fault::argument:
      return MPI_ERR_ARG;
  }
  return MPI_ERR_OTHER;
}

struct description {
  int error_class;
  std::string text;
};

/// The text of an error of amity, "amity: CALL (rank R): ...", with the name of the function that the program has
/// called.
std::string with_name_of(std::string_view call, std::string_view text) {
  constexpr std::string_view before = "amity: ";
  const std::size_t behind = text.find(" (rank ");
  if (!text.starts_with(before) || behind == std::string_view::npos) return std::string(text);
  return fmt::format("{}{}{}", before, call, text.substr(behind));
}

/// Describes the exception that is being handled.
description describe(std::string_view call) {
  try {
    throw;
  } catch (const mpi_error& wrong) {
    return {wrong.error_class(), fmt::format("amity: {}: {}", call, wrong.what())};
  } catch (const window_error& wrong) {
    return {class_of(wrong.fault()), with_name_of(call, wrong.what())};
  } catch (const std::bad_alloc&) {
    return {MPI_ERR_NO_MEM, fmt::format("amity: {}: out of memory", call)};
  } catch (const std::exception& other) {
    return {MPI_ERR_OTHER, other.what()};
  }
}

bool ends_processes(MPI_Errhandler handler) noexcept {
#if MPI_VERSION >= 4
  if (handler == MPI_ERRORS_ABORT) return true;
#endif
  return handler == MPI_ERRORS_ARE_FATAL;
}

/// Ends the process, as the MPI does, before MPI_Init, when there is no error handler, and after MPI_Finalize.
/// `has_begun` is true if MPI_Init, or a session, has been called.
void require_mpi(std::string_view call, int has_begun) {
  int has_ended = 0;
  native::finalized(&has_ended);
  if (has_begun != 0 && has_ended == 0) return;
  std::fprintf(stderr, "amity: %s: it was called %s; call it between MPI_Init and MPI_Finalize\n",
               std::string(call).c_str(), has_begun == 0 ? "before MPI_Init" : "after MPI_Finalize");
  drain_standard_error();
  std::exit(EXIT_FAILURE);
}

/// An error that ends the job is printed by the MPI without its text. Other handlers get a code with the text.
template <class Handle, class GetHandler, class Call>
int raise(std::string_view call, Handle on, GetHandler& get_handler, Call& call_handler) {
  const description what = describe(call);
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  bool is_fatal = false;
  if (get_handler(on, &handler) == MPI_SUCCESS) {
    is_fatal = ends_processes(handler);
    if (handler != MPI_ERRHANDLER_NULL) native::errhandler_free(&handler);
  }
  int code = what.error_class;
  if (is_fatal) {
    std::fprintf(stderr, "%s\n", what.text.c_str());
    drain_standard_error();
  } else if (drop_in* const own = drop_in::running()) {
    code = own->errors().find(code, what.text);
  }
  const cxx_handler_calls of_bindings;
  call_handler(on, code);
  return of_bindings.any() ? MPI_SUCCESS : code;
}

}  // namespace

int raise_on_window(std::string_view call, MPI_Win on) {
  require_mpi(call, 1);
  return raise(call, on, native::win_get_errhandler, native::win_call_errhandler);
}

int raise_on_communicator(std::string_view call, MPI_Comm on) {
  if (on == MPI_COMM_WORLD) {  // others come from MPI_Init too, or from a session
    int has_begun = 0;
    native::initialized(&has_begun);
    require_mpi(call, has_begun);
  }
  return raise(call, on, native::comm_get_errhandler, native::comm_call_errhandler);
}

void count_native_call() noexcept {
  if (report* const reporting = drop_in::reporting()) reporting->count_native_call();
}

void warn_of_hints(const window& on) {
  if (on.member() != 0) return;
  for (const std::string& each : warnings_of_am_hints(on.info())) drop_in::reporting()->warn_once(each);
}

void note_attribute(MPI_Win on, int key) {
  drop_in* const own = drop_in::running();
  window* const found = own == nullptr ? nullptr : own->windows().find(on);
  if (found != nullptr) found->note_attribute(key);
}

}  // namespace amity::mpi
