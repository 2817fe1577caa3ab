#include "amity/interop/mpi/drop_in/handle_pool.hpp"

#include <algorithm>

namespace amity::mpi {

handle_pool::proposal handle_pool::propose(std::span<const rank_t> members, rank_t own) {
  const std::scoped_lock alone(mutex_);
  entry* first = nullptr;
  for (entry& each : kept_) {
    const bool fits = each.is_free && std::ranges::equal(each.members, members);
    if (fits && (first == nullptr || each.number < first->number)) first = &each;
  }
  if (first != nullptr) first->is_free = false;
  const std::uint64_t free = first == nullptr ? none : first->number;
  std::uint64_t number = 0;
  if (own == 0) number = static_cast<std::uint64_t>(members.front()) << 32 | ++last_number_;
  return {.free = free, .others = ~free, .number = number, .full = kept_.size() < kept_max ? 0u : 1u};
}

MPI_Win handle_pool::take(const proposal& own, const proposal& agreed) {
  if (own.free == none) return MPI_WIN_NULL;
  const std::scoped_lock alone(mutex_);
  const auto proposed = std::ranges::find(kept_, own.free, &entry::number);
  if (agreed.free == ~agreed.others) return proposed->handle;
  proposed->is_free = true;
  return MPI_WIN_NULL;
}

void handle_pool::add(MPI_Win made, const proposal& agreed, std::span<const rank_t> members) {
  if (agreed.full != 0) return;
  const std::scoped_lock alone(mutex_);
  kept_.push_back(
      {.number = agreed.number, .members = {members.begin(), members.end()}, .handle = made, .is_free = false});
}

bool handle_pool::give_back(MPI_Win handle) {
  const std::scoped_lock alone(mutex_);
  const auto found = std::ranges::find(kept_, handle, &entry::handle);
  if (found == kept_.end()) return false;
  found->is_free = true;
  return true;
}

}  // namespace amity::mpi
