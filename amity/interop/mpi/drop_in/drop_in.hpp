#pragma once

/// The drop-in library of this process: between MPI_Init and MPI_Finalize, it serves the windows of the program.
/// Programs preload the library, or are linked with it: CMake's targets are amity::mpi_windows_openmpi and
/// amity::mpi_windows_mpich.
///
/// The functions of MPI have no parameter for it, so one pointer at namespace scope names it
/// (docs/decisions/0028-mpi-drop-in.md).

#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

#include <mpi.h>

#include "amity/base/settings.hpp"
#include "amity/base/types.hpp"
#include "amity/interop/mpi/drop_in/allocated_memory.hpp"
#include "amity/interop/mpi/drop_in/am_operations.hpp"
#include "amity/interop/mpi/drop_in/error_codes.hpp"
#include "amity/interop/mpi/drop_in/foreign_processes.hpp"
#include "amity/interop/mpi/drop_in/handle_pool.hpp"
#include "amity/interop/mpi/drop_in/job.hpp"
#include "amity/interop/mpi/drop_in/open_files.hpp"
#include "amity/interop/mpi/drop_in/report.hpp"
#include "amity/interop/mpi/drop_in/requests.hpp"
#include "amity/interop/mpi/drop_in/window_table.hpp"

namespace amity::mpi {

class drop_in : private immovable {
 public:
  /// The one of this process; null: MPI is not initialized, the library is switched off, or the MPI serves all windows
  /// of the job.
  static drop_in* running() noexcept { return running_now().load(std::memory_order_acquire); }
  /// The report of this process; null: MPI is not initialized, or the library is switched off.
  static report* reporting() noexcept;
  /// Whether AMITY_MPI=0 is set for this process.
  static bool is_switched_off() noexcept;
  /// The MPI has made a window. Prints why, once, if the program has not called MPI_Init, so that it uses a session.
  static void explain_window_of_session(std::string_view call);
  /// After MPI has been initialized with this level of threads. Collective over MPI_COMM_WORLD.
  static void start(int threads);
  /// Before MPI is finalized. Collective over MPI_COMM_WORLD. Ends windows that the program has left.
  static void end();
  /// The program has called MPI_Abort.
  static void note_abort() noexcept;
  /// A window that is in an epoch; null: none is, or the job ends for another reason, a handler runs, another thread
  /// stays inside, or this is a child of the process. A signal handler may call it.
  const window* find_open_epoch() noexcept;

  /// Whether several threads may call functions of MPI at once.
  bool has_threads() const noexcept { return has_threads_; }
  job& own_job() noexcept { return job_; }
  allocated_memory& memory() noexcept { return memory_; }
  handle_pool& handles() noexcept { return handles_; }
  window_table& windows() noexcept { return windows_; }
  am_operations& messages() noexcept { return messages_; }
  pending_requests& requests() noexcept { return requests_; }
  foreign_processes& foreigners() noexcept { return foreigners_; }
  open_files& files() noexcept { return files_; }
  error_codes& errors() noexcept { return errors_; }

  /// One round of progress for windows, if there are any. Every function of MPI that the program may call in a loop
  /// calls it.
  void make_progress() {
    if (windows_.size() == 0) return;
    job_.progress();
    requests_.complete_ready();
  }
  /// One call of 256 makes progress. For functions that take a few nanoseconds if they have nothing to do: programs
  /// repeat them until others have changed their memory.
  void make_progress_sometimes() { make_progress_each(256, short_calls_); }
  /// One call of 16 makes progress: all messages of a program may be there before it waits for them.
  void make_progress_after_short_wait() { make_progress_each(16, short_waits_); }

 private:
  drop_in(const settings& config, std::shared_ptr<bootstrap> start, int threads)
      : has_threads_(threads == MPI_THREAD_MULTIPLE),
        job_(config, std::move(start), threads >= MPI_THREAD_SERIALIZED) {}
  static std::atomic<drop_in*>& running_now() noexcept;
  void make_progress_each(std::uint32_t period, std::atomic<std::uint32_t>& calls) {
    const std::uint32_t count = calls.load(std::memory_order_relaxed) + 1;
    calls.store(count, std::memory_order_relaxed);  // calls of several threads can count as one
    if (count % period == 0) [[unlikely]]
      make_progress();
  }

  pid_t process_ = ::getpid();  ///< not a `process_mark`: children of vfork share its memory
  bool has_threads_;
  std::atomic<std::uint32_t> short_calls_ = 0;
  std::atomic<std::uint32_t> short_waits_ = 0;
  job job_;
  allocated_memory memory_{job_};
  handle_pool handles_;
  am_operations messages_{job_, has_threads_};
  window_table windows_;
  pending_requests requests_{job_};
  foreign_processes foreigners_;
  open_files files_;
  error_codes errors_;
};

}  // namespace amity::mpi
