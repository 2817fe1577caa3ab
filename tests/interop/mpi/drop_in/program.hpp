#pragma once

/// What programs of these tests share. A program is a plain MPI program: it runs with the drop-in library and without.

#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <mpi.h>

namespace program {

/// What the process does, for the message of a check or of a hang.
inline std::atomic<const char*> step = "MPI_Init";

inline int rank() {
  int value = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &value);
  return value;
}

inline int size() {
  int value = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &value);
  return value;
}

[[noreturn]] inline void fail(const char* file, int line, const char* condition) {
  std::fprintf(stderr, "%s:%d: rank %d, %s: not so: %s\n", file, line, rank(), step.load(), condition);
  MPI_Abort(MPI_COMM_WORLD, 1);
  std::abort();
}

/// MPICH 4.0 confuses the memory of smaller windows that it allocates.
constexpr MPI_Aint bytes_min = 8192;

inline int next() { return (rank() + 1) % size(); }
inline int previous() { return (rank() + size() - 1) % size(); }

/// The class of an error code.
inline int class_of(int code) {
  int result = -1;
  MPI_Error_class(code, &result);
  return result;
}

/// From now on, a process that hangs ends the job and names its step.
inline void watch(unsigned seconds) {
  std::signal(SIGALRM, [](int) {
    const char* const name = step.load();
    const auto write_out = [](const char* text) {
      if (::write(STDERR_FILENO, text, std::strlen(text)) < 0) std::_Exit(3);
    };
    write_out("hangs in ");
    write_out(name);
    write_out("\n");
    std::_Exit(2);
  });
  ::alarm(seconds);
}

}  // namespace program

#define CHECK(condition) \
  if (!(condition)) program::fail(__FILE__, __LINE__, #condition)
