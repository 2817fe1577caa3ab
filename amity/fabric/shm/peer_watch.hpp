#pragma once

/// Notices that the process of a peer is gone, or the one that has started this rank, where no launcher of amity's
/// watches the ranks.

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "amity/base/file_descriptor.hpp"
#include "amity/base/types.hpp"

namespace amity::fabric::shm {

/// A process of the node, and what errors call its rank.
struct peer_process {
  rank_t name;
  pid_t pid;
};

/// Used by one thread.
class peer_watch {
 public:
  /// `own` names this process's rank in errors; `starter` is that of the `bootstrap`.
  peer_watch(rank_t own, pid_t starter, std::vector<peer_process> peers);

  std::size_t processes() const noexcept { return peers_.size(); }

  /// Whether it is time to look again; the answer is yes once in half a second.
  bool is_due(std::uint64_t now_ns) noexcept;

  /// Throws `error` if a process has ended before its rank has left, or whoever has started this one; `has_left` is
  /// asked by the peer's index.
  void look(const std::function<bool(std::size_t)>& has_left) const;

 private:
  bool is_gone(std::size_t index) const noexcept;

  rank_t own_;
  pid_t starter_;
  std::vector<peer_process> peers_;
  std::vector<file_descriptor> processes_;  ///< by peer; none where the system has no descriptors of processes
  std::uint64_t next_look_ns_ = 0;
};

/// Throws the error of `own`: the process of `peer` has ended.
[[noreturn]] void throw_ended(rank_t own, rank_t peer);

}  // namespace amity::fabric::shm
