#pragma once

/// The threads of one rank: thread 0 runs the rank's program and gives the others work; each has an endpoint of its
/// own.
///
/// Threads share no state of the runtime and need no lock: what one sends to another travels through the fabric, as
/// between ranks. Between two pieces of work the other threads sleep. Whatever changes an endpoint runs on its thread.

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "amity/base/settings.hpp"
#include "amity/core/endpoint.hpp"
#include "amity/fabric/fabric.hpp"

namespace amity::core {

/// How many threads each rank has with these settings, the progress thread among them.
rank_t threads_per_rank(const settings& config);

class team {
 public:
  explicit team(rank_t threads);
  ~team();
  team(const team&) = delete;
  team& operator=(const team&) = delete;

  rank_t size() const noexcept { return size_; }
  endpoint& lane(rank_t thread) noexcept { return *lanes_[static_cast<std::size_t>(thread)]; }

  /// Makes the endpoint of the calling thread. It lives until all threads have left.
  endpoint& enter(fabric::fabric& transport, const settings& config);
  /// As above, of a further world of a rank with one thread.
  endpoint& enter(sub_fabric& transport, const settings& config);
  /// Called once by each thread when it has done with its fabric, which may then go.
  void leave(rank_t thread) noexcept;

  /// Thread 0: returns when the others are ready for work.
  void assemble();
  /// Thread 0, outside handlers and epochs: runs `work(thread)` on every thread, and returns when all have done it.
  /// Where it throws, the job ends: the others leave their work at their next wait, and then the exception is rethrown.
  void run(const std::function<void(rank_t)>& work);
  /// Thread 0: lets the others go.
  void dismiss() noexcept;
  /// Whether the others take work. False before `assemble`, and from `dismiss` or a failure on.
  bool assembled() const noexcept { return assembled_; }

  /// The other threads: does what thread 0 asks for, until it lets them go.
  void serve(rank_t thread);

 private:
  void call(const std::function<void(rank_t)>* work);
  void wait_for_all();
  void await_departures();
  void done(rank_t thread);

  rank_t size_;
  std::vector<std::unique_ptr<endpoint>> lanes_;
  bool assembled_ = false;
  const std::function<void(rank_t)>* work_ = nullptr;  ///< null: go; written before `calls_` is
  std::atomic<std::uint64_t> calls_ = 0;
  std::atomic<rank_t> at_work_;  ///< threads that have not done what they were last asked for
  std::atomic<rank_t> serving_;  ///< threads that have not left `serve` yet
  std::atomic<rank_t> left_ = 0;
};

}  // namespace amity::core
