#pragma once

/// The owner's side of a window: its memory on this rank and its lock, as records of members use them.
///
/// A rank's progress thread carries out these records, if it has one; else the thread that has made the window does. A
/// progress thread also carries out long transfers of its own rank: this object has those of the window.

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "amity/base/rank_map.hpp"
#include "amity/base/types.hpp"
#include "amity/core/group.hpp"
#include "amity/core/record.hpp"
#include "amity/core/segment.hpp"
#include "amity/window/access_rules.hpp"
#include "amity/window/am_target.hpp"
#include "amity/window/assertion_checks.hpp"
#include "amity/window/attached_memory.hpp"
#include "amity/window/compare_swap.hpp"
#include "amity/window/control_block.hpp"
#include "amity/window/layout.hpp"
#include "amity/window/long_transfers.hpp"
#include "amity/window/window_lock.hpp"
#include "amity/window/window_records.hpp"
#include "amity/window/window_service.hpp"

namespace amity::core {
class endpoint;
class engine;
}  // namespace amity::core

namespace amity::detail {

class window_target final : public record_window, private immovable {
 public:
  /// The memory that the window has on this rank.
  struct memory_request {
    std::optional<mutable_bytes> own;           ///< of the program, which stays until the window ends; none: allocates
    std::optional<core::local_segment> around;  ///< that contains `own`, and stays as long; none: makes one
    std::size_t bytes = 0;                      ///< of this rank
    std::size_t allocated = 0;     ///< `bytes`, or of all members of a shared window; 0: another one allocates
    std::size_t signal_bytes = 0;  ///< behind the control block
    std::shared_ptr<const attached_memory> attached;  ///< of a dynamic window, whose offsets are addresses; else null
  };

  /// Makes one that belongs to the service of the calling thread, which carries out records. `in` is its endpoint, and
  /// `member_lane` that of the thread that has made the window. Throws `error`.
  static window_target& make(core::endpoint& in, rank_t member_lane, const memory_request& wanted,
                             const core::group& members, const access_rules::identity& whose);
  ~window_target() override;
  /// Ends this object and frees the memory: all members have ended the window. On its thread, as
  /// `abandon`, `publish` and `release_lock`.
  void release();
  /// Ends this object. The memory stays until the thread ends, because others may use it.
  void abandon() noexcept;

  /// The memory of this rank that another member has allocated.
  void set_memory(mutable_bytes memory) noexcept { memory_ = memory; }
  /// From now on promises are verified.
  void verify(assertion_checks& checks) noexcept { checks_ = &checks; }
  /// From now on records may name the window.
  void publish(window_identity identity);
  /// From now on members may send active messages. `take_over`: see `am_target::owner`.
  void receive_messages(const am_target_options& options, std::function<bool()> take_over);
  /// What receives them, made at the first call. After `receive_messages`.
  am_target& messages();

  mutable_bytes memory() const noexcept { return memory_; }
  control_block& control() const noexcept { return control_; }
  const window_description& about() const noexcept { return about_; }
  /// The name of the window if this is member 0.
  window_identity identity_of_first() const noexcept;
  /// Leaves the lock, which the thread of this object has taken by a ticket of its own.
  void release_lock(lock_kind kind);

  // --- For the thread that has made the window. ---

  /// Operations that have been carried out in the present epoch of fences.
  std::uint64_t arrived() const noexcept { return arrived_.load(std::memory_order_acquire); }
  /// Carries out operations of the next epoch from now on, which were refused until now. Returns whether the other
  /// thread waits for that.
  [[nodiscard]] bool begin_epoch() noexcept;
  /// Fences that this rank has left.
  std::uint64_t fences() const noexcept { return fences_.load(std::memory_order_acquire); }
  /// Calls of `complete` for this member that were not taken.
  std::size_t completed() const noexcept { return completed_.load(std::memory_order_acquire); }
  void take_completed(std::size_t count) noexcept { completed_.fetch_sub(count, std::memory_order_relaxed); }
  /// From now until `end_wait`, the other thread wakes this one when it changes these numbers or the lock.
  void announce_wait() noexcept;
  void end_wait() noexcept { member_waits_.store(false, std::memory_order_relaxed); }
  /// What takes long transfers; null: this thread itself carries out its operations.
  long_transfers* transfers() const noexcept { return transfers_; }
  /// The transfers to the memory of another member.
  target_transfers& add_transfers(const core::segment_descriptor& memory) { return targets_.emplace_back(memory); }

