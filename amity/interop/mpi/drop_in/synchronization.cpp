/// Functions of MPI that synchronize windows. (MPI-3.1, section 11.5.)

#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "amity/interop/mpi/drop_in/calls.hpp"
#include "amity/interop/mpi/drop_in/mpi_error.hpp"
#include "amity/interop/mpi/drop_in/pointer_checks.hpp"
#include "amity/window/options.hpp"

namespace amity::mpi {
namespace {

/// What each call may promise.
constexpr int fence_promises = MPI_MODE_NOSTORE | MPI_MODE_NOPUT | MPI_MODE_NOPRECEDE | MPI_MODE_NOSUCCEED;
constexpr int post_promises = MPI_MODE_NOCHECK | MPI_MODE_NOSTORE | MPI_MODE_NOPUT;

window_assert promises(int given, int permitted) {
  if (given == 0) [[likely]]
    return window_assert::none;
  if ((given & ~permitted) != 0) {
    throw mpi_error(MPI_ERR_ASSERT, fmt::format("an assertion of {:#x}", given),
                    fmt::format("combine values that make no other bits than {:#x}", permitted));
  }
  constexpr std::array<std::pair<int, window_assert>, 5> all{{{MPI_MODE_NOCHECK, window_assert::no_check},
                                                              {MPI_MODE_NOSTORE, window_assert::no_store},
                                                              {MPI_MODE_NOPUT, window_assert::no_put},
                                                              {MPI_MODE_NOPRECEDE, window_assert::no_precede},
                                                              {MPI_MODE_NOSUCCEED, window_assert::no_succeed}}};
  window_assert promised = window_assert::none;
  for (const auto& [bit, what] : all) {
    if ((given & bit) != 0) promised = promised | what;
  }
  return promised;
}

lock_kind kind_of(int type) {
  if (type == MPI_LOCK_SHARED) return lock_kind::shared;
  if (type == MPI_LOCK_EXCLUSIVE) return lock_kind::exclusive;
  throw mpi_error(MPI_ERR_LOCKTYPE, fmt::format("a lock of type {}", type),
                  "pass MPI_LOCK_SHARED or MPI_LOCK_EXCLUSIVE");
}

/// Most calls of MPI_Win_flush_local have nothing to do, and do not look at the rank.
void check_member(const window& on, int rank) {
  if (rank >= 0 && rank < on.size()) [[likely]]
    return;
  throw mpi_error(MPI_ERR_RANK, fmt::format("rank {}", rank),
                  fmt::format("pass a rank from 0 to {}, or MPI_PROC_NULL", on.size() - 1));
}

/// As `on_window`. A loop of calls that have nothing to do serves other processes.
template <class Serve, class Native, class... Arguments>
int synchronize(std::string_view call, MPI_Win handle, Serve&& serve, Native& native_call, Arguments... arguments) {
  return on_window(
      call, handle,
      [&](window& on) {
        drop_in::running()->make_progress_sometimes();
        serve(on);
      },
      native_call, arguments...);
}

}  // namespace
}  // namespace amity::mpi

using namespace amity::mpi;

