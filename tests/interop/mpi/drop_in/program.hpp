#pragma once

/// What programs of these tests share. A program is a plain MPI program: it runs with the drop-in library and without.

#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

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
/// The least memory of windows that `filled_window` and `bytes_of` make.
inline MPI_Aint window_bytes_min = 0;
template <class Type>
MPI_Aint bytes_of(MPI_Aint count = 1) {
  const auto bytes = count * static_cast<MPI_Aint>(sizeof(Type));
  return bytes < window_bytes_min ? window_bytes_min : bytes;
}

inline int next() { return (rank() + 1) % size(); }
inline int previous() { return (rank() + size() - 1) % size(); }

/// The address of a place at the next process, in its address space. Collective.
inline MPI_Aint address_at_next(const void* own) {
  MPI_Aint mine = 0, there = 0;
  MPI_Get_address(own, &mine);
  MPI_Sendrecv(&mine, 1, MPI_AINT, previous(), 0, &there, 1, MPI_AINT, next(), 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return there;
}

inline MPI_Group group_of(const std::vector<int>& ranks) {
  MPI_Group world = MPI_GROUP_NULL, made = MPI_GROUP_NULL;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_incl(world, static_cast<int>(ranks.size()), ranks.data(), &made);
  MPI_Group_free(&world);
  return made;
}

/// The class of an error code.
inline int class_of(int code) {
  int result = -1;
  MPI_Error_class(code, &result);
  return result;
}

/// The string of an error code.
inline std::string text_of(int code) {
  std::string text(MPI_MAX_ERROR_STRING, '\0');
  int length = 0;
  MPI_Error_string(code, text.data(), &length);
  text.resize(static_cast<std::size_t>(length));
  return text;
}

inline bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

/// What `act()` prints to standard error.
template <class Act>
std::string printed_by(Act act) {
  std::FILE* const file = std::tmpfile();
  const int standard_error = ::dup(STDERR_FILENO);
  ::dup2(::fileno(file), STDERR_FILENO);
  act();
  ::dup2(standard_error, STDERR_FILENO);
  ::close(standard_error);
  std::string text(4096, '\0');
  std::rewind(file);
  text.resize(std::fread(text.data(), 1, text.size(), file));
  std::fclose(file);
  return text;
}

/// How often a case is repeated: so often in `scripts/test long`, which sets LONG_TESTS, and else 2 of 5 times.
inline int rounds(int all) { return std::getenv("LONG_TESTS") != nullptr ? all : all * 2 / 5; }

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

/// MPI, from here to the end of `main`. A job that takes so many seconds ends, and names its step.
class session {
 public:
  /// job_test.py waits a little longer for the job.
  static constexpr unsigned seconds_max = 80;

  session(int& argc, char**& argv, unsigned seconds = seconds_max) {
    watch(seconds);
    MPI_Init(&argc, &argv);
  }
  session(int& argc, char**& argv, unsigned seconds, int level) {
    watch(seconds);
    MPI_Init_thread(&argc, &argv, level, &level_);
  }
  ~session() {
    step = "MPI_Finalize";
    MPI_Finalize();
  }
  session(const session&) = delete;
  session& operator=(const session&) = delete;

  /// The level of threads that the MPI provides.
  int level() const { return level_; }

 private:
  int level_ = MPI_THREAD_SINGLE;
};

/// Whether the first argument is the level of threads "multiple".
inline bool wants_threads(int argc, char** argv) { return argc > 1 && std::string_view(argv[1]) == "multiple"; }

}  // namespace program

#define CHECK(condition) \
  if (!(condition)) program::fail(__FILE__, __LINE__, #condition)

namespace program {

/// The cases of a program. Its arguments name cases that are left out: "swaps", or "swaps:created" for one flavor of
/// windows. With the argument `large_windows`, windows have `bytes_min` at least.
class cases {
 public:
  cases(int argc, char** argv) : left_out_(argv + 1, argv + argc), known_(left_out_.size(), false) {
    if (leave_out("large_windows")) window_bytes_min = bytes_min;
  }

  /// Whether an argument is this word.
  bool leave_out(std::string_view word) {
    bool found = false;
    for (std::size_t i = 0; i < left_out_.size(); ++i) {
      if (left_out_[i] != word) continue;
      found = known_[i] = true;
    }
    return found;
  }

  void run(std::string_view name, void (*function)()) {
    if (!leave_out(name)) function();
  }
  void run(std::string_view name, std::string_view flavor, void (*function)(std::string_view)) {
    const bool in_one = leave_out(std::string(name) + ":" + std::string(flavor));
    if (!leave_out(name) && !in_one) function(flavor);
  }

  /// Fails if an argument has named no case.
  void end() {
    step = "arguments of the program";
    for (const bool is_known : known_) CHECK(is_known);
  }

 private:
  std::vector<std::string> left_out_;
  std::vector<bool> known_;
};

}  // namespace program
