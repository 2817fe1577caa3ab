#pragma once

/// What the owner of a window shares with its peers in addition to the data: the lock of its passive-target epochs.

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "amity/base/types.hpp"
#include "amity/window/access_rules.hpp"

namespace amity::detail {

/// A fair lock for one writer or several readers, in 8 bytes of shared memory that begin as zeros.
///
/// Who wants it draws a ticket and enters when its turn has arrived, so that no stream of readers keeps a writer out.
/// At most 65,535 tickets may wait. (Design: the ticket lock of J. M. Mellor-Crummey and M. L. Scott, "Scalable
/// reader-writer synchronization for shared-memory multiprocessors", PPoPP 1991.)
class ticket_lock {
 public:
  std::uint16_t draw() noexcept { return next_.fetch_add(1, std::memory_order_acq_rel); }
  bool is_turn_of(lock_kind kind, std::uint16_t ticket) const noexcept {
    return (kind == lock_kind::exclusive ? writers_turn_ : readers_turn_).load(std::memory_order_acquire) == ticket;
  }
  /// Whether the turn of the ticket has arrived. Once it has, the lock is held, and the ticket is not used again.
  bool try_enter(lock_kind kind, std::uint16_t ticket) noexcept {
    if (!is_turn_of(kind, ticket)) return false;
    if (kind == lock_kind::shared) readers_turn_.fetch_add(1, std::memory_order_acq_rel);
    return true;
  }
  /// Enters exclusively if no lock is held and no ticket waits.
  bool try_acquire() noexcept {
    std::uint16_t ticket = writers_turn_.load(std::memory_order_acquire);
    return next_.compare_exchange_strong(ticket, static_cast<std::uint16_t>(ticket + 1), std::memory_order_acq_rel);
  }
  void leave(lock_kind kind) noexcept {
    if (kind == lock_kind::exclusive) readers_turn_.fetch_add(1, std::memory_order_acq_rel);
    writers_turn_.fetch_add(1, std::memory_order_acq_rel);
  }

 private:
  std::atomic<std::uint16_t> next_;
  std::atomic<std::uint16_t> readers_turn_;  ///< the ticket that enters if it is a reader's
  std::atomic<std::uint16_t> writers_turn_;  ///< the same for a writer's
};
static_assert(sizeof(ticket_lock) <= 8 && std::atomic<std::uint16_t>::is_always_lock_free);

/// Begins as zeros.
struct control_block {
  alignas(cache_line_bytes) ticket_lock lock;
  /// The member that holds the lock exclusively, plus 1; 0: none. For reports.
  std::atomic<std::int32_t> holder;
  /// Whether tickets wait that the owner has drawn for members that do not map this block. They are looked at when the
  /// owner makes progress.
  std::atomic<std::uint32_t> owner_waits;

  /// For a member that promises that the lock is free. Exclusive: acquires it; shared: only looks, because tickets of
  /// other readers may be on their way. False: a lock is held, or a ticket waits, that excludes this one.
  bool take_if_free(lock_kind kind, rank_t member) noexcept {
    if (kind == lock_kind::shared) return holder.load(std::memory_order_relaxed) == 0;
    if (!lock.try_acquire()) return false;
    holder.store(member + 1, std::memory_order_relaxed);
    return true;
  }
};
static_assert(sizeof(control_block) == cache_line_bytes);

}  // namespace amity::detail
