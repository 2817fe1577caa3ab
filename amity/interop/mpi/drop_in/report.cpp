#include "amity/interop/mpi/drop_in/report.hpp"

#include <fmt/format.h>

#include "amity/base/log.hpp"
#include "amity/interop/mpi/drop_in/foreign_processes.hpp"
#include "amity/interop/mpi/drop_in/job.hpp"
#include "amity/interop/mpi/drop_in/native.hpp"

namespace amity::mpi {
namespace {

rank_t own_rank() {
  rank_t rank = no_rank;
  native::comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

}  // namespace

void report::leave_all_windows(std::string_view difference) {
  leaves_all_windows_ = true;
  if (own_rank() != 0) return;
  log_warning(no_rank,
              fmt::format("the MPI serves all windows of this job: {}; start the same library on processors of "
                          "the same type, or set AMITY_MPI=0",
                          difference));
}

void report::print_begin(const job& of) const {
  if (!is_wanted_ || own_rank() != 0) return;
  log_warning(no_rank,
              fmt::format("libamity-mpi {} serves the windows of this job (MPI: {}; fabric: {}; processes: {})",
                          AMITY_VERSION, version_of_mpi(), of.fabric_name(), of.size()));
}

void report::print_end() const {
  const std::size_t calls = native_calls_.load(std::memory_order_relaxed);
  if (!is_wanted_ && calls == 0) return;
  log_warning(own_rank(), fmt::format("one-sided calls passed to the MPI: {}", calls));
}

void report::count_native_window(std::string_view call, MPI_Comm comm) {
  if (leaves_all_windows_) return count_native_call();
  const int outside = foreign_processes::count_in(comm);
  if (outside == 0) return;  // the MPI refuses the communicator
  count_native_call();
  if (has_explained_.exchange(true, std::memory_order_relaxed)) return;
  log_warning(
      own_rank(),
      fmt::format("{}: the MPI serves this window and all others like it: {} of its processes are not in "
                  "MPI_COMM_WORLD (spawned or connected); create windows of processes of MPI_COMM_WORLD to use amity",
                  call, outside));
}

void report::warn_once(const std::string& text) {
  const std::lock_guard lock(mutex_);
  if (warnings_.insert(text).second) log_warning(own_rank(), text);
}

}  // namespace amity::mpi
