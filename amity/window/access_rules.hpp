#pragma once

/// Which calls the epochs of a window permit, as a table.
///
/// A window has an access epoch, in which this rank uses memory of others, and an exposure epoch, in which others use
/// its memory. `fence` opens and ends both; `start` and `complete`, `lock` and `unlock` concern access, `post` and
/// `wait` exposure. (MPI-3.1, section 11.5.)

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "amity/base/rank_map.hpp"
#include "amity/base/types.hpp"
#include "amity/window/options.hpp"

namespace amity::detail {

enum class window_call : std::uint8_t {
  fence,       ///< that opens an epoch behind it
  last_fence,  ///< that opens none: NOSUCCEED
  start,
  complete,
  post,
  wait,  ///< also `test`
  lock,
  unlock,
  lock_all,
  unlock_all,
  flush,      ///< each form of it
  operation,  ///< put, get, accumulate and the like
  free,
};

inline constexpr std::size_t window_calls = static_cast<std::size_t>(window_call::free) + 1;

enum class access_epoch : std::uint8_t {
  none,
  fenced,       ///< by a fence; if no operation follows, another epoch may begin
  used_fenced,  ///< operations have followed the fence
  started,
  locked,  ///< one target or several
  locked_all,
};

inline constexpr std::size_t access_epochs = static_cast<std::size_t>(access_epoch::locked_all) + 1;

enum class exposure_epoch : std::uint8_t { none, fenced, posted };
inline constexpr std::size_t exposure_epochs = static_cast<std::size_t>(exposure_epoch::posted) + 1;

/// The epochs of one window on one rank. Members are counted in the window's group.
class access_rules {
 public:
  /// What errors name: "window 'w'", and the member and the rank that this is.
  struct identity {
    std::string_view window;
    rank_t member;
  };

  // Each call checks first and changes the state then. `name` is that of the call for a person. Throw `error` for what
  // the state does not permit; then nothing has changed.

  /// All calls but those below.
  void on(std::string_view name, window_call call, const identity& whose);
  void start(std::string_view name, std::span<const rank_t> targets, const identity& whose);
  void lock(std::string_view name, lock_kind kind, rank_t target, const identity& whose);
  void unlock(std::string_view name, rank_t target, const identity& whose);
  /// A put, get or accumulate, or a flush of one target.
  void use(std::string_view name, window_call call, rank_t target, const identity& whose);
  /// The check of `use` alone; `operation_begins` then changes the state, when its arguments have been checked, too.
  void check_use(std::string_view name, window_call call, rank_t target, const identity& whose) const;
  void operation_begins() noexcept { move_on(window_call::operation); }

  /// The kind of epoch that a call waits in: "fence epoch". Calls change the state before they wait, or afterwards.
  std::string_view epoch_of(std::string_view name) const noexcept;
  /// Whether the window may end now. A fence begins an epoch only if operations follow.
  bool is_between_epochs() const noexcept;
  access_epoch access() const noexcept { return access_; }
  exposure_epoch exposure() const noexcept { return exposure_; }
  /// The targets of `start`.
  std::span<const rank_t> targets() const noexcept { return targets_; }
  lock_kind lock_of(rank_t target) const noexcept;

 private:
  void permit(std::string_view name, window_call call, rank_t target, const identity& whose) const;
  void move_on(window_call call) noexcept;

  access_epoch access_ = access_epoch::none;
  exposure_epoch exposure_ = exposure_epoch::none;
  std::size_t locks_ = 0;
  rank_map<lock_kind> lock_of_;
  std::vector<rank_t> targets_;  ///< sorted
};

}  // namespace amity::detail
