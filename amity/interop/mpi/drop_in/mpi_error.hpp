#pragma once

/// Errors of one-sided calls, which go to an error handler of MPI.

#include <stdexcept>
#include <string_view>

#include <fmt/format.h>

namespace amity::mpi {

/// An error of an MPI program. The caller adds the name of the function and the rank. `what()` reads: "PROBLEM;
/// REMEDY".
class mpi_error : public std::runtime_error {
 public:
  mpi_error(int error_class, std::string_view problem, std::string_view remedy)
      : std::runtime_error(fmt::format("{}; {}", problem, remedy)), error_class_(error_class) {}

  /// One of MPI's classes: MPI_ERR_TYPE.
  int error_class() const noexcept { return error_class_; }

 private:
  int error_class_;
};

}  // namespace amity::mpi
