#pragma once

/// What the owner of a window shares with its peers in addition to the data: the lock of its passive-target epochs, and
/// the words for accumulates that members carry out themselves.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "amity/base/types.hpp"
#include "amity/window/access_rules.hpp"
#include "amity/window/direct_accumulates.hpp"

namespace amity::detail {

/// A lock for one writer or several readers, in 8 bytes of shared memory that begin as zeros.
///
/// Who wants it draws a ticket and enters when its turn has arrived, so that readers with tickets keep no writer out.
/// At most 65,535 tickets may wait. (Design: the ticket lock of J. M. Mellor-Crummey and M. L. Scott, "Scalable
/// reader-writer synchronization for shared-memory multiprocessors", PPoPP 1991.)
///
/// Members inside `lock_all` are readers without tickets, because they may hold other locks already: behind a writer
/// that waits for one of these, none of them would get its turn. They enter unless a writer is inside. So a succession
/// of them can keep a writer out.
class ticket_lock {
 public:
  struct drawn {
    std::uint16_t ticket;
    bool enters;  ///< the lock is held, and the ticket is not used again
  };
  /// Draws a ticket, and enters if its turn has arrived. Not for `lock_kind::all`.
  drawn draw(lock_kind kind) noexcept {
    bool enters = false;
    const auto before = update([&](turns& of) {
      const std::uint16_t ticket = of.next++;
      enters = may_enter(of, kind, ticket);
      if (enters) enter(of, kind);
      return true;
    });
    return {.ticket = before->next, .enters = enters};
  }
  bool is_turn_of(lock_kind kind, std::uint16_t ticket) const noexcept {
    return may_enter(state_.load(std::memory_order_acquire), kind, ticket);
  }
  /// Enters if the turn of the ticket has arrived. Then the lock is held, and the ticket is not used again.
  bool try_enter(lock_kind kind, std::uint16_t ticket) noexcept {
    return update([=](turns& of) {
             if (!may_enter(of, kind, ticket)) return false;
             enter(of, kind);
             return true;
           })
        .has_value();
  }
  /// Enters exclusively if no lock is held and no ticket waits.
  bool try_acquire() noexcept {
    return update([](turns& of) {
             if (of.next != of.writers_turn || of.inside != 0) return false;
             ++of.next;
             of.inside = writer;
             return true;
           })
        .has_value();
  }
  void leave(lock_kind kind) noexcept {
    update([=](turns& of) {
      if (kind == lock_kind::exclusive) {
        ++of.readers_turn;
        of.inside = 0;
      }
      kind == lock_kind::all ? --of.inside : ++of.writers_turn;
      return true;
    });
  }

 private:
  struct turns {
    std::uint16_t next;
    std::uint16_t readers_turn;  ///< the ticket that enters if it is a reader's
    std::uint16_t writers_turn;  ///< the same for a writer's, if no reader without a ticket is inside
    std::uint16_t inside;        ///< `writer`, or the number of readers without tickets
  };
  static constexpr std::uint16_t writer = 0xffff;

  static bool may_enter(const turns& in, lock_kind kind, std::uint16_t ticket) noexcept {
    if (kind == lock_kind::shared) return in.readers_turn == ticket;
    if (kind == lock_kind::exclusive) return in.writers_turn == ticket && in.inside == 0;
    return in.inside != writer;
  }
  static void enter(turns& in, lock_kind kind) noexcept {
    if (kind == lock_kind::shared) ++in.readers_turn;
    if (kind == lock_kind::exclusive) in.inside = writer;
    if (kind == lock_kind::all) ++in.inside;
  }
  /// Returns what was there before; nothing: `change` has refused it.
  template <class Change>
  std::optional<turns> update(Change change) noexcept {
    turns before = state_.load();
    for (;;) {
      turns after = before;
      if (!change(after)) return std::nullopt;
      if (state_.compare_exchange_weak(before, after)) return before;  // in one order with `owner_waits`
    }
  }

  std::atomic<turns> state_;
  static_assert(sizeof(turns) == 8 && std::atomic<turns>::is_always_lock_free);
};

/// Begins as zeros.
struct control_block {
  alignas(cache_line_bytes) ticket_lock lock;
  /// The member that holds the lock exclusively, plus 1; 0: none. For reports.
  std::atomic<std::int32_t> holder;
  /// Whether tickets wait that the owner has drawn for members that do not map this block. They are looked at when the
  /// owner makes progress.
  std::atomic<std::uint32_t> owner_waits;
  accumulate_words accumulates;

  /// For a member that has changed the lock. The owner sets `owner_waits` before it looks at the lock, so one of the
  /// two sees what the other has done.
  bool must_wake_owner() const noexcept { return owner_waits.load() != 0; }

  /// For a member that promises that the lock is free. Exclusive: acquires it; otherwise only looks, because tickets of
  /// other readers may be on their way. False: a lock is held, or a ticket waits, that excludes this one.
  bool take_if_free(lock_kind kind, rank_t member) noexcept {
    if (kind != lock_kind::exclusive) return holder.load(std::memory_order_relaxed) == 0;
    if (!lock.try_acquire()) return false;
    holder.store(member + 1, std::memory_order_relaxed);
    return true;
  }
};
static_assert(sizeof(control_block) == 3 * cache_line_bytes);

}  // namespace amity::detail
