#pragma once

/// Verifies the promises of programs in synchronisation calls, for windows with AMITY_WINDOW_CHECKED.
///
/// All operations of other members are records then, so that each write is reported here before it is carried out. A
/// copy of the memory shows stores of the owner: bytes that differ from the copy and were not written by operations.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "amity/base/error.hpp"
#include "amity/base/types.hpp"
#include "amity/window/access_rules.hpp"
#include "amity/window/layout.hpp"
#include "amity/window/options.hpp"

namespace amity::detail {

/// What a target answers about its post.
enum class post_state : std::uint64_t { missing, promised, unpromised };

class assertion_checks final : private immovable {
 public:
  /// `memory`: of the window on this rank; empty if it is dynamic.
  assertion_checks(mutable_bytes memory, const access_rules::identity& whose);

  /// For a promise of no_store.
  void check_stores(std::string_view call, window_assert promised) const;

  // Fences. Members add up their ballots.
  static std::uint64_t ballot(window_assert promised) noexcept;
  void check_ballots(std::string_view call, std::uint64_t sum, rank_t members) const;
  void end_fence(window_assert promised);

  // The owner.
  void post(window_assert promised, std::span<const rank_t> origins);
  void note_complete(rank_t origin);
  /// Other ranks have used the memory: the epoch of a post has ended, or a lock of this rank on itself.
  void end_exposure();
  post_state post_for(rank_t origin) const;
  /// An operation writes to the memory of this rank; parameters as of `attached_memory::find_problem`. `name` and
  /// `origin` are for errors. Throws `error`.
  void note_write(std::string_view name, rank_t origin, bool in_fence_epoch, std::uint64_t at, std::size_t bytes,
                  const layout* blocks, std::size_t from);

  // Origins. `note_post` is for posts that have arrived.
  void check_start(std::string_view call, rank_t target, post_state state) const;
  void note_post(rank_t target, bool is_promised);
  void consume_post(rank_t target, window_assert promised);
  error lock_is_taken(std::string_view call, rank_t target, rank_t holder) const;

 private:
  void copy_memory();
  error violation(std::string_view call, std::string_view text, std::string_view remedy) const;

  mutable_bytes memory_;
  access_rules::identity whose_;
  std::vector<std::byte> copy_;       ///< of the memory, at the end of the last synchronization
  std::vector<bool> written_;         ///< bytes of it that operations have written since
  bool fence_excludes_puts_ = false;  ///< by no_put
  bool post_excludes_puts_ = false;
  bool post_is_promised_ = false;       ///< by no_check
  std::vector<rank_t> posted_to_;       ///< members that have not completed
  std::vector<rank_t> promised_posts_;  ///< members whose post with no_check has arrived
};

}  // namespace amity::detail
