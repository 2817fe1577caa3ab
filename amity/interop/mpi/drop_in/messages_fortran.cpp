/// Active messages: what the functions of the module `mpix_am_f08` call. Counts are large, and handles are
/// those of Fortran.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "amity/interop/mpi/drop_in/am_user_handler.hpp"
#include "amity/interop/mpi/drop_in/fortran_handles.hpp"
#include "amity/interop/mpi/drop_in/messages.hpp"
#include "amity/interop/mpi/mpix_am.h"

static_assert(sizeof(MPI_Fint) == sizeof(int));

namespace amity::mpi {
namespace {

template <class Handler, class Function>
int create_fortran_operation(const char* call, Function* fn, MPI_Fint comm, MPIX_Am_op* op) {
  return create_operation(call, make_handler<Handler>(fn), comm_of_fortran(comm), op);
}

}  // namespace
}  // namespace amity::mpi

using namespace amity::mpi;

#define AMITY_MPIX extern "C" __attribute__((visibility("default")))

AMITY_MPIX int MPIX_Am_op_create_f08(am_fortran_function<int>* fn, MPI_Fint comm, MPIX_Am_op* op) {
  return create_fortran_operation<am_fortran_handler<am_fortran_function<int>, int>>("MPIX_Am_op_create", fn, comm, op);
}

AMITY_MPIX int MPIX_Amv_op_create_f08(amv_fortran_function<int>* fn, MPI_Fint comm, MPIX_Am_op* op) {
  return create_fortran_operation<am_fortran_handler<amv_fortran_function<int>, int, int*>>("MPIX_Amv_op_create", fn,
                                                                                            comm, op);
}

AMITY_MPIX int MPIX_Am_op_create_c_f08(am_fortran_function<MPI_Count>* fn, MPI_Fint comm, MPIX_Am_op* op) {
  return create_fortran_operation<am_fortran_handler<am_fortran_function<MPI_Count>, MPI_Count>>("MPIX_Am_op_create_c",
                                                                                                 fn, comm, op);
}

AMITY_MPIX int MPIX_Amv_op_create_c_f08(amv_fortran_function<MPI_Count>* fn, MPI_Fint comm, MPIX_Am_op* op) {
  return create_fortran_operation<am_fortran_handler<amv_fortran_function<MPI_Count>, MPI_Count, MPI_Count*>>(
      "MPIX_Amv_op_create_c", fn, comm, op);
}

/// The module has the struct: the arguments of MPIX_Am and MPIX_Amv with handles of Fortran.
struct amity_fortran_message {
  const void* input;
  void* output;
  int* counts;              ///< of MPIX_Amv
  MPI_Count* large_counts;  ///< of MPIX_Amv with large counts
  MPI_Aint persistent_disp;
  MPI_Count input_here;
  MPI_Count output_here;
  MPI_Count segments;
  MPI_Count input_there;
  MPI_Count persistent;
  MPI_Count output_there;
  MPI_Fint input_here_type;
  MPI_Fint output_here_type;
  MPI_Fint input_there_type;
  MPI_Fint persistent_type;
  MPI_Fint output_there_type;
  MPI_Fint target;
  MPI_Fint is_vector;
};
static_assert(offsetof(amity_fortran_message, input_here) == 40 && offsetof(amity_fortran_message, is_vector) == 112);

AMITY_MPIX int MPIX_Am_f08(const amity_fortran_message* given, MPIX_Am_op op, MPI_Fint win) {
  const auto side = [](MPI_Count count, MPI_Fint type) { return counted_type{count, type_of_fortran(type)}; };
  return send_message_on(win_of_fortran(win), {.call = given->is_vector != 0 ? "MPIX_Amv" : "MPIX_Am",
                                               .input = given->input,
                                               .input_here = side(given->input_here, given->input_here_type),
                                               .output = given->output,
                                               .output_here = side(given->output_here, given->output_here_type),
                                               .is_vector = given->is_vector != 0,
                                               .counts = given->counts,
                                               .large_counts = given->large_counts,
                                               .segments = given->segments,
                                               .rank = given->target,
                                               .input_there = side(given->input_there, given->input_there_type),
                                               .displacement = given->persistent_disp,
                                               .persistent = side(given->persistent, given->persistent_type),
                                               .output_there = side(given->output_there, given->output_there_type),
                                               .op = op});
}

AMITY_MPIX int MPIX_Am_win_buffer_attach_f08(void* buffer, MPI_Aint size, MPI_Fint win) {
  return MPIX_Am_win_buffer_attach(buffer, size, win_of_fortran(win));
}

AMITY_MPIX int MPIX_Am_win_buffer_detach_f08(const void* buffer, MPI_Fint win) {
  return MPIX_Am_win_buffer_detach(buffer, win_of_fortran(win));
}

/// `values` has `size` numbers of 8 bytes: the counters in the order of the struct, and zeros.
AMITY_MPIX int MPIX_Am_win_get_counters_f08(MPI_Fint win, int target_rank, std::uint64_t* values, int size) {
  MPIX_Am_counters counters{};
  const int code = MPIX_Am_win_get_counters(win_of_fortran(win), target_rank, &counters);
  std::fill_n(values, size, 0);
  std::memcpy(values, &counters, std::min(sizeof counters, static_cast<std::size_t>(size) * sizeof *values));
  return code;
}
