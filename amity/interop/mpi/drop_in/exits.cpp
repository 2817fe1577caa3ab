/// Ends of the process without MPI_Finalize. MPICH's launcher takes a status of 0 for success, although operations of
/// an epoch are lost and other processes may wait for its end.

#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>

#include "amity/base/log.hpp"
#include "amity/interop/mpi/drop_in/calls.hpp"

namespace amity::mpi {
namespace {

/// The status that the process ends with when `call` gets this one.
int checked_status(std::string_view call, int status) noexcept {
  constexpr int seen_by_parent = 0xff;
  drop_in* const own = drop_in::running();
  if (own == nullptr || (status & seen_by_parent) != 0) return status;
  const std::optional<std::string> mistake = own->find_open_epoch(call);
  if (!mistake) return status;
  std::fprintf(stderr, "%s\n", mistake->c_str());
  drain_standard_error();
  return EXIT_FAILURE;
}

[[noreturn]] void end_process(int status) noexcept {
  for (;;) ::syscall(SYS_exit_group, status);
}

/// For `exit` and `quick_exit`, which end the process with `status` otherwise.
void end_if_wrong(std::string_view call, int status) noexcept {
  const int checked = checked_status(call, status);
  if (checked == status) return;
  std::fflush(nullptr);
  end_process(checked);
}

/// When the library is loaded: functions that the program registers later, and destructors, are called before these.
/// They may end epochs, and MPI.
[[gnu::constructor]] void watch_exits() {
  ::on_exit([](int status, void*) { end_if_wrong("exit before MPI_Finalize", status); }, nullptr);
  ::at_quick_exit([] { end_if_wrong("quick_exit before MPI_Finalize", EXIT_SUCCESS); });
}

}  // namespace
}  // namespace amity::mpi

using namespace amity::mpi;

// Those of the C library are not called: they do the same.
extern "C" {

[[gnu::visibility("default")]] void _exit(int status) {
  end_process(checked_status("_exit before MPI_Finalize", status));
}

[[gnu::visibility("default")]] void _Exit(int status) noexcept {
  end_process(checked_status("_Exit before MPI_Finalize", status));
}

}  // extern "C"
