#include "amity/window/window_lock.hpp"

#include <algorithm>

namespace amity::detail {

void window_lock::request(rank_t lane, rank_t member, lock_kind kind) {
  const request_of asked{.lane = lane,
                         .member = member,
                         .kind = kind,
                         .ticket = kind == lock_kind::all ? std::uint16_t{0} : control_.lock.draw()};
  if (try_grant(asked)) return;
  waiting_.push_back(asked);
  // Before the next look; pairs with the fence of a member that leaves the lock and then looks whether to wake this
  // one.
  control_.owner_waits.store(1, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  service_.watch(window_);
}

bool window_lock::try_grant(const request_of& to) {
  if (!control_.lock.try_enter(to.kind, to.ticket)) return false;
  if (to.kind == lock_kind::exclusive) control_.holder.store(to.member + 1, std::memory_order_relaxed);
  service_.send(to.lane,
                {.owner = core::record_owner::windows,
                 .act = static_cast<std::uint8_t>(window_act::granted),
                 .at = static_cast<std::uint64_t>(identity_)},
                {});
  return true;
}

void window_lock::release(lock_kind kind) {
  if (kind == lock_kind::exclusive) control_.holder.store(0, std::memory_order_relaxed);
  control_.lock.leave(kind);
}

bool window_lock::serve_waiting() {
  // Tickets have an order, and a shared one may follow another one in the same round.
  std::erase_if(waiting_, [this](const request_of& each) { return try_grant(each); });
  if (!waiting_.empty()) return true;
  control_.owner_waits.store(0, std::memory_order_relaxed);
  return false;
}

}  // namespace amity::detail