extern "C" {

int PMPI_Win_fence(int assertion, MPI_Win win) {
  return synchronize(
      "MPI_Win_fence", win, [&](window& on) { on.core().fence(promises(assertion, fence_promises)); },
      native::win_fence, assertion, win);
}

int PMPI_Win_start(MPI_Group group, int assertion, MPI_Win win) {
  return synchronize(
      "MPI_Win_start", win,
      [&](window& on) {
        const auto promised = promises(assertion, MPI_MODE_NOCHECK);
        on.core().start(on.members_of(group), promised);
      },
      native::win_start, group, assertion, win);
}

int PMPI_Win_complete(MPI_Win win) {
  return synchronize(
      "MPI_Win_complete", win, [](window& on) { on.core().complete(); }, native::win_complete, win);
}

int PMPI_Win_post(MPI_Group group, int assertion, MPI_Win win) {
  return synchronize(
      "MPI_Win_post", win,
      [&](window& on) {
        const auto promised = promises(assertion, post_promises);
        on.core().post(on.members_of(group), promised);
      },
      native::win_post, group, assertion, win);
}

int PMPI_Win_wait(MPI_Win win) {
  return synchronize(
      "MPI_Win_wait", win, [](window& on) { on.core().wait(); }, native::win_wait, win);
}

int PMPI_Win_test(MPI_Win win, int* flag) {
  return synchronize(
      "MPI_Win_test", win,
      [&](window& on) {
        check_pointer(flag, "flag");
        *flag = on.core().test() ? 1 : 0;
      },
      native::win_test, win, flag);
}

int PMPI_Win_lock(int type, int rank, int assertion, MPI_Win win) {
  return synchronize(
      "MPI_Win_lock", win,
      [&](window& on) {
        const auto kind = kind_of(type);
        const auto promised = promises(assertion, MPI_MODE_NOCHECK);
        if (rank != MPI_PROC_NULL) on.core().lock(kind, rank, promised);
      },
      native::win_lock, type, rank, assertion, win);
}

int PMPI_Win_unlock(int rank, MPI_Win win) {
  return synchronize(
      "MPI_Win_unlock", win,
      [&](window& on) {
        if (rank != MPI_PROC_NULL) on.core().unlock(rank);
      },
      native::win_unlock, rank, win);
}

int PMPI_Win_lock_all(int assertion, MPI_Win win) {
  return synchronize(
      "MPI_Win_lock_all", win, [&](window& on) { on.core().lock_all(promises(assertion, MPI_MODE_NOCHECK)); },
      native::win_lock_all, assertion, win);
}

int PMPI_Win_unlock_all(MPI_Win win) {
  return synchronize(
      "MPI_Win_unlock_all", win, [](window& on) { on.core().unlock_all(); }, native::win_unlock_all, win);
}

int PMPI_Win_flush(int rank, MPI_Win win) {
  return synchronize(
      "MPI_Win_flush", win,
      [&](window& on) {
        if (rank != MPI_PROC_NULL) on.core().flush(rank);
      },
      native::win_flush, rank, win);
}

int PMPI_Win_flush_all(MPI_Win win) {
  return synchronize(
      "MPI_Win_flush_all", win, [](window& on) { on.core().flush_all(); }, native::win_flush_all, win);
}

int PMPI_Win_flush_local(int rank, MPI_Win win) {
  return synchronize(
      "MPI_Win_flush_local", win,
      [&](window& on) {
        if (rank == MPI_PROC_NULL) return;
        check_member(on, rank);
        on.core().flush_local(rank);
      },
      native::win_flush_local, rank, win);
}

int PMPI_Win_flush_local_all(MPI_Win win) {
  return synchronize(
      "MPI_Win_flush_local_all", win, [](window& on) { on.core().flush_local_all(); }, native::win_flush_local_all,
      win);
}

int PMPI_Win_sync(MPI_Win win) {
  return synchronize(
      "MPI_Win_sync", win, [](window& on) { on.core().sync(); }, native::win_sync, win);
}

}  // extern "C"

AMITY_MPI_EXPORT(Win_fence)
AMITY_MPI_EXPORT(Win_start)
AMITY_MPI_EXPORT(Win_complete)
AMITY_MPI_EXPORT(Win_post)
AMITY_MPI_EXPORT(Win_wait)
AMITY_MPI_EXPORT(Win_test)
AMITY_MPI_EXPORT(Win_lock)
AMITY_MPI_EXPORT(Win_unlock)
AMITY_MPI_EXPORT(Win_lock_all)
AMITY_MPI_EXPORT(Win_unlock_all)
AMITY_MPI_EXPORT(Win_flush)
AMITY_MPI_EXPORT(Win_flush_all)
AMITY_MPI_EXPORT(Win_flush_local)
AMITY_MPI_EXPORT(Win_flush_local_all)
AMITY_MPI_EXPORT(Win_sync)
