#pragma once

/// Ranks that poll all the time while they wait, and peers that send them packets for this reason.
///
/// A peer must be sure that its packets are polled, though the rank may return to its program at any moment. So the
/// peer first shows that it is engaged, in a line of its own, and then looks whether the rank attends; the rank first
/// stops to attend, and then looks for peers that are engaged. Both fence in between: at least one sees the other. The
/// rank waits until no peer is engaged, which takes as long as sending a packet, and then polls once more.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "amity/base/types.hpp"
#include "amity/fabric/attention_board.hpp"
#include "amity/fabric/shm/job_memory.hpp"
#include "amity/fabric/shm/layout.hpp"

namespace amity::fabric::shm {

class attention final : public attention_board {
 public:
  /// For one rank of `job`, which must outlive the object. If the job has more ranks than CPUs, no rank announces that
  /// it polls: it might have to wait for a CPU first. A peer that has been stopped, or has ended, holds this rank in
  /// `end` for at most `wait_ns_max`; its packets then wait for the next call.
  attention(const region_map& map, const job_memory& job, rank_t own, std::uint64_t wait_ns_max = 10'000'000);

  void begin() noexcept override {
    if (!has_own_cpu_ || (is_offered_ && own_.attends.load(std::memory_order_relaxed) != 0)) return;
    is_offered_ = true;
    own_.attends.store(1, std::memory_order_relaxed);
  }
  /// The rank is about to sleep. A peer that is engaged at this moment wakes it by its packet.
  void pause() noexcept {
    if (is_offered_) own_.attends.store(0, std::memory_order_relaxed);
  }
  bool end() noexcept override;

  bool engage(rank_t peer) noexcept override {
    const peer_lines& of = peers_[static_cast<std::size_t>(peer)];
    if (of.theirs->attends.load(std::memory_order_relaxed) == 0) return false;
    if (of.theirs->is_relied_on.load(std::memory_order_relaxed) == 0)
      of.theirs->is_relied_on.store(1, std::memory_order_relaxed);
    of.to_them->engaged.store(1, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_seq_cst);  // pairs with that of end()
    if (of.theirs->attends.load(std::memory_order_relaxed) != 0) return true;
    disengage(peer);
    return false;
  }
  void disengage(rank_t peer) noexcept override {
    // release: pairs with the acquire in end(), after which the peer polls.
    peers_[static_cast<std::size_t>(peer)].to_them->engaged.store(0, std::memory_order_release);
  }

 private:
  struct peer_lines {
    door* theirs;
    credit_line* to_them;          ///< written by this rank
    const credit_line* from_them;  ///< written by the peer
  };

  void wait_for(const credit_line& of) const noexcept;

  const job_memory& job_;
  std::uint64_t wait_ns_max_;
  bool has_own_cpu_;
  door& own_;
  std::vector<peer_lines> peers_;
  bool is_offered_ = false;  ///< since the last `end`
};

}  // namespace amity::fabric::shm
