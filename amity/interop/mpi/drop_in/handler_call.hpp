#pragma once

#include <mpi.h>

#include "amity/base/types.hpp"
#include "amity/interop/mpi/drop_in/nested_calls.hpp"

namespace amity::mpi {

/// While this exists, a handler of active messages runs on this thread. It must not wait for other processes, so that
/// functions of MPI that may block, and one-sided ones, do nothing, and return an error. Others find the MPI's own
/// functions.
class handler_call : private immovable {
 public:
  handler_call() noexcept : before_(current) { current = this; }
  ~handler_call() { current = before_; }

  static bool exists() noexcept { return current != nullptr; }
  /// What handlers must not do: remedies of errors.
  static constexpr const char* blocking = "call no function in a handler that may block";
  static constexpr const char* one_sided = "make no one-sided calls in a handler, and send no messages";
  /// For a function that a handler must not call. Returns an error code of MPI.
  static int refuse(const char* function, const char* remedy = blocking) noexcept {
    current->refused_ = function;
    current->remedy_ = remedy;
    return MPI_ERR_OTHER;
  }
  /// The last function that was refused; null: there was none.
  const char* refused() const noexcept { return refused_; }
  /// What the program has to do in place of calling that function.
  const char* remedy() const noexcept { return remedy_; }

 private:
  // The functions of MPI have no parameter for it.
  [[gnu::tls_model("initial-exec")]] static inline constinit thread_local handler_call* current = nullptr;

  nested_calls of_handler_;
  handler_call* before_;
  const char* refused_ = nullptr;
  const char* remedy_ = nullptr;
};

}  // namespace amity::mpi
