#include "amity/interop/mpi/drop_in/window_table.hpp"

#include <algorithm>

namespace amity::mpi {

window* window_table::find_slowly(MPI_Win handle) noexcept {
  const std::scoped_lock alone(mutex_);
  const auto found = by_handle_.find(bits_of(handle));
  if (found == by_handle_.end()) return nullptr;
  recent_[place_of(handle)].store(found->second, std::memory_order_release);
  return found->second->owner.get();
}

void window_table::add(std::unique_ptr<window> made) {
  const std::scoped_lock alone(mutex_);
  const MPI_Win handle = made->handle();
  if (unused_.empty()) unused_.push_back(&entries_.emplace_back());
  entry& to = *unused_.back();
  by_handle_[bits_of(handle)] = &to;
  unused_.pop_back();
  to.owner = std::move(made);
  to.handle.store(handle, std::memory_order_release);
  recent_[place_of(handle)].store(&to, std::memory_order_release);
  size_.fetch_add(1, std::memory_order_relaxed);
}

std::unique_ptr<window> window_table::remove(MPI_Win handle) {
  const std::scoped_lock alone(mutex_);
  const auto found = by_handle_.find(bits_of(handle));
  if (found == by_handle_.end()) return nullptr;
  entry& from = *found->second;
  from.handle.store(MPI_WIN_NULL, std::memory_order_relaxed);
  unused_.push_back(&from);
  by_handle_.erase(found);
  size_.fetch_sub(1, std::memory_order_relaxed);
  return std::move(from.owner);
}

const window* window_table::find_open_epoch() noexcept {
  const std::unique_lock alone(mutex_, std::try_to_lock);
  if (!alone.owns_lock()) return nullptr;
  const auto found = std::ranges::find_if(
      entries_, [](const entry& each) { return each.owner != nullptr && !each.owner->core().is_between_epochs(); });
  return found == entries_.end() ? nullptr : found->owner.get();
}

void window_table::abandon_all() {
  const std::scoped_lock alone(mutex_);
  for (entry& each : entries_) {
    if (each.owner == nullptr) continue;
    each.owner->abandon();
    each.owner.reset();
  }
  by_handle_.clear();
}

}  // namespace amity::mpi
