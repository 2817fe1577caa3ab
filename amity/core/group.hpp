#pragma once

/// A group: the members of a world or of a window as ranks of the job, and the thread of each member that receives.
///
/// A group turns the index of a member into a lane, the number that the fabric gives to a thread of a rank, in one
/// step, and back. It is a value without a state of communication. Each rank of the job has the same number of threads.

#include <utility>

#include "amity/base/types.hpp"
#include "amity/core/rank_list.hpp"

namespace amity::core {

class group {
 public:
  /// `members` has each rank of the job at most once. `thread` of each member receives; it is less than `threads`.
  group(rank_list members, rank_t threads, rank_t thread)
      : members_(std::move(members)), threads_(threads), thread_(thread) {}

  rank_t size() const noexcept { return members_.size(); }  ///< members
  rank_t threads() const noexcept { return threads_; }      ///< per rank

  /// Returns the rank in the job of `member`, which is less than `size()`.
  rank_t rank(rank_t member) const noexcept { return members_[member]; }
  /// Returns the lane of the thread of `member` that receives.
  rank_t lane(rank_t member) const noexcept { return lane(member, thread_); }
  /// Returns the lane of any thread of `member`.
  rank_t lane(rank_t member, rank_t thread) const noexcept {
    return threads_ == 1 ? members_[member] : members_[member] * threads_ + thread;
  }
  /// Returns the member that has a lane, whichever of its threads that is; `no_rank` if no member has it.
  rank_t find(rank_t lane) const noexcept { return members_.find(threads_ == 1 ? lane : lane / threads_); }

 private:
  rank_list members_;
  rank_t threads_;
  rank_t thread_;
};

}  // namespace amity::core
