#pragma once

/// What programs with active messages share.

#include <cstddef>
#include <vector>

#include <mpi.h>

#include "amity/interop/mpi/mpix_am.h"
#include "program.hpp"

namespace program {

/// A window with so many elements on each process, 0 at first. Errors are returned.
template <class Type>
class message_window {
 public:
  explicit message_window(MPI_Aint count, MPI_Info info = MPI_INFO_NULL) {
    MPI_Win_allocate(bytes_of<Type>(count), sizeof(Type), info, MPI_COMM_WORLD, &base_, &win_);
    MPI_Win_set_errhandler(win_, MPI_ERRORS_RETURN);
    for (MPI_Aint i = 0; i < count; ++i) base_[i] = Type();
    MPI_Barrier(MPI_COMM_WORLD);
  }
  ~message_window() {
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_free(&win_);
  }
  message_window(const message_window&) = delete;
  message_window& operator=(const message_window&) = delete;

  MPI_Win win() const { return win_; }
  Type* data() const { return base_; }

 private:
  MPI_Win win_ = MPI_WIN_NULL;
  Type* base_ = nullptr;
};

/// Memory of this process for messages, attached until the end.
class attached_buffer {
 public:
  attached_buffer(std::size_t bytes, MPI_Win win) : bytes_(bytes), win_(win) {
    CHECK(MPIX_Am_win_buffer_attach(bytes_.data(), static_cast<MPI_Aint>(bytes), win) == MPI_SUCCESS);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  ~attached_buffer() {
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(MPIX_Am_win_buffer_detach(bytes_.data(), win_) == MPI_SUCCESS);
  }
  attached_buffer(const attached_buffer&) = delete;
  attached_buffer& operator=(const attached_buffer&) = delete;

 private:
  std::vector<char> bytes_;
  MPI_Win win_;
};

inline MPIX_Am_op make_operation(MPIX_Am_user_function* handler) {
  MPIX_Am_op made = MPIX_AM_OP_NULL;
  CHECK(MPIX_Am_op_create(handler, MPI_COMM_WORLD, &made) == MPI_SUCCESS);
  return made;
}

inline MPIX_Am_op make_vector_operation(MPIX_Amv_user_function* handler) {
  MPIX_Am_op made = MPIX_AM_OP_NULL;
  CHECK(MPIX_Amv_op_create(handler, MPI_COMM_WORLD, &made) == MPI_SUCCESS);
  return made;
}

inline MPIX_Am_counters counters_of(MPI_Win win, int target) {
  MPIX_Am_counters counters{};
  CHECK(MPIX_Am_win_get_counters(win, target, &counters) == MPI_SUCCESS);
  return counters;
}

}  // namespace program
