#pragma once

/// Amity inside an MPI program: the engine of this process, in a job of the processes of MPI_COMM_WORLD.

#include <memory>
#include <optional>
#include <string>

#include "amity/base/function_ref.hpp"
#include "amity/base/settings.hpp"
#include "amity/base/types.hpp"
#include "amity/core/endpoint.hpp"
#include "amity/core/progress_thread.hpp"
#include "amity/core/team.hpp"
#include "amity/fabric/fabric.hpp"
#include "amity/fabric/lanes.hpp"
#include "amity/interop/mpi/drop_in/bootstrap.hpp"
#include "amity/window/options.hpp"
#include "amity/world/transport.hpp"

namespace amity::mpi {

class job : private immovable {
 public:
  /// `threads`: several threads of the program may call at once. With AMITY_PROGRESS_THREAD=1, a further thread serves
  /// other ranks; it does not call the MPI. Collective over MPI_COMM_WORLD. Throws `error`.
  job(const settings& config, std::shared_ptr<bootstrap> start, bool threads);
  /// On the thread that has made it unless there are several.
  ~job();
  /// Returns when all processes have called it: none begins anything for others afterwards. Collective over
  /// MPI_COMM_WORLD.
  void meet_at_end();

  core::team& team() noexcept { return team_; }
  core::endpoint& world() noexcept { return world_; }
  rank_t size() const noexcept { return world_.size(); }
  /// The options that the settings determine.
  const window_options& options_of_windows() const noexcept { return options_of_windows_; }
  const std::string& fabric_name() const noexcept { return by_.fabric; }
  bool has_progress_thread() const noexcept { return progress_.has_value(); }
  /// Whether the calling thread is the progress thread, inside the engine.
  bool is_on_progress_thread() const noexcept { return on_progress_thread_; }

  /// Whether the job has failed. Then other processes may never call what this one waits for.
  bool has_failed();
  /// Throws the error that the job has failed with, if it has.
  void check();
  /// One round of progress, if no other thread makes it. Returns whether anything happened.
  bool progress();
  /// Waits for what the MPI does, and serves other ranks during that time. `is_done` asks the MPI, which may call
  /// functions of the program: this thread is not inside the engine then. It is not called again after it has returned
  /// true. `on_round` is called inside the engine, when something may have happened there.
  void wait_for(function_ref<bool()> is_done, function_ref<void()> on_round);
  void wait_for(function_ref<bool()> is_done) {
    wait_for(is_done, [] {});
  }

 private:
  window_options options_of_windows_;
  std::shared_ptr<bootstrap> start_;
  amity::detail::connection by_;
  bool on_progress_thread_ = false;  ///< the progress thread is inside the engine
  std::unique_ptr<fabric::lanes> lanes_;
  std::unique_ptr<fabric::fabric> transport_;
  std::unique_ptr<fabric::fabric> transport_with_mpi_;  ///< around it
  core::team team_{1};
  core::endpoint& world_;
  std::optional<core::progress_thread> progress_;  ///< ends before what it uses
};

}  // namespace amity::mpi
