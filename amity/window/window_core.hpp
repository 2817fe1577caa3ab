#pragma once

/// A window without the type of its elements: its epochs, and its memory on all members.
///
/// `window<T>` is what programs use. A window belongs to the thread that has made it; its calls are for this thread,
/// outside handlers.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "amity/base/rank_map.hpp"
#include "amity/base/types.hpp"
#include "amity/core/endpoint.hpp"
#include "amity/core/group_collectives.hpp"
#include "amity/window/access_rules.hpp"
#include "amity/window/options.hpp"
#include "amity/window/window_lock.hpp"
#include "amity/window/window_operation.hpp"
#include "amity/window/window_origin.hpp"
#include "amity/window/window_service.hpp"
#include "amity/window/window_target.hpp"

namespace amity {

namespace detail {

class window_core final : private record_window, private immovable {
 public:
  /// `own`: memory of the program, which stays until the window ends; none: allocates `bytes`, as zeros. Collective.
  /// Throws `error`.
  window_core(core::endpoint& in, std::optional<mutable_bytes> own, std::size_t bytes, const window_options& options);
  /// Collective, outside epochs.
  ~window_core();

  mutable_bytes memory() const noexcept { return memory_; }
  const core::group& members() const noexcept { return origin_.members(); }
  /// The memory of a member, if this rank maps it; else null.
  mutable_bytes mapped(rank_t member) const noexcept;
  const std::string& name() const noexcept { return name_; }

  // --- Synchronisation. ---

  void fence(window_assert promised);
  void start(std::span<const rank_t> targets, window_assert promised);
  void complete();
  void post(std::span<const rank_t> origins, window_assert promised);
  void wait();
  bool test();
  void lock(lock_kind kind, rank_t target, window_assert promised);
  void unlock(rank_t target);
  void lock_all(window_assert promised);
  void unlock_all();
  void flush(rank_t target) {
    if (!unfinished_ && may_flush_) [[likely]] {
      const direct_target* const found = direct_.find(target);
      if (found != nullptr && found->is_open) {
        fence_stores();
        return;
      }
    }
    flush_slowly(target);
  }
  void flush_all();
  /// Buffers of the program may be used again, and gets are complete.
  void flush_local(rank_t target);
  void flush_local_all();

  // --- Operations. ---

  /// Where the bytes of a member are, if this rank may use them at once; null: call `begin`. The caller stores there.
  std::byte* direct(rank_t target, std::uint64_t at, std::size_t bytes) {
    stored_ = true;
    return direct_for_get(target, at, bytes);
  }
  /// The same for a caller that stores nothing.
  std::byte* direct_for_get(rank_t target, std::uint64_t at, std::size_t bytes) {
    const direct_target* const found = direct_.find(target);
    if (found == nullptr || !(found->is_open || all_open_) || at > found->bytes || bytes > found->bytes - at)
      return nullptr;
    if (++direct_calls_ % calls_per_round == 0) [[unlikely]]
      make_progress();
    return found->base + at;
  }
  /// The same for accumulates, which must not overtake those that travel as records.
  std::byte* direct_for_accumulate(rank_t target, std::uint64_t at, std::size_t bytes) {
    return records_accumulate_ ? nullptr : direct(target, at, bytes);
  }
  void begin(std::string_view call, window_operation what);
  /// The same for operands that do not outlive the call.
  void begin_copied(std::string_view call, window_operation what);

 private:
  struct direct_target {
    std::byte* base = nullptr;
    std::size_t bytes = 0;
    bool is_open = false;
  };
  static constexpr std::uint32_t calls_per_round = 64;

  bool execute(rank_t lane, const core::record& what, bytes_view content, core::answers& to) override;
  bool on_round() override { return lock_.serve_waiting(); }

  access_rules::identity whose() const noexcept { return {.window = title_, .member = member_}; }
  void check_member(std::string_view call, rank_t member) const;
  void check_place(std::string_view call, const window_peer& of, const window_operation& what) const;
  void make_progress();
  void fence_stores() noexcept {
    if (!stored_) return;
    std::atomic_thread_fence(std::memory_order_seq_cst);
    stored_ = false;
  }
  template <class Done>
  void wait_for(std::string_view call, std::string_view what, rank_t target, Done&& done);

  window_peer& use(rank_t target);
  bool is_ready(window_peer& to);
  void wait_until_ready(std::string_view call, window_peer& to);
  void take_lock(window_peer& to, lock_kind kind);
  bool has_lock(window_peer& to);
  void set_open(window_peer& of, bool is_open);
  void hold(window_peer& to, window_operation&& what, bool copies);
  void carry_out_or_hold(std::string_view call, window_operation&& what, bool copies);
  void begin_held(window_peer& to);
  void begin_all_held(std::string_view call);
  void carry_out(window_peer& to, const window_operation& what);
  /// Of these members. If it `flushes`, operations have been carried out there; else what this rank has given may
  /// change, and what it has asked for is there.
  void finish(std::string_view call, std::span<window_peer* const> all, bool flushes);
  void begin_release(window_peer& of);
  void release(std::string_view call, std::span<window_peer* const> all);
  void end_access();
  void flush_slowly(rank_t target);
  void exchange_counts(std::string_view call);
  void look_for_unfinished();

  core::endpoint& endpoint_;
  window_service& service_;
  std::string name_;
  std::string title_;  ///< "window 'w'"
  std::string label_;  ///< of the present wait
  rank_t member_;
  core::local_segment control_segment_;
  std::optional<core::local_segment> data_segment_;  ///< of the program's memory
  mutable_bytes memory_;
  window_target target_;
  std::uint32_t number_;
  window_identity identity_;
  window_origin origin_;
  window_lock lock_;
  window_description about_{};
  core::group_collectives collectives_;
  access_rules rules_;

  // What direct operations look at.
  rank_map<direct_target> direct_;   ///< members whose memory is mapped here
  bool all_open_ = false;            ///< an epoch of a fence, with operations
  bool may_flush_ = false;           ///< an epoch of locks
  bool stored_ = false;              ///< since the last fence of stores
  bool records_accumulate_ = false;  ///< accumulates travel as records to a member whose memory is mapped
  std::uint32_t direct_calls_ = 0;
  bool unfinished_ = false;  ///< operations are under way, or held

  std::vector<window_peer*> used_;  ///< by the access epoch
  window_assert access_promised_ = window_assert::none;
  rank_map<std::uint32_t> posts_;  ///< of members, for later epochs of this rank
  std::size_t posted_to_ = 0;      ///< members that have access
  std::size_t completed_ = 0;      ///< of those
};

}  // namespace detail
}  // namespace amity
