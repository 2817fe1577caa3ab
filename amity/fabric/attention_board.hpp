#pragma once

/// Where a rank announces that it polls all the time, and whence its peers know that.
///
/// A packet to a rank that waits and polls, and its answer, take less time than a system call that copies memory
/// between processes. A peer that could do without the rank by such a call may send a packet instead while the rank
/// polls. It does not come to depend on the next call of the rank's program for that: the rank polls whatever was sent
/// for this reason before it returns to its program.

#include "amity/base/types.hpp"

namespace amity::fabric {

class attention_board {
 public:
  /// This rank polls all the time from now on, until `end` or `fabric::arm`.
  virtual void begin() noexcept = 0;
  /// Returns whether peers may have sent packets for this reason: then the caller polls until nothing is left. May wait
  /// for peers that are engaged.
  virtual bool end() noexcept = 0;

  /// Whether the peer polls all the time. If it does, it polls whatever this rank sends it before `disengage`, which
  /// follows at once: the peer waits for it.
  virtual bool engage(rank_t peer) noexcept = 0;
  virtual void disengage(rank_t peer) noexcept = 0;

 protected:
  ~attention_board() = default;
};

}  // namespace amity::fabric
