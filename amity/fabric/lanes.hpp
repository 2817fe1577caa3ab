#pragma once

/// A process that is several ranks of its fabric, called lanes, each on a thread of its own.
///
/// What the lanes have in common is made once, by one thread; each fabric is made, used and ended by the thread whose
/// it is, so that fabrics need no locks.

#include <functional>
#include <memory>

#include "amity/base/types.hpp"
#include "amity/fabric/fabric.hpp"

namespace amity::fabric {

/// The lanes of this process, in a job whose processes have equally many: lane i of process p is rank p * count + i.
class lanes {
 public:
  virtual ~lanes() = default;

  virtual rank_t count() const noexcept = 0;

  /// The fabric of one lane, which may live longer than this object. Called once for each, by the thread that will use
  /// it. Collective over all lanes of the job. Throws `error`.
  virtual std::unique_ptr<fabric> enter(rank_t thread) = 0;

  /// The lanes of this process do not wait for anything any more: they throw `job_aborted`. Others may hear of it. From
  /// any thread, at any time.
  virtual void abort() noexcept = 0;
};

/// Runs `body` on `count` threads of this process, on the calling one for thread 0, and returns when all have ended:
/// the first status that is not 0, or 0. The first exception is rethrown, before any `job_aborted`, which follows from
/// another failure. `give_up` is called for each thread that fails; it makes the others end. Throws `error` where there
/// can be no more threads.
int run_on_threads(rank_t count, const std::function<int(rank_t)>& body, const std::function<void()>& give_up);

/// Runs `lane_main` on each lane; a failure of one ends the job. Ends as `run_on_threads` does.
int run_lanes(lanes& own, const std::function<int(fabric&)>& lane_main);

}  // namespace amity::fabric
