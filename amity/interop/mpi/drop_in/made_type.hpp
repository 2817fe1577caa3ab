#pragma once

/// A data type that this library has made, or a predefined one.

#include <utility>

#include <mpi.h>

#include "amity/interop/mpi/drop_in/native.hpp"

namespace amity::mpi {

/// Owns a handle: a type that is not predefined is freed at the end, while MPI must be initialized. Empty after a move.
class made_type {
 public:
  /// Whether the MPI frees the type only in MPI_Finalize.
  enum class lifetime { owned, predefined };

  made_type(MPI_Datatype handle, lifetime of) noexcept : handle_(handle), is_owned_(of == lifetime::owned) {}
  made_type(made_type&& other) noexcept
      : handle_(std::exchange(other.handle_, MPI_DATATYPE_NULL)), is_owned_(std::exchange(other.is_owned_, false)) {}
  made_type& operator=(made_type&& other) noexcept {
    std::swap(handle_, other.handle_);
    std::swap(is_owned_, other.is_owned_);
    return *this;
  }
  ~made_type() {
    if (is_owned_) native::type_free(&handle_);
  }

  MPI_Datatype get() const noexcept { return handle_; }
  /// Predefined types are committed. Throws `mpi_error` if the MPI fails.
  void commit() {
    if (is_owned_) check_native(native::type_commit(&handle_), "MPI_Type_commit");
  }

 private:
  MPI_Datatype handle_;
  bool is_owned_;
};

}  // namespace amity::mpi
