#include "amity/message/other_lanes.hpp"

namespace amity::detail {

other_lanes::other_lanes(core::team& threads, function_ref<any_lane(core::endpoint&)> make) : team_(threads) {
  if (team_.size() == 1) return;
  for (rank_t thread = 1; thread < team_.size(); ++thread) lanes_.push_back(any_lane(nullptr, nullptr));
  team_.run([&](rank_t thread) {
    if (thread > 0) lanes_[static_cast<std::size_t>(thread) - 1] = make(team_.lane(thread));
  });
}

other_lanes::~other_lanes() {
  // What the other threads leave undone, because the job ends, is done with the list.
  if (lanes_.empty()) return;
  team_.try_run([&](rank_t thread) {
    if (thread > 0) lanes_[static_cast<std::size_t>(thread) - 1].reset();
  });
}

}  // namespace amity::detail
