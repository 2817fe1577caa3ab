#pragma once

/// What operations on mapped memory look at: which members this rank maps, and whether it may use their memory now.

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "amity/base/rank_map.hpp"
#include "amity/base/types.hpp"

namespace amity::detail {

struct direct_access {
  struct target {
    std::byte* base = nullptr;
    std::size_t bytes = 0;
    bool is_open = false;  ///< operations may go there
  };

  /// Where the bytes of a member are, if this rank may use them at once; else null.
  std::byte* find(rank_t member, std::uint64_t at, std::size_t bytes) const noexcept {
    const target* const found = targets.find(member);
    if (found == nullptr || !(found->is_open || all_open) || at > found->bytes || bytes > found->bytes - at)
      return nullptr;
    return found->base + at;
  }
  /// Stores come before all that this rank does next.
  void fence_stores() noexcept {
    if (!stored) return;
    std::atomic_thread_fence(std::memory_order_seq_cst);
    stored = false;
  }

  rank_map<target> targets;         ///< members whose memory is mapped here
  bool all_open = false;            ///< an epoch of a fence, with operations
  bool may_flush = false;           ///< an epoch of locks
  bool stored = false;              ///< since the last fence of stores
  bool unfinished = false;          ///< operations are under way, or held
  bool records_accumulate = false;  ///< accumulates travel as records to a member whose memory is mapped
};

}  // namespace amity::detail
