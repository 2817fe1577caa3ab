/// Ends of the process with status 0 in an epoch, before MPI_Finalize. The launcher of MPICH reports success then,
/// although operations are lost and other processes may wait for the end of the epoch.

#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cstdlib>

#include <fmt/format.h>

#include "amity/base/log.hpp"
#include "amity/interop/mpi/drop_in/calls.hpp"

namespace amity::mpi {
namespace {

/// The status that the process ends with if `call` gets this one. Prints an error if it changes the status. A signal
/// handler may call it.
int checked_status(const char* call, int status) noexcept {
  constexpr int seen_by_parent = 0xff;
  drop_in* const running = drop_in::running();
  if (running == nullptr || (status & seen_by_parent) != 0) return status;
  const window* const open = running->find_open_epoch();
  if (open == nullptr) return status;
  std::array<char, 512> line{};
  const auto text = fmt::format_to_n(line.data(), line.size() - 1,
                                     "amity: {} (rank {}): called with status 0 in an epoch of window '{}', before "
                                     "MPI_Finalize; end the epoch, and call MPI_Finalize",
                                     call, running->own_job().world().rank(), open->name());
  *text.out = '\n';
  [[maybe_unused]] const auto written =
      ::write(STDERR_FILENO, line.data(), static_cast<std::size_t>(text.out - line.data()) + 1);
  drain_standard_error();
  return EXIT_FAILURE;
}

/// Registered when the library is loaded: `exit` calls functions that the program registers, and its destructors,
/// before this one. They may end epochs, and MPI.
[[gnu::constructor]] void watch_exit() {
  ::on_exit(
      [](int status, void*) {
        const int checked = checked_status("exit", status);
        if (checked != status) std::exit(checked);  // the C library goes on with this status
      },
      nullptr);
}

[[noreturn]] void end_process(int status) noexcept {
  for (;;) ::syscall(SYS_exit_group, status);
}

}  // namespace
}  // namespace amity::mpi

using namespace amity::mpi;

// They replace the functions of the C library, which do the same with an unchecked status.
extern "C" {

[[gnu::visibility("default")]] void _exit(int status) { end_process(checked_status("_exit", status)); }

[[gnu::visibility("default")]] void _Exit(int status) noexcept { end_process(checked_status("_Exit", status)); }

}  // extern "C"
