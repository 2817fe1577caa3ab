#pragma once

/// The endpoints of one world on one rank, one for each thread, and the threads that use them.
///
/// The worlds of a rank share its threads: a further world has an endpoint on each of them, made and ended there.

#include <atomic>
#include <memory>
#include <vector>

#include "amity/base/function_ref.hpp"
#include "amity/base/settings.hpp"
#include "amity/core/crew.hpp"
#include "amity/core/endpoint.hpp"
#include "amity/core/packet_header.hpp"
#include "amity/fabric/fabric.hpp"

namespace amity::core {

class rank_list;

/// How many threads each rank has with these settings, the progress thread among them.
rank_t threads_per_rank(const settings& config);

class team {
 public:
  /// Of the job's own world, for a rank of so many threads.
  explicit team(rank_t threads);
  /// Of the world `number` of `members`, ranks of the job in the order of the new ones, on the threads of `beside`.
  /// Thread 0, outside handlers.
  team(team& beside, world_number number, const rank_list& members, const settings& config);
  ~team();
  team(const team&) = delete;
  team& operator=(const team&) = delete;

  rank_t size() const noexcept { return crew_->size(); }
  endpoint& lane(rank_t thread) noexcept { return *lanes_[static_cast<std::size_t>(thread)].own; }
  crew& threads() noexcept { return *crew_; }
  /// As of the crew.
  void run(function_ref<void(rank_t)> work) { crew_->run(work); }
  /// For destructors, as of the crew; an exception on its way out of an epoch of this world ends the job.
  bool try_run(function_ref<void(rank_t)> work) noexcept;

  /// The job's own world: makes the endpoint of the calling thread. It lives until all threads have left.
  endpoint& enter(fabric::fabric& transport, const settings& config);
  /// Called once by each thread that has entered, when it has done with its fabric, which may then go.
  void leave(rank_t thread) noexcept;

 private:
  struct place {
    std::unique_ptr<sub_fabric> road;  ///< null in the job's own world
    std::unique_ptr<endpoint> own;
  };

  std::shared_ptr<crew> crew_;  ///< shared by the worlds of the rank, which may outlive the job's own
  std::vector<place> lanes_;
  std::atomic<rank_t> left_ = 0;
};

}  // namespace amity::core
