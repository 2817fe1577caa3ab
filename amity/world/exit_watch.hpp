#pragma once

/// Notices that a process exits before the programs of its ranks have returned.
///
/// `exit` and `quick_exit` end all threads of the process: its ranks leave neither their epochs nor the job, and with
/// status 0 the job would look successful. The watch reports the call, ends the job, and ends the process with an error
/// status. `_exit` calls no function of the process: only a launcher notices it.

#include <cstddef>
#include <functional>
#include <thread>
#include <unordered_set>

#include "amity/base/types.hpp"

namespace amity::detail {

/// Several watches may exist at the same time. A process that a rank has forked may exit.
class exit_watch : private immovable {
 public:
  /// Names the rank that the calling thread or fiber runs while the object exists.
  class runner : private immovable {
   public:
    /// `watch` must outlive the object.
    runner(exit_watch& watch, rank_t rank);
    ~runner();

   private:
    friend class exit_watch;

    exit_watch& watch_;
    rank_t rank_;
    std::thread::id thread_;
    const std::byte* frame_;  ///< where this thread or fiber has its stack
  };

  /// From now on an exit calls `end_job` with the status of the job, before the process ends with it. `end_job` informs
  /// the other processes of the job, and must not throw. An exit for which `is_foreign` returns true is left alone.
  explicit exit_watch(
      std::function<void(int status)> end_job, std::function<bool()> is_foreign = [] { return false; });
  ~exit_watch();

 private:
  static void on_exit(int status, void*) noexcept;
  static void on_quick_exit() noexcept;
  static void handle(const char* call, int status) noexcept;
  static void register_functions() noexcept;
  const runner* runner_here() const noexcept;
  const runner* only_runner() const noexcept;

  std::function<void(int)> end_job_;
  std::function<bool()> is_foreign_;
  exit_watch* older_;
  std::unordered_set<const runner*> runners_;
};

}  // namespace amity::detail
