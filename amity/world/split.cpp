// Making worlds of a part of the ranks: rank 0 collects what each rank wants in an epoch, and tells each one its world.

#include <algorithm>
#include <bit>
#include <tuple>
#include <utility>
#include <vector>

#include "amity/base/error.hpp"
#include "amity/core/sub_fabric.hpp"
#include "amity/world/world.hpp"

namespace amity {
namespace {

using core::rank_worlds;

struct wish {
  membership wanted;
  rank_t rank;
  rank_worlds::number_set used;  ///< numbers of worlds on this rank
};

/// The number of the new worlds, 0 if none is free, and the members of this rank's own in their new order.
using answer = std::pair<std::uint32_t, std::vector<rank_t>>;

/// The lowest number that no rank uses. All new worlds have the same one: no rank is a member of two.
std::uint32_t free_number(const std::vector<wish>& wishes) {
  for (std::uint32_t word = 0; word < rank_worlds::number_set{}.size(); ++word) {
    std::uint64_t used = 0;
    for (const wish& each : wishes) used |= each.used[word];
    if (~used != 0) return word * 64 + static_cast<std::uint32_t>(std::countr_one(used));
  }
  return 0;
}

/// Calls tell(rank, answer) for each rank.
template <class Tell>
void answer_all(std::vector<wish>& wishes, Tell&& tell) {
  std::ranges::sort(wishes, {}, [](const wish& w) { return std::tuple(w.wanted.colour, w.wanted.key, w.rank); });
  answer told{free_number(wishes), {}};
  for (auto first = wishes.begin(); first != wishes.end();) {
    const auto last =
        std::find_if(first, wishes.end(), [&](const wish& w) { return w.wanted.colour != first->wanted.colour; });
    told.second.clear();
    if (first->wanted.colour >= 0) {
      for (auto member = first; member != last; ++member) told.second.push_back(member->rank);
    }
    for (; first != last; ++first) tell(first->rank, told);
  }
}

}  // namespace

std::unique_ptr<world> world::split(const membership& own) {
  constexpr auto call = "world::split";
  if (endpoint_.in_handler()) {
    throw error(call, rank(), "a handler tried to make a world, which would wait inside the handler",
                "make worlds outside handlers");
  }
  if (team_.size() > 1) {
    throw error(call, rank(), "ranks with several threads have one world",
                "start the job with AMITY_THREADS=1 and without AMITY_PROGRESS_THREAD");
  }
  if (endpoint_.epoch_open())
    throw error(call, rank(), "called inside an epoch", "make worlds before the epoch begins");

  std::vector<wish> wishes;
  answer told;
  auto tell = message<answer>([&](const answer& from_root) { told = from_root; });
  auto ask = message<wish>([&](const wish& from) {
    wishes.push_back(from);
    if (static_cast<rank_t>(wishes.size()) < size()) return;
    answer_all(wishes, [&](rank_t rank, const answer& its) { tell.send(rank, its); });
  });
  epoch([&] { ask.send(0, {.wanted = own, .rank = rank(), .used = endpoint_.worlds().used()}); });

  const auto& [number, members] = told;
  if (number == 0) {
    throw error(call, rank(), "all 255 numbers of worlds are in use on ranks of this world",
                "destroy worlds that are no longer used");
  }
  std::unique_ptr<world> made;
  if (!members.empty()) {
    std::vector<rank_t> of_root;
    for (const rank_t member : members) of_root.push_back(endpoint_.root_rank(member));
    made.reset(new world(std::make_unique<core::sub_fabric>(endpoint_.root(), static_cast<core::world_number>(number),
                                                            std::move(of_root)),
                         config_));
  }
  barrier();  // nobody sends in a world that another member has not made yet
  return made;
}

}  // namespace amity
