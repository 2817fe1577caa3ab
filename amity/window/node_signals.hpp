#pragma once

/// Synchronisation of members that map one another's control memory: by stores, without messages.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "amity/base/types.hpp"

namespace amity::detail {

/// A barrier of all members, and the counts of post and complete, as words in memory of each member that begin as
/// zeros. A member that has seen a signal also sees the stores that its sender made before it.
///
/// The barrier is a dissemination barrier with 8 ways: up to 8 members need one round, 64 need two. (D. Hensgen,
/// R. Finkel and U. Manber, "Two Algorithms for Barrier Synchronization", 1988; with several ways: T. Hoefler et al.,
/// "Fast Barrier Synchronization for InfiniBand", IPDPS 2006.)
class node_signals final : private immovable {
 public:
  using word = std::atomic<std::uint32_t>;

  /// How much memory each member gives, in whole cache lines.
  static std::size_t bytes(rank_t members) noexcept;

  /// `find_area` returns the memory of a member. It is called once for each member that this one signals, at the first
  /// signal, and for this member at once. `wake` is called for a member that sleeps.
  node_signals(rank_t member, rank_t members, std::function<std::byte*(rank_t)> find_area,
               std::function<void(rank_t)> wake);

  void begin_barrier();
  /// Whether all members have begun the barrier. Call it until they have: it begins further rounds.
  bool try_end_barrier();
  /// Whether `try_end_barrier` would do something.
  bool round_is_complete() const noexcept;

  void post(std::span<const rank_t> to);
  bool has_post(rank_t from) const noexcept;
  /// Takes a post of this member, if there is one.
  bool take_post(rank_t from) noexcept;
  void complete(std::span<const rank_t> to);
  /// Calls of `complete` for this member that were not taken.
  std::uint32_t completed() const noexcept {
    return own(completed_at).load(std::memory_order_acquire) - completed_taken_;
  }
  void take_completed(std::uint32_t count) noexcept { completed_taken_ += count; }

  /// From now until `end_sleep`, members that send this one a signal also wake it.
  void announce_sleep() noexcept;
  void end_sleep() noexcept {
    if (--sleepers_ == 0) own(sleeps_at).store(0, std::memory_order_relaxed);
  }

 private:
  static constexpr rank_t ways = 8;
  static constexpr std::size_t sleeps_at = 0, completed_at = 1, arrived_at = 2;

  static int rounds(rank_t members) noexcept;
  static std::size_t posts_at(rank_t members) noexcept;
  word& of(rank_t member, std::size_t at) {
    word*& area = areas_[static_cast<std::size_t>(member)];
    if (area == nullptr) [[unlikely]]
      area = reinterpret_cast<word*>(find_area_(member));
    return area[at];
  }
  word& own(std::size_t at) const noexcept { return areas_[static_cast<std::size_t>(member_)][at]; }
  /// Calls `visit(distance, way)` for each member that this one tells in the present round.
  template <class Visit>
  void for_each_way(Visit visit) const;
  std::size_t arrived(rank_t way) const noexcept { return arrived_at + static_cast<std::size_t>(ways * round_ + way); }
  void tell_arrival();
  void wake_sleeper(rank_t member);

  rank_t member_;
  std::vector<word*> areas_;  ///< null: this member has not signaled that one
  std::function<std::byte*(rank_t)> find_area_;
  std::function<void(rank_t)> wake_;
  int rounds_;
  std::uint32_t barrier_ = 0;  ///< their number
  int round_ = 0;
  rank_t stride_ = 1;
  std::vector<std::uint32_t> posts_taken_;
  std::uint32_t completed_taken_ = 0;
  std::uint32_t sleepers_ = 0;  ///< threads of this member
};

template <class Visit>
void node_signals::for_each_way(Visit visit) const {
  const auto members = static_cast<rank_t>(areas_.size());
  for (rank_t way = 1; way < ways; ++way) {
    const std::int64_t distance = std::int64_t{way} * stride_;
    if (distance >= members) return;
    visit(static_cast<rank_t>(distance), way);
  }
}

}  // namespace amity::detail
