/// Functions of MPI that use the memory of other processes. (MPI-3.1, section 11.3; MPI-4.0, section 12.3.)

#include "amity/interop/mpi/drop_in/calls.hpp"
#include "amity/interop/mpi/drop_in/communication.hpp"
#include "amity/interop/mpi/drop_in/pointer_checks.hpp"

namespace amity::mpi {
namespace {

/// Operations with requests are legal in epochs of locks alone.
void check_passive(std::string_view call, window& on, int rank, const MPI_Request* request) {
  check_pointer(request, "request");
  if (rank != MPI_PROC_NULL) on.core().check_lock(call, rank);
}

// `Count` is the type of counts: int, or MPI_Count in the forms whose names end in _c.

template <class Native, class Count>
int call_put(Native& native_call, const void* origin, Count origin_count, MPI_Datatype origin_type, int rank,
             MPI_Aint displacement, Count target_count, MPI_Datatype target_type, MPI_Win win) {
  return on_window(
      "MPI_Put", win,
      [&](window& on) {
        put("MPI_Put", on, {origin, origin_count, origin_type}, {rank, displacement, target_count, target_type});
      },
      native_call, origin, origin_count, origin_type, rank, displacement, target_count, target_type, win);
}

template <class Native, class Count>
int call_get(Native& native_call, void* origin, Count origin_count, MPI_Datatype origin_type, int rank,
             MPI_Aint displacement, Count target_count, MPI_Datatype target_type, MPI_Win win) {
  return on_window(
      "MPI_Get", win,
      [&](window& on) {
        get("MPI_Get", on, {origin, origin_count, origin_type}, {rank, displacement, target_count, target_type});
      },
      native_call, origin, origin_count, origin_type, rank, displacement, target_count, target_type, win);
}

template <class Native, class Count>
int call_accumulate(Native& native_call, const void* origin, Count origin_count, MPI_Datatype origin_type, int rank,
                    MPI_Aint displacement, Count target_count, MPI_Datatype target_type, MPI_Op op, MPI_Win win) {
  return on_window(
      "MPI_Accumulate", win,
      [&](window& on) {
        accumulate("MPI_Accumulate", on, {origin, origin_count, origin_type}, nullptr,
                   {rank, displacement, target_count, target_type}, op);
      },
      native_call, origin, origin_count, origin_type, rank, displacement, target_count, target_type, op, win);
}

template <class Native, class Count>
int call_get_accumulate(Native& native_call, const void* origin, Count origin_count, MPI_Datatype origin_type,
                        void* result, Count result_count, MPI_Datatype result_type, int rank, MPI_Aint displacement,
                        Count target_count, MPI_Datatype target_type, MPI_Op op, MPI_Win win) {
  return on_window(
      "MPI_Get_accumulate", win,
      [&](window& on) {
        const origin_data into{result, result_count, result_type};
        accumulate("MPI_Get_accumulate", on, {origin, origin_count, origin_type}, &into,
                   {rank, displacement, target_count, target_type}, op);
      },
      native_call, origin, origin_count, origin_type, result, result_count, result_type, rank, displacement,
      target_count, target_type, op, win);
}

template <class Native, class Count>
int call_rput(Native& native_call, const void* origin, Count origin_count, MPI_Datatype origin_type, int rank,
              MPI_Aint displacement, Count target_count, MPI_Datatype target_type, MPI_Win win, MPI_Request* request) {
  return on_window(
      "MPI_Rput", win,
      [&](window& on) {
        check_passive("MPI_Rput", on, rank, request);
        put("MPI_Rput", on, {origin, origin_count, origin_type}, {rank, displacement, target_count, target_type});
        *request = drop_in::running()->requests().make(on, rank);
      },
      native_call, origin, origin_count, origin_type, rank, displacement, target_count, target_type, win, request);
}

template <class Native, class Count>
int call_rget(Native& native_call, void* origin, Count origin_count, MPI_Datatype origin_type, int rank,
              MPI_Aint displacement, Count target_count, MPI_Datatype target_type, MPI_Win win, MPI_Request* request) {
  return on_window(
      "MPI_Rget", win,
      [&](window& on) {
        check_passive("MPI_Rget", on, rank, request);
        get("MPI_Rget", on, {origin, origin_count, origin_type}, {rank, displacement, target_count, target_type});
        *request = drop_in::running()->requests().make(on, rank);
      },
      native_call, origin, origin_count, origin_type, rank, displacement, target_count, target_type, win, request);
}

template <class Native, class Count>
int call_raccumulate(Native& native_call, const void* origin, Count origin_count, MPI_Datatype origin_type, int rank,
                     MPI_Aint displacement, Count target_count, MPI_Datatype target_type, MPI_Op op, MPI_Win win,
                     MPI_Request* request) {
  return on_window(
      "MPI_Raccumulate", win,
      [&](window& on) {
        check_passive("MPI_Raccumulate", on, rank, request);
        accumulate("MPI_Raccumulate", on, {origin, origin_count, origin_type}, nullptr,
                   {rank, displacement, target_count, target_type}, op);
        *request = drop_in::running()->requests().make(on, rank);
      },
      native_call, origin, origin_count, origin_type, rank, displacement, target_count, target_type, op, win, request);
}

template <class Native, class Count>
int call_rget_accumulate(Native& native_call, const void* origin, Count origin_count, MPI_Datatype origin_type,
                         void* result, Count result_count, MPI_Datatype result_type, int rank, MPI_Aint displacement,
                         Count target_count, MPI_Datatype target_type, MPI_Op op, MPI_Win win, MPI_Request* request) {
  return on_window(
      "MPI_Rget_accumulate", win,
      [&](window& on) {
        check_passive("MPI_Rget_accumulate", on, rank, request);
        const origin_data into{result, result_count, result_type};
        accumulate("MPI_Rget_accumulate", on, {origin, origin_count, origin_type}, &into,
                   {rank, displacement, target_count, target_type}, op);
        *request = drop_in::running()->requests().make(on, rank);
      },
      native_call, origin, origin_count, origin_type, result, result_count, result_type, rank, displacement,
      target_count, target_type, op, win, request);
}

}  // namespace
}  // namespace amity::mpi