 private:
  window_target(core::endpoint& in, rank_t member_lane, const memory_request& wanted, const core::group& members,
                const access_rules::identity& whose);
  bool execute(rank_t lane, const core::record& what, bytes_view content, core::answers& to) override;
  bool on_round() override {
    if (messages_ != nullptr) messages_->on_round();
    return serve_lock();
  }
  std::string describe() const override { return messages_ == nullptr ? std::string() : messages_->describe(); }

  struct known_layout {
    std::uint32_t number = 0;
    std::size_t bytes_missing = 0;
    std::vector<std::byte> encoded;  ///< until all of it is there
    layout known;
  };
  using layouts = std::array<known_layout, descriptions_kept>;

  bool use_memory(rank_t lane, const core::record& what, bytes_view content, core::answers& to);
  /// Whether the origin of a record has left a fence that this rank is still in. Operations of others, whose effects
  /// the record may see, are on their way then.
  bool is_early(const core::record& what) noexcept;
  bool is_ahead(const core::record& what) const noexcept {
    return ((what.act & parity_bit) != 0) != (fences() % 2 != 0);
  }
  void wake_member();
  bool serve_lock();
  bool run(rank_t lane, const core::record& what, bytes_view content, core::answers& to);
  /// The address of `what.at`. The record uses `bytes` there, or all of `blocks`: memory of the window, or, in a
  /// dynamic one, what `is_attached` has seen.
  std::byte* place(rank_t lane, const core::record& what, std::size_t bytes, const layout* blocks = nullptr) const;
  /// Whether all that the record uses is attached, in a dynamic window; keeps the error if not.
  bool is_attached(rank_t lane, const core::record& what, std::size_t bytes, const layout* blocks = nullptr,
                   std::size_t from = 0);
  std::uint64_t failure_bytes(rank_t lane) const noexcept;
  bool tell_failure(rank_t lane, const core::record& what, core::answers& to);
  void note_write(rank_t lane, const core::record& what, std::size_t bytes, const layout* blocks, std::size_t from);
  void take_layout(rank_t lane, bytes_view content);
  const layout& find_layout(rank_t lane, const block_place& where, std::size_t bytes);
  void accumulate(rank_t lane, const core::record& what, std::byte* there, bytes_view operands, std::byte* previous);
  bool compare_swap(rank_t lane, const core::record& what, const swap_operands& given, core::answers& to);

  core::endpoint& endpoint_;
  core::engine& engine_;
  window_service& service_;
  rank_t member_lane_;
  bool serves_others_;  ///< the window was made by another thread
  core::group members_;
  std::string window_;  ///< for errors
  rank_t member_;
  core::local_segment control_segment_;
  control_block& control_;                           ///< there; signals follow it
  std::optional<core::local_segment> data_segment_;  ///< around the program's memory, if this object has made it
  mutable_bytes memory_;
  std::shared_ptr<const attached_memory> attached_;
  assertion_checks* checks_ = nullptr;  ///< null: promises are not verified
  window_identity identity_{};
  window_description about_{};
  std::optional<window_lock> lock_;                   ///< once the window has its identity
  rank_map<std::unique_ptr<layouts>> layouts_;        ///< by lane
  std::optional<am_target_options> message_options_;  ///< empty: the window receives no active messages
  std::function<bool()> take_over_;
  std::unique_ptr<am_target> messages_;
  rank_map<std::string> failures_;  ///< by lane: the first error, until the origin has asked for it

  long_transfers* transfers_;             ///< of the thread; null: the window was made by this thread, or is dynamic
  std::deque<target_transfers> targets_;  ///< of these; the thread that has made the window adds them

  std::atomic<std::uint64_t> arrived_ = 0;
  std::atomic<std::size_t> completed_ = 0;
  std::atomic<std::uint64_t> fences_ = 0;
  std::atomic<bool> has_refused_ = false;  ///< records of the next epoch
  std::atomic<bool> member_waits_ = false;
};

}  // namespace amity::detail
