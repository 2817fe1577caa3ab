#include "amity/fabric/shm/attention.hpp"

#include <sched.h>

#include "amity/base/clock.hpp"
#include "amity/base/cpu.hpp"

namespace amity::fabric::shm {
namespace {

constexpr int looks_per_yield = 100;

}  // namespace

attention::attention(const region_map& map, const job_memory& job, rank_t own, std::uint64_t wait_ns_max)
    : job_(job), wait_ns_max_(wait_ns_max), has_own_cpu_(job.ranks() <= job.cpus()), own_(map.door_of(own)) {
  for (rank_t peer = 0; peer < job.ranks(); ++peer) {
    peers_.push_back({.theirs = &map.door_of(peer),
                      .to_them = map.channel(own, peer).credits,
                      .from_them = map.channel(peer, own).credits});
  }
}

void attention::wait_for(const credit_line& of) const noexcept {
  std::uint64_t begin_ns = 0;
  for (int looks = 1; of.engaged.load(std::memory_order_acquire) != 0; ++looks) {
    cpu_pause(1);
    if (looks % looks_per_yield != 0) continue;
    ::sched_yield();
    const std::uint64_t now_ns = steady_now_ns();
    if (begin_ns == 0) begin_ns = now_ns;
    if (job_.aborted() || now_ns - begin_ns > wait_ns_max_) return;
  }
}

bool attention::end() noexcept {
  if (!is_offered_) return false;
  is_offered_ = false;
  own_.attends.store(0, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_seq_cst);  // pairs with that of engage()
  if (own_.is_relied_on.load(std::memory_order_relaxed) == 0) return false;
  for (const peer_lines& each : peers_) wait_for(*each.from_them);
  return true;
}

}  // namespace amity::fabric::shm
