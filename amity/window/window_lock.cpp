#include "amity/window/window_lock.hpp"

#include <algorithm>

namespace amity::detail {

void window_lock::request(rank_t lane, rank_t member, lock_kind kind) {
  request_of asked{.lane = lane, .member = member, .kind = kind, .ticket = 0};
  if (kind == lock_kind::all) {
    if (control_.lock.try_enter(kind, 0)) return grant(asked);
  } else {
    const auto [ticket, enters] = control_.lock.draw(kind);
    if (enters) return grant(asked);
    asked.ticket = ticket;
  }
  waiting_.push_back(asked);
  control_.owner_waits.store(1);  // before the next look at the lock
  service_.watch(window_);
}

void window_lock::grant(const request_of& to) {
  if (to.kind == lock_kind::exclusive) control_.holder.store(to.member + 1, std::memory_order_relaxed);
  service_.send(to.lane,
                {.owner = core::record_owner::windows,
                 .act = static_cast<std::uint8_t>(window_act::granted),
                 .at = static_cast<std::uint64_t>(identity_)},
                {});
}

void window_lock::release(lock_kind kind) {
  if (kind == lock_kind::exclusive) control_.holder.store(0, std::memory_order_relaxed);
  control_.lock.leave(kind);
}

bool window_lock::serve_waiting() {
  // Tickets have an order, and a shared one may follow another one in the same round.
  std::erase_if(waiting_, [this](const request_of& each) {
    if (!control_.lock.try_enter(each.kind, each.ticket)) return false;
    grant(each);
    return true;
  });
  if (!waiting_.empty()) return true;
  control_.owner_waits.store(0, std::memory_order_relaxed);
  return false;
}

}  // namespace amity::detail
