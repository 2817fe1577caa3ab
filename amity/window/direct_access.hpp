#pragma once

/// What operations look at that need no other call: which members this rank maps, and whether it may use their memory
/// now; and the last put that travels as a record.

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "amity/base/types.hpp"
#include "amity/core/record.hpp"
#include "amity/window/direct_accumulates.hpp"
#include "amity/window/direct_targets.hpp"

namespace amity::detail {

struct direct_access {
  using target = direct_targets::target;

  /// A put in a packet that was open. Puts of neighboring bytes join its record, as long as that is the last one there.
  struct open_put {
    core::record_tail* tail = nullptr;  ///< null: there was none in this epoch
    rank_t member = no_rank;
    std::uint64_t end = 0;      ///< of the memory of the member
    std::size_t bytes_max = 0;  ///< of one put: larger ones may take another path
    core::record what;          ///< for all places and sizes
  };

  /// Where the bytes of such a put go; null: begin a new one.
  std::byte* try_continue(rank_t member, std::uint64_t at, std::size_t bytes) noexcept {
    if (last_put.tail == nullptr || member != last_put.member || bytes > last_put.bytes_max) return nullptr;
    if (at > last_put.end || bytes > last_put.end - at) return nullptr;
    last_put.what.at = at;
    last_put.what.bytes = static_cast<std::uint32_t>(bytes);
    return last_put.tail->try_extend(last_put.what);
  }

  /// Where the bytes of a member are, if this rank may use them at once; else null.
  std::byte* find(rank_t member, std::uint64_t at, std::size_t bytes) const noexcept {
    const target* const found = targets.find(member);
    return may_use(found, at, bytes) ? found->base + at : nullptr;
  }
  /// Whether this rank may use these bytes at once; null: the member is not mapped, or was not used.
  bool may_use(const target* found, std::uint64_t at, std::size_t bytes) const noexcept {
    return found != nullptr && (found->is_open || all_open) && at <= found->bytes && bytes <= found->bytes - at;
  }
  /// Stores come before all that this rank does next.
  void fence_stores() noexcept {
    if (!stored && !always_fences) return;
    std::atomic_thread_fence(std::memory_order_seq_cst);
    stored = false;
  }

  direct_targets targets;                 ///< members whose memory is mapped here, from their first use
  shared_value<bool> all_open;            ///< an epoch of a fence, with operations
  shared_value<bool> may_flush;           ///< an epoch of locks
  bool always_fences = false;             ///< the program stores to mapped memory itself, or on several threads
  shared_value<bool> stored;              ///< since the last fence of stores
  shared_value<bool> unfinished;          ///< operations are under way, or held
  shared_value<bool> records_accumulate;  ///< accumulates travel as records to a member whose memory is mapped
  open_put last_put;                      ///< none if the engine is serialized
  direct_accumulates accumulates;
};

}  // namespace amity::detail
