#pragma once

/// Accumulates that an origin carries out itself in memory of others, and how the owner of the memory excludes them.
///
/// An origin stores the target of each such accumulate in a word of its own, and then loads a word of the target. An
/// owner that excludes others stores its word, and then loads those of the origins. So one of the two sees the other.
/// The owner does so once, and pays for the fences of both sides (`amity/base/remote_fence.hpp`). If some member cannot
/// do that, each accumulate fences.

#include <atomic>
#include <cstdint>

#include "amity/base/types.hpp"

namespace amity::detail {

/// Words of one member, in memory that others of its node map. Begins as zeros.
struct accumulate_words {
  /// Whether the owner alone carries out accumulates in its memory, from now on.
  alignas(cache_line_bytes) std::atomic<std::uint32_t> by_owner;
  /// The target of the accumulate that this member carries out at the moment, plus 1; 0: none. On a line of its own,
  /// which only this member writes.
  alignas(cache_line_bytes) std::atomic<std::int32_t> target;

  /// Whether this member carries out an accumulate in the memory of that one. If not, its earlier ones have been
  /// carried out.
  bool uses(rank_t member) const noexcept {
    return target.load(std::memory_order_acquire) == member + 1;  // pairs with the releases in `try_apply`
  }
};

/// The origin's side.
class direct_accumulates {
 public:
  /// `own`: of this member. It `fences` if some owner might be unable to force fences on this thread.
  void start(accumulate_words& own, bool fences) noexcept {
    own_ = &own;
    fences_ = fences;
  }

  /// Calls `apply`, which carries out an accumulate in the memory of `target`, unless only the owner may do so. Returns
  /// whether it has been called. `there`: of the target; null: this thread carries out all accumulates in that memory.
  template <class Apply>
  bool try_apply(const accumulate_words* there, rank_t target, Apply apply) {
    if (there == nullptr) {
      apply();
      return true;
    }
    // Release: another owner may find this value in place of the 0 that ended an accumulate in its memory.
    own_->target.store(target + 1, std::memory_order_release);
    if (fences_) [[unlikely]] {
      std::atomic_thread_fence(std::memory_order_seq_cst);  // pairs with the fence of the owner
    } else {
      std::atomic_signal_fence(std::memory_order_seq_cst);  // pairs with the fence that the owner forces
    }
    const bool may_apply = there->by_owner.load(std::memory_order_relaxed) == 0;
    if (may_apply) [[likely]]
      apply();
    own_->target.store(0, std::memory_order_release);
    return may_apply;
  }

 private:
  accumulate_words* own_ = nullptr;
  bool fences_ = true;
};

}  // namespace amity::detail
