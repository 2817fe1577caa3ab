#pragma once

/// Active messages as the functions of C and Fortran pass them on.

#include <memory>
#include <string_view>

#include <mpi.h>

#include "amity/interop/mpi/drop_in/am_user_handler.hpp"
#include "amity/interop/mpi/mpix_am.h"

namespace amity::mpi {

/// What a call of MPIX_Am, or MPIX_Amv, is given.
struct message {
  std::string_view call;
  const void* input;
  counted_type input_here;
  void* output;
  counted_type output_here;
  bool is_vector = false;
  int* counts = nullptr;              ///< of a vector message: these
  MPI_Count* large_counts = nullptr;  ///< or these
  MPI_Count segments;
  int rank;
  counted_type input_there;
  MPI_Aint displacement;
  counted_type persistent;
  counted_type output_there;
  MPIX_Am_op op;
};

/// These return an error code of MPI, after the error handler has been called.
int send_message_on(MPI_Win win, const message& given);
int create_operation(std::string_view call, std::unique_ptr<const am_user_handler> handler, MPI_Comm comm,
                     MPIX_Am_op* op);

/// A handler of the program, or nothing for a null pointer.
template <class Handler, class Function>
std::unique_ptr<const am_user_handler> make_handler(Function* function) {
  return function == nullptr ? nullptr : std::make_unique<const Handler>(function);
}

}  // namespace amity::mpi
