#pragma once

/// Arrived packets that wait until those of higher priority have been handled.
///
/// They go on holding their credits: at most half of a peer's, so that the peer can always send what is more urgent. A
/// rank takes one out whenever it makes progress, so that everything is handled before it waits.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "amity/base/types.hpp"
#include "amity/fabric/fabric.hpp"

namespace amity::core {

class kept_arrivals {
 public:
  kept_arrivals(rank_t ranks, const fabric::capabilities& caps)
      : per_peer_max_(std::min(caps.credits_per_peer, caps.slots_per_peer) / 2),
        by_peer_(static_cast<std::size_t>(ranks)) {}

  bool empty() const noexcept { return packets_.empty(); }
  bool may_keep(rank_t source) const { return by_peer_[static_cast<std::size_t>(source)] < per_peer_max_; }

  void keep(const fabric::packet& arrived, int priority) {
    ++by_peer_[static_cast<std::size_t>(arrived.source)];
    packets_.push_back({arrived, priority, arrivals_++});
    std::ranges::push_heap(packets_, later);
  }

  /// The packet of the highest priority, and of these the one that came first.
  fabric::packet take() {
    std::ranges::pop_heap(packets_, later);
    const fabric::packet best = packets_.back().packet;
    packets_.pop_back();
    --by_peer_[static_cast<std::size_t>(best.source)];
    return best;
  }

 private:
  struct entry {
    fabric::packet packet;
    int priority;
    std::uint64_t arrival;
  };
  static bool later(const entry& a, const entry& b) noexcept {
    return a.priority != b.priority ? a.priority < b.priority : a.arrival > b.arrival;
  }

  std::size_t per_peer_max_;
  std::uint64_t arrivals_ = 0;
  std::vector<entry> packets_;  // a heap
  std::vector<std::uint32_t> by_peer_;
};

}  // namespace amity::core
