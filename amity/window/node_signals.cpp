#include "amity/window/node_signals.hpp"

#include <utility>

namespace amity::detail {

int node_signals::rounds(rank_t members) noexcept {
  int rounds = 0;
  for (std::int64_t reached = 1; reached < members; reached *= ways) ++rounds;
  return rounds;
}

std::size_t node_signals::posts_at(rank_t members) noexcept {
  return arrived_at + static_cast<std::size_t>(ways * rounds(members));
}

std::size_t node_signals::bytes(rank_t members) noexcept {
  const std::size_t words = posts_at(members) + static_cast<std::size_t>(members);
  return (words * sizeof(word) + cache_line_bytes - 1) / cache_line_bytes * cache_line_bytes;
}

node_signals::node_signals(rank_t member, rank_t members, std::function<std::byte*(rank_t)> find_area,
                           std::function<void(rank_t)> wake)
    : member_(member),
      areas_(static_cast<std::size_t>(members)),
      find_area_(std::move(find_area)),
      wake_(std::move(wake)),
      rounds_(rounds(members)),
      round_(rounds_),
      posts_taken_(areas_.size()) {
  of(member, 0);
}

// The barrier

void node_signals::begin_barrier() {
  ++barrier_;
  round_ = 0;
  stride_ = 1;
  if (rounds_ > 0) tell_arrival();
}

void node_signals::tell_arrival() {
  const auto members = static_cast<rank_t>(areas_.size());
  const auto after = [&](rank_t distance) {
    const rank_t left = members - member_;
    return distance < left ? member_ + distance : distance - left;
  };
  for_each_way([&](rank_t distance, rank_t way) {
    of(after(distance), arrived(way)).store(barrier_, std::memory_order_release);
  });
  std::atomic_thread_fence(std::memory_order_seq_cst);
  for_each_way([&](rank_t distance, rank_t) { wake_sleeper(after(distance)); });
}

bool node_signals::round_is_complete() const noexcept {
  bool all_here = true;
  for_each_way([&](rank_t, rank_t way) {
    const std::uint32_t seen = own(arrived(way)).load(std::memory_order_acquire);
    all_here &= static_cast<std::int32_t>(seen - barrier_) >= 0;  // a member may have begun the next barrier
  });
  return all_here;
}

bool node_signals::try_end_barrier() {
  while (round_ < rounds_) {
    if (!round_is_complete()) return false;
    stride_ *= ways;
    if (++round_ < rounds_) tell_arrival();
  }
  return true;
}

// Post and complete

void node_signals::post(std::span<const rank_t> to) {
  const std::size_t from_this = posts_at(static_cast<rank_t>(areas_.size())) + static_cast<std::size_t>(member_);
  for (const rank_t each : to) {
    word& posts = of(each, from_this);  // no other member stores there
    posts.store(posts.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }
  std::atomic_thread_fence(std::memory_order_seq_cst);
  for (const rank_t each : to) wake_sleeper(each);
}

bool node_signals::has_post(rank_t from) const noexcept {
  const auto index = static_cast<std::size_t>(from);
  const word& posts = own(posts_at(static_cast<rank_t>(areas_.size())) + index);
  return posts.load(std::memory_order_acquire) != posts_taken_[index];
}

bool node_signals::take_post(rank_t from) noexcept {
  if (!has_post(from)) return false;
  ++posts_taken_[static_cast<std::size_t>(from)];
  return true;
}

void node_signals::complete(std::span<const rank_t> to) {
  for (const rank_t each : to) {
    of(each, completed_at).fetch_add(1, std::memory_order_seq_cst);
    wake_sleeper(each);
  }
}

// Sleep

void node_signals::announce_sleep() noexcept {
  ++sleepers_;
  own(sleeps_at).store(1, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_seq_cst);
}

// The caller has signalled by a sequentially consistent operation, or before such a fence: either this rank sees the
// announcement, or the sleeper sees the signal when it looks once more.
void node_signals::wake_sleeper(rank_t member) {
  if (member != member_ && of(member, sleeps_at).load(std::memory_order_seq_cst) != 0) wake_(member);
}

}  // namespace amity::detail
