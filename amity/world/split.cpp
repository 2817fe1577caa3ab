// Making worlds of a part of the ranks: rank 0 collects what each rank wants in an epoch, and tells each one its world.

#include <algorithm>
#include <bit>
#include <tuple>
#include <utility>
#include <vector>

#include "amity/base/error.hpp"
#include "amity/core/rank_list.hpp"
#include "amity/core/team.hpp"
#include "amity/world/world.hpp"

namespace amity {
namespace {

using world_set = core::engine::world_set;

struct wish {
  membership wanted;
  rank_t rank;
  world_set used;  ///< numbers of worlds on this rank
};

/// What a rank is told: the number of the new worlds, 0 if none is free, and the members of its own.
struct answer {
  std::uint32_t number = 0;
  core::rank_list members;
};

/// The lowest number that no rank uses. All new worlds have the same one: no rank is a member of two.
std::uint32_t free_number(const std::vector<wish>& wishes) {
  for (std::uint32_t word = 0; word < world_set{}.size(); ++word) {
    std::uint64_t used = 0;
    for (const wish& each : wishes) used |= each.used[word];
    if (~used != 0) return word * 64 + static_cast<std::uint32_t>(std::countr_one(used));
  }
  return 0;
}

/// Calls tell(rank, answer) for each rank.
template <class Tell>
void answer_all(std::vector<wish>& wishes, Tell&& tell) {
  std::ranges::sort(wishes, {}, [](const wish& w) { return std::tuple(w.wanted.color, w.wanted.key, w.rank); });
  const std::uint32_t number = free_number(wishes);
  for (auto first = wishes.begin(); first != wishes.end();) {
    const auto last =
        std::find_if(first, wishes.end(), [&](const wish& w) { return w.wanted.color != first->wanted.color; });
    std::vector<rank_t> members;
    if (first->wanted.color >= 0) {
      for (auto member = first; member != last; ++member) members.push_back(member->rank);
    }
    const answer told{number, core::rank_list(std::move(members))};
    for (; first != last; ++first) tell(first->rank, told);
  }
}

}  // namespace

/// Regular members travel as the first two: that a thousand ranks are told of a thousand each is no rare case.
template <>
struct codec<answer> {
  static std::uint32_t told(const core::rank_list& members) {
    const auto size = static_cast<std::uint32_t>(members.size());
    return members.regular() ? std::min(size, 2u) : size;
  }
  static std::size_t bytes(const answer& value) {
    return 3 * sizeof(std::uint32_t) + told(value.members) * sizeof(rank_t);
  }
  static void write(byte_writer& to, const answer& value) {
    const std::uint32_t count = told(value.members);
    to.write_object(value.number);
    to.write_object(value.members.size());
    to.write_object(count);
    for (std::uint32_t member = 0; member < count; ++member) {
      to.write_object(value.members[static_cast<rank_t>(member)]);
    }
  }
  static answer read(byte_reader& from) {
    const auto number = from.read_object<std::uint32_t>();
    const auto size = static_cast<std::size_t>(from.read_object<rank_t>());
    const auto count = from.read_object<std::uint32_t>();
    std::vector<rank_t> ranks;
    for (std::uint32_t member = 0; member < count; ++member) ranks.push_back(from.read_object<rank_t>());
    while (ranks.size() < size) ranks.push_back(ranks.back() + ranks[1] - ranks[0]);
    return {number, core::rank_list(std::move(ranks))};
  }
};

std::unique_ptr<world> world::split(const membership& own) {
  constexpr auto call = "world::split";
  if (endpoint_.in_handler()) {
    throw error(call, rank(), "a handler tried to make a world, which would wait inside the handler",
                "make worlds outside handlers");
  }
  if (endpoint_.epoch_open())
    throw error(call, rank(), "called inside an epoch", "make worlds before the epoch begins");

  const auto own_depth = request_depth(any_depth);  // whatever the program has declared for its messages
  std::vector<wish> wishes;
  answer told;
  auto tell = message<answer>([&](const answer& from_root) { told = from_root; });
  auto ask = message<wish>([&](const wish& from, auto& self) {
    wishes.push_back(from);
    if (static_cast<rank_t>(wishes.size()) < size()) return;
    answer_all(wishes, [&](rank_t rank, const answer& its) { tell.on(self).send(rank, its); });
  });
  epoch([&] { ask.send(0, {.wanted = own, .rank = rank(), .used = endpoint_.own_engine().numbers_used()}); });

  const auto& [number, members] = told;
  if (number == 0) {
    throw error(call, rank(), "all 255 numbers of worlds are in use on ranks of this world",
                "destroy worlds that are no longer used");
  }
  std::unique_ptr<world> made;
  if (members.size() > 0) {
    std::vector<rank_t> of_root;
    for (rank_t member = 0; member < members.size(); ++member) of_root.push_back(endpoint_.job_rank(members[member]));
    auto threads = std::make_unique<core::team>(team_, static_cast<core::world_number>(number),
                                                core::rank_list(std::move(of_root)), config_);
    made.reset(new world(std::move(threads), config_));
  }
  barrier();  // nobody sends in a world that another member has not made yet
  return made;
}

}  // namespace amity