using namespace amity::mpi;

extern "C" {

int PMPI_Put(const void* origin, int origin_count, MPI_Datatype origin_type, int rank, MPI_Aint displacement,
             int target_count, MPI_Datatype target_type, MPI_Win win) {
  return call_put(native::put, origin, origin_count, origin_type, rank, displacement, target_count, target_type, win);
}

int PMPI_Get(void* origin, int origin_count, MPI_Datatype origin_type, int rank, MPI_Aint displacement,
             int target_count, MPI_Datatype target_type, MPI_Win win) {
  return call_get(native::get, origin, origin_count, origin_type, rank, displacement, target_count, target_type, win);
}

int PMPI_Accumulate(const void* origin, int origin_count, MPI_Datatype origin_type, int rank, MPI_Aint displacement,
                    int target_count, MPI_Datatype target_type, MPI_Op op, MPI_Win win) {
  return call_accumulate(native::accumulate, origin, origin_count, origin_type, rank, displacement, target_count,
                         target_type, op, win);
}

int PMPI_Get_accumulate(const void* origin, int origin_count, MPI_Datatype origin_type, void* result, int result_count,
                        MPI_Datatype result_type, int rank, MPI_Aint displacement, int target_count,
                        MPI_Datatype target_type, MPI_Op op, MPI_Win win) {
  return call_get_accumulate(native::get_accumulate, origin, origin_count, origin_type, result, result_count,
                             result_type, rank, displacement, target_count, target_type, op, win);
}

int PMPI_Rput(const void* origin, int origin_count, MPI_Datatype origin_type, int rank, MPI_Aint displacement,
              int target_count, MPI_Datatype target_type, MPI_Win win, MPI_Request* request) {
  return call_rput(native::rput, origin, origin_count, origin_type, rank, displacement, target_count, target_type, win,
                   request);
}

int PMPI_Rget(void* origin, int origin_count, MPI_Datatype origin_type, int rank, MPI_Aint displacement,
              int target_count, MPI_Datatype target_type, MPI_Win win, MPI_Request* request) {
  return call_rget(native::rget, origin, origin_count, origin_type, rank, displacement, target_count, target_type, win,
                   request);
}

int PMPI_Raccumulate(const void* origin, int origin_count, MPI_Datatype origin_type, int rank, MPI_Aint displacement,
                     int target_count, MPI_Datatype target_type, MPI_Op op, MPI_Win win, MPI_Request* request) {
  return call_raccumulate(native::raccumulate, origin, origin_count, origin_type, rank, displacement, target_count,
                          target_type, op, win, request);
}

int PMPI_Rget_accumulate(const void* origin, int origin_count, MPI_Datatype origin_type, void* result, int result_count,
                         MPI_Datatype result_type, int rank, MPI_Aint displacement, int target_count,
                         MPI_Datatype target_type, MPI_Op op, MPI_Win win, MPI_Request* request) {
  return call_rget_accumulate(native::rget_accumulate, origin, origin_count, origin_type, result, result_count,
                              result_type, rank, displacement, target_count, target_type, op, win, request);
}

int PMPI_Fetch_and_op(const void* origin, void* result, MPI_Datatype type, int rank, MPI_Aint displacement, MPI_Op op,
                      MPI_Win win) {
  return on_window(
      "MPI_Fetch_and_op", win,
      [&](window& on) {
        fetch_and_op("MPI_Fetch_and_op", on, origin, result, {rank, displacement, 1, type}, op);
      },
      native::fetch_and_op, origin, result, type, rank, displacement, op, win);
}

int PMPI_Compare_and_swap(const void* origin, const void* compare, void* result, MPI_Datatype type, int rank,
                          MPI_Aint displacement, MPI_Win win) {
  return on_window(
      "MPI_Compare_and_swap", win,
      [&](window& on) {
        compare_and_swap("MPI_Compare_and_swap", on, origin, compare, result, {rank, displacement, 1, type});
      },
      native::compare_and_swap, origin, compare, result, type, rank, displacement, win);
}

#if MPI_VERSION >= 4

int PMPI_Put_c(const void* origin, MPI_Count origin_count, MPI_Datatype origin_type, int rank, MPI_Aint displacement,
               MPI_Count target_count, MPI_Datatype target_type, MPI_Win win) {
  return call_put(native::put_c, origin, origin_count, origin_type, rank, displacement, target_count, target_type, win);
}

int PMPI_Get_c(void* origin, MPI_Count origin_count, MPI_Datatype origin_type, int rank, MPI_Aint displacement,
               MPI_Count target_count, MPI_Datatype target_type, MPI_Win win) {
  return call_get(native::get_c, origin, origin_count, origin_type, rank, displacement, target_count, target_type, win);
}

int PMPI_Accumulate_c(const void* origin, MPI_Count origin_count, MPI_Datatype origin_type, int rank,
                      MPI_Aint displacement, MPI_Count target_count, MPI_Datatype target_type, MPI_Op op, MPI_Win win) {
  return call_accumulate(native::accumulate_c, origin, origin_count, origin_type, rank, displacement, target_count,
                         target_type, op, win);
}

int PMPI_Get_accumulate_c(const void* origin, MPI_Count origin_count, MPI_Datatype origin_type, void* result,
                          MPI_Count result_count, MPI_Datatype result_type, int rank, MPI_Aint displacement,
                          MPI_Count target_count, MPI_Datatype target_type, MPI_Op op, MPI_Win win) {
  return call_get_accumulate(native::get_accumulate_c, origin, origin_count, origin_type, result, result_count,
                             result_type, rank, displacement, target_count, target_type, op, win);
}

int PMPI_Rput_c(const void* origin, MPI_Count origin_count, MPI_Datatype origin_type, int rank, MPI_Aint displacement,
                MPI_Count target_count, MPI_Datatype target_type, MPI_Win win, MPI_Request* request) {
  return call_rput(native::rput_c, origin, origin_count, origin_type, rank, displacement, target_count, target_type,
                   win, request);
}

int PMPI_Rget_c(void* origin, MPI_Count origin_count, MPI_Datatype origin_type, int rank, MPI_Aint displacement,
                MPI_Count target_count, MPI_Datatype target_type, MPI_Win win, MPI_Request* request) {
  return call_rget(native::rget_c, origin, origin_count, origin_type, rank, displacement, target_count, target_type,
                   win, request);
}

int PMPI_Raccumulate_c(const void* origin, MPI_Count origin_count, MPI_Datatype origin_type, int rank,
                       MPI_Aint displacement, MPI_Count target_count, MPI_Datatype target_type, MPI_Op op, MPI_Win win,
                       MPI_Request* request) {
  return call_raccumulate(native::raccumulate_c, origin, origin_count, origin_type, rank, displacement, target_count,
                          target_type, op, win, request);
}

int PMPI_Rget_accumulate_c(const void* origin, MPI_Count origin_count, MPI_Datatype origin_type, void* result,
                           MPI_Count result_count, MPI_Datatype result_type, int rank, MPI_Aint displacement,
                           MPI_Count target_count, MPI_Datatype target_type, MPI_Op op, MPI_Win win,
                           MPI_Request* request) {
  return call_rget_accumulate(native::rget_accumulate_c, origin, origin_count, origin_type, result, result_count,
                              result_type, rank, displacement, target_count, target_type, op, win, request);
}

#endif

}  // extern "C"

AMITY_MPI_EXPORT(Put)
AMITY_MPI_EXPORT(Get)
AMITY_MPI_EXPORT(Accumulate)
AMITY_MPI_EXPORT(Get_accumulate)
AMITY_MPI_EXPORT(Rput)
AMITY_MPI_EXPORT(Rget)
AMITY_MPI_EXPORT(Raccumulate)
AMITY_MPI_EXPORT(Rget_accumulate)
AMITY_MPI_EXPORT(Fetch_and_op)
AMITY_MPI_EXPORT(Compare_and_swap)
#if MPI_VERSION >= 4
AMITY_MPI_EXPORT(Put_c)
AMITY_MPI_EXPORT(Get_c)
AMITY_MPI_EXPORT(Accumulate_c)
AMITY_MPI_EXPORT(Get_accumulate_c)
AMITY_MPI_EXPORT(Rput_c)
AMITY_MPI_EXPORT(Rget_c)
AMITY_MPI_EXPORT(Raccumulate_c)
AMITY_MPI_EXPORT(Rget_accumulate_c)
#endif
