#pragma once

/// What programs say when they make windows, and in calls that synchronise.

#include <cstdint>
#include <span>
#include <string_view>

#include "amity/base/types.hpp"

namespace amity {

class settings;

namespace detail {
class am_handlers;
}  // namespace detail

/// What a program promises with a synchronisation call. Values may be combined by `|`. (MPI-3.1, section 11.5.5.)
enum class window_assert : std::uint8_t {
  none = 0,
  no_precede = 1,  ///< fence: no operation of this rank came since the last fence; all ranks give it, or none
  no_succeed = 2,  ///< fence: no operation follows before the next synchronisation; all ranks give it, or none
  no_store = 4,    ///< fence, post: the window was not changed by stores of its owner
  no_put = 8,      ///< fence, post: the window will not be changed by operations
  no_check = 16,   ///< post and start: the post has been called; lock: no other rank holds or wants the lock
};
constexpr window_assert operator|(window_assert a, window_assert b) noexcept {
  return static_cast<window_assert>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
}
constexpr bool is_valid(window_assert promised) noexcept { return static_cast<unsigned>(promised) < 32; }
constexpr bool has(window_assert promised, window_assert what) noexcept {
  return (static_cast<unsigned>(promised) & static_cast<unsigned>(what)) != 0;
}

/// How a rank locks the window of another one.
enum class lock_kind : std::uint8_t {
  none,
  shared,     ///< with others that do the same
  exclusive,  ///< alone
  all,        ///< what `lock_all` takes: shared, and not behind ranks that wait; not for `lock`
};

/// How operations on memory of other ranks travel. (Paper: B. W. Barrett, G. M. Shipman and A. Lumsdaine, "Analysis of
/// Implementation Options for MPI-2 One-Sided", EuroPVM/MPI 2007, section 3.)
enum class window_protocol : std::uint8_t {
  automatic,  ///< chosen for each operation; the setting AMITY_WINDOW_PROTOCOL can name another
  send_recv,  ///< nothing starts before the call that ends the epoch or flushes, and each operation travels alone
  buffered,   ///< operations are collected in packets, and start as soon as the epoch permits it
  rma,        ///< as buffered, but contiguous puts and gets take mapped memory or the fabric's remote memory
};

/// Whether operations may use memory of another rank that is mapped here.
constexpr bool permits_direct(window_protocol of) noexcept {
  return of == window_protocol::automatic || of == window_protocol::rma;
}

/// Where the members of a shared window have their memory, if it is shared.
enum class shared_placement : std::uint8_t {
  none,        ///< the window is not shared
  contiguous,  ///< the memory of a member begins where that of the member before it ends
  separate,    ///< the memory of each member begins a page
};

/// Bytes in the buffers of a target that it keeps for active messages of this rank.
struct am_guarantee {
  rank_t target;
  std::uint64_t bytes;
};

/// How active messages of a window use memory of their targets. Equal on all ranks, except `guarantees`.
struct am_options {
  /// The operations of messages, such as an `am_table`, which outlives the window; null: messages are errors.
  detail::am_handlers* handlers = nullptr;
  /// Each target at most once. Read when the window is made.
  std::span<const am_guarantee> guarantees{};
  bool may_detach = true;  ///< ranks may detach buffers while others are in an epoch, after these have flushed
  bool is_atomic = true;   ///< calls of handlers are atomic with regard to accumulates
  // These come from settings unless they are given.
  std::int64_t system_bytes = -1;  ///< AMITY_AM_SYSTEM_BYTES: memory of a target for each origin, without buffers
  std::int64_t unit_bytes = -1;    ///< AMITY_AM_UNIT_BYTES: input and output of a unit; 0: half of the system buffer
  std::int64_t messages_max = -1;  ///< AMITY_AM_PENDING: messages of a rank that are not complete
  double pack_below = -1;          ///< AMITY_AM_PACK_BELOW
  bool detects_exclusive = true;   ///< AMITY_AM_DETECT_EXCLUSIVE can forbid it
  bool adapts = true;              ///< targets keep space for active origins; AMITY_AM_ADAPTIVE can forbid it
};

struct window_options {
  std::string_view name = "window";  ///< for errors and reports
  window_protocol protocol = window_protocol::automatic;
  /// Promises of synchronisation calls are verified, and the protocol is `buffered`. Equal on all ranks. The setting
  /// AMITY_WINDOW_CHECKED says it for all windows.
  bool checked = false;
  am_options messages{};
};

/// What the settings AMITY_WINDOW_* and AMITY_AM_* make of them.
window_options with_settings(window_options given, const settings& config);

}  // namespace amity
