#pragma once

/// Accumulates that an origin carries out itself in memory of others, and how the owner of the memory excludes them.
///
/// An origin stores the target of each such accumulate in a word of its own, and then loads a word of the target. An
/// owner that excludes others stores its word, and then loads those of the origins. So one of the two sees the other.
/// The owner does so once, and pays for the fences of both sides (`amity/base/remote_fence.hpp`). If some member cannot
/// do that, each accumulate fences. Threads that share a window count their accumulates in place of the target.

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
  /// Accumulates that several threads of this member carry out at the moment, in the memory of any target.
  std::atomic<std::uint32_t> of_threads;

  /// Whether this member may be in an accumulate in the memory of that one. If not, its earlier ones have been carried
  /// out.
  bool uses(rank_t member) const noexcept {  // pairs with the releases in `try_apply`
    return target.load(std::memory_order_acquire) == member + 1 || of_threads.load(std::memory_order_acquire) != 0;
  }
};

/// The origin's side.
class direct_accumulates {
 public:
  enum class mode : std::uint8_t {
    plain,
    fences,  ///< some owner might be unable to force fences on this thread
    counts,  ///< for several threads at once
  };
  /// `own`: of this member.
  void start(accumulate_words& own, mode how) noexcept {
    own_ = &own;
    how_ = how;
  }

  /// Calls `apply`, which carries out an accumulate in the memory of `target`, unless only the owner may do so. Returns
  /// whether it has been called. `there`: of the target; null: this thread carries out all accumulates in that memory.
  template <class Apply>
  bool try_apply(const accumulate_words* there, rank_t target, Apply apply) {
    if (there == nullptr) {
      apply();
      return true;
    }
    if (how_ == mode::counts) [[unlikely]]
      return try_apply_counted(*there, apply);
    // Release: another owner may find this value in place of the 0 that ended an accumulate in its memory.
    own_->target.store(target + 1, std::memory_order_release);
    if (how_ == mode::fences) [[unlikely]] {
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
  // The addition fences.
  template <class Apply>
  bool try_apply_counted(const accumulate_words& there, Apply& apply) {
    own_->of_threads.fetch_add(1, std::memory_order_seq_cst);
    const bool may_apply = there.by_owner.load(std::memory_order_seq_cst) == 0;
    if (may_apply) [[likely]]
      apply();
    own_->of_threads.fetch_sub(1, std::memory_order_release);
    return may_apply;
  }

  accumulate_words* own_ = nullptr;
  mode how_ = mode::fences;
};

}  // namespace amity::detail
