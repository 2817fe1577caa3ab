#pragma once

/// The epochs of a window: what its synchronisation calls do, and when operations may go. All of it is used by the
/// thread that has made the window; the owner's side is `window_target`, which another thread of the rank may have.
///
/// With a serialized engine, several threads call a window, one at a time: a call that waits lets others in. So nothing
/// that another call may change is kept across a wait.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "amity/base/function_ref.hpp"
#include "amity/base/rank_map.hpp"
#include "amity/base/types.hpp"
#include "amity/core/endpoint.hpp"
#include "amity/core/group.hpp"
#include "amity/core/group_collectives.hpp"
#include "amity/core/rank_list.hpp"
#include "amity/core/reduction.hpp"
#include "amity/core/team.hpp"
#include "amity/window/access_rules.hpp"
#include "amity/window/assertion_checks.hpp"
#include "amity/window/attached_memory.hpp"
#include "amity/window/control_block.hpp"
#include "amity/window/direct_access.hpp"
#include "amity/window/node_signals.hpp"
#include "amity/window/options.hpp"
#include "amity/window/packed_data.hpp"
#include "amity/window/window_operation.hpp"
#include "amity/window/window_origin.hpp"
#include "amity/window/window_peers.hpp"
#include "amity/window/window_service.hpp"
#include "amity/window/window_target.hpp"
#include "amity/window/window_waits.hpp"

namespace amity::detail {

/// The memory that a window has on this rank.
struct memory_of_window {
  std::optional<mutable_bytes> own{};  ///< of the program, which stays until the window ends; none: it is allocated
  std::optional<core::local_segment> around{};  ///< that contains `own`, and stays as long; none: one is made
  std::size_t bytes = 0;                        ///< to allocate, as zeros
  shared_placement where = shared_placement::none;
  std::shared_ptr<attached_memory> attached{};  ///< if the window is dynamic, without other memory; else null
  std::size_t element_bytes = 0;                ///< of a window of a world, unless it is dynamic
};

/// The members of a window, if they are not all ranks of a world with its numbers.
struct window_group {
  core::rank_list ranks;  ///< of the job, by member
  rank_t member;          ///< this rank
  /// Replaces each word by its reduction over the members. For the creation of the window: later it has collectives of
  /// its own. Waits, and makes progress.
  function_ref<void(core::reduction, std::span<std::uint64_t>)> reduce;
};

/// For a member of a new window that cannot make it: the others throw, as if it had no memory.
void decline_window(const window_group& group, const memory_of_window& memory);

class window_epochs final : private record_window, private immovable {
  static constexpr std::uint32_t idle_rounds_per_check = 16;

 public:
  /// `group`: null for all ranks of the world. Collective. Throws `error`.
  window_epochs(core::team& of, direct_access& direct, const memory_of_window& memory, const window_options& options,
                const window_group* group);
  /// Collective, outside epochs, unless it is abandoned.
  ~window_epochs();
  /// See `window_core::abandon`.
  void abandon() noexcept { is_abandoned_ = true; }

  mutable_bytes memory() const noexcept { return target_.memory(); }
  /// The memory of a member that operations do not use without a call, if this rank maps it; else nothing.
  mutable_bytes mapped(rank_t member);
  const std::string& name() const noexcept { return name_; }
  rank_t member() const noexcept { return member_; }
  core::engine& own_engine() const noexcept { return endpoint_.own_engine(); }

  // --- Memory of a dynamic window. ---

  void attach(const void* base, std::size_t bytes);
  void detach(const void* base);

  /// From now on, this rank alone carries out accumulates in its memory.
  void take_over_accumulates();

  bool is_between_epochs() const noexcept { return rules_.is_between_epochs(); }
  /// Throws `error` if the window must not end now, because an epoch is open.
  void check_end(std::string_view call);
  /// Throws `error` of `call` if the epoch does not permit an operation on the target, or a flush.
  void check_permitted(std::string_view call, window_call what, rank_t target);

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
  void flush(rank_t target);
  void flush_all();
  /// Buffers of the program may be used again, and gets are complete.
  void flush_local(rank_t target);
  void flush_local_all();

  // --- Operations. ---

  /// If it `copies`, operands do not outlive the call.
  void begin(std::string_view call, window_operation&& what, bool copies);
  void begin_in_blocks(std::string_view call, window_operation&& what, const origin_layouts& own);

  // --- Active messages. ---

  /// Sends it as soon as the epoch, space and credits permit. `about`: the description of a message that has none.
  /// Equal ones one after another become one object.
  void send_message(std::string_view call, rank_t target, am_message&& what, const am_description* about);
  void attach_buffer(mutable_bytes memory);
  void detach_buffer(const void* base);
  am_counters counters_of(rank_t target);

  bool test_local(rank_t target);
  void wait_local(rank_t target);
  /// As `test_local`, without progress, for a caller that is inside the engine.
  bool is_complete_here(rank_t target) noexcept;
  /// For loops of operations on mapped memory, which need no other call here.
  void make_progress();
  /// For loops that wait for stores of other members.
  void poll(std::string_view call);

 private:
  /// This thread is in a call of the window. Throws `error` in a handler, and on a wrong thread.
  class inside final : private immovable {
   public:
    inside(window_epochs& of, std::string_view call) : of_(of), entry_(of.endpoint_.own_engine(), call) {
      of.endpoint_.check_own_call(call);
    }
    /// If the call fails, the progress thread leaves the buffers of the program alone from now on.
    ~inside() {
      if (of_.target_.transfers() != nullptr) [[unlikely]]
        abandon_after_failure();
    }

   private:
    void abandon_after_failure() noexcept;

    window_epochs& of_;
    core::engine::entry entry_;
  };

  bool execute(rank_t lane, const core::record& what, bytes_view content, core::answers& to) override;
  bool on_round() override;
  std::string describe() const override;
  const std::string* name_in(const core::endpoint& world) const noexcept override {
    return &world == &endpoint_ ? &name_ : nullptr;
  }

  const core::group& members() const noexcept { return members_; }
  access_rules::identity whose() const noexcept { return {.window = title_, .member = member_}; }
  void check_member(std::string_view call, rank_t member) const {
    if (member < 0 || member >= members().size()) [[unlikely]]
      refuse_member(call, member);
  }
  [[noreturn]] void refuse_member(std::string_view call, rank_t member) const;
  void check_members(std::string_view call, std::span<const rank_t> all) const;
  void check_promises(std::string_view call, window_assert promised) const {
    if (!is_valid(promised)) [[unlikely]]
      refuse_promises(call, promised);
  }
  [[noreturn]] void refuse_promises(std::string_view call, window_assert promised) const;
  void check_operands(std::string_view call, const window_operation& what) const;
  void check_operation(std::string_view call, const window_peer& of, const window_operation& what) const;
  void check_place(std::string_view call, const window_peer& of, const window_operation& what) const;
  struct named_place {
    std::uint64_t at, bytes;
    std::uint32_t index_bytes;  ///< as in `window_operation`
  };
  [[noreturn]] void refuse_place(std::string_view call, const window_peer& of, const named_place& what) const;
  void check_alignment(std::string_view call, const window_peer& of, const window_operation& what) const;
  void check_address(std::string_view call, const window_operation& what) const;
  void check_dynamic(std::string_view call) const;
  /// Runs `work()` on the thread that carries out records.
  void on_target_thread(function_ref<void()> work);
  /// If that thread must be woken by a packet that has no credit, waits for it: the program may compute next.
  void await_wake(std::string_view call);
  window_peer& use(rank_t target);
  bool take_post(rank_t from);
  bool is_ready(window_peer& to);
  /// Whether the owner has left the last fence of this rank, after which others may use its memory without its help.
  bool has_left_fence(const window_peer& of) const noexcept {
    return map_others_ || of.fences == target_.fences();  // if members map others, the fence has flushed
  }
  void wait_until_ready(std::string_view call, window_peer& to);
  /// Asks the owner whether it has left the fence, if the operation must not reach its memory before.
  bool asks_fence(window_peer& to, const window_operation& what);
  void take_lock(window_peer& to, lock_kind kind);
  void take_promised_lock(window_peer& to, lock_kind kind);
  bool has_lock(window_peer& to);
  void note_mapped_lock(window_peer& to);
  void send_to_service(rank_t lane, window_act act);
  void send_waiting_wakes();
  void wake_owner(window_peer& of);
  /// Whether this thread carries out records for the memory.
  bool is_served_here(const window_peer& of) const noexcept {
    return of.member == member_ && target_thread_ == endpoint_.thread();
  }
  /// Throws on all members if one of them cannot make its memory.
  window_target& make_target(const memory_of_window& memory, bool is_checked, const window_group* group);
  /// `made` is null if this member has failed.
  void agree_on_identity(window_target* made, const window_group* group);
  void end_target(bool works) noexcept;
  /// Whether this rank and that one may map memory of each other.
  bool is_neighbor(rank_t member) const {
    const fabric::fabric& transport = endpoint_.own_engine().transport();
    const rank_t lane = members_.lane(member);
    return transport.same_node(lane) && transport.remote_to(lane).mapped;
  }
  /// Whether another member may map the memory of this one.
  bool has_neighbor() const;
  void start_messages();
  void exchange_guarantees();
  /// Made at the first call.
  am_origin& sent_messages();
  /// On the thread that carries out records.
  void receive_messages();
  void check_messages(std::string_view call);
  /// From now on accumulates of other members that begin are records. Some may be under way.
  void announce_owner(std::string_view call);
  /// Waits until other members carry out no accumulate in the memory of this one.
  void wait_for_accumulates(std::string_view call);
  /// Without a wait. False: accumulates are under way.
  bool try_take_over_accumulates();
  /// The post or the lock is there.
  void advance_messages(window_peer& to);
  void advance_ready_messages();
  /// Whether a round of progress may do that.
  bool may_advance_in_round(window_peer& to);
  static bool has_waiting_messages(const window_peer& of) noexcept {
    return of.messages != nullptr && !of.messages->is_sent();
  }
  void watch_messages(const window_peer& of);
  /// Whether all other members can map the memory of this one, and may use it directly.
  bool is_mapped_by_all(const memory_of_window& memory) const;
  void end(bool works) noexcept;
  void meet_members(const memory_of_window& memory, const window_group* group);
  void agree_on_mapping(const memory_of_window& memory, const window_group* group);
  /// False: some member cannot map the memory of another one.
  bool place_shared_memory();
  void open_targets();
  /// Reductions and barriers over the members, by the collectives of the window.
  std::uint64_t reduce(core::reduction operation, std::uint64_t value);
  /// Whether only this rank stores to its memory, except by operations.
  bool has_own_stores() const noexcept { return attached_ == nullptr && where_ == shared_placement::none; }
  /// Where a member has its signals.
  std::byte* signals_of(rank_t member);
  void set_open(window_peer& of, bool is_open);
  bool may_hold(const window_operation& what, bool copies) const noexcept;
  void hold(std::string_view call, window_peer& to, window_operation&& what, bool copies);
  /// Waits while another thread begins queued operations.
  void await_beginning(std::string_view call, window_peer& to);
  void begin_held(std::string_view call, window_peer& to);
  void end_held(window_peer& to);
  /// Waits for the post or the lock if operations are held, and begins them.
  void await_held(std::string_view call, window_peer& to);
  void begin_all_held(std::string_view call);
  void carry_out(window_peer& to, window_operation& what);
  void note_under_way(const window_peer& to) noexcept;
  /// Waits for operations on these members. If it `flushes`, operations have been carried out there; else what this
  /// rank has given may change, and what it has asked for is there.
  void finish(std::string_view call, std::span<window_peer* const> all, bool flushes);
  /// As `finish`, for all targets that the epoch has used.
  void finish_all(std::string_view call, bool flushes);
  /// Learns of errors that these members have found in operations.
  void take_failures(std::string_view call, std::span<window_peer* const> all);
  /// At the end of a call, which has done its work by then, so that the program may continue.
  void throw_failure(std::string_view call) {
    if (!failure_.empty() || (origin_.messages() != nullptr && !origin_.messages()->failure().empty())) [[unlikely]]
      take_and_throw_failure(call);
  }
  void take_and_throw_failure(std::string_view call);
  /// Throws if a message has failed.
  void throw_message_failure(std::string_view call);
  void begin_release(window_peer& of);
  void release(std::string_view call, std::span<window_peer* const> all);
  void end_access();
  void exchange_counts(std::string_view call);
  void meet_at_barrier(std::string_view call);
  bool all_have_completed() const noexcept;
  void end_exposure() noexcept;
  void compare_promises(std::string_view call, window_assert promised);
  void verify_posts(std::string_view call, std::span<const rank_t> targets);
  void look_for_unfinished();
  /// Whether operations have local completion. Then the blocks of results have them.
  bool complete_here(window_peer& of) noexcept;
  void wait_until_complete_here(std::string_view call, window_peer& of);
  void make_room_for_copies(std::string_view call, rank_t target, std::size_t bytes);

  core::team& team_;
  core::endpoint& endpoint_;
  direct_access& direct_;
  window_service& service_;
  std::string name_;
  std::string title_;    ///< "window 'w'"
  std::string failure_;  ///< the first one that a member has found in operations; for the end of the present call
  bool is_of_world_;     ///< its members are all ranks of the world, with their numbers
  rank_t member_;
  core::group members_;  ///< with the thread that has made the window
  rank_t target_thread_;
  shared_placement where_;
  am_options messages_;
  std::shared_ptr<const am_description> last_described_;  ///< null: there was none
  std::vector<am_guarantee> guarantees_;                  ///< of targets, for active messages of this rank
  std::shared_ptr<window_epochs*> self_ = std::make_shared<window_epochs*>(this);
  bool is_complete_ = false;                   ///< all members have been met
  bool has_guarantees_ = false;                ///< of some member, for active messages
  std::size_t signal_bytes_;                   ///< 0: members do not signal by stores
  bool map_others_ = false;                    ///< some members may map memory of others
  bool accumulates_fence_ = false;             ///< all members fence in accumulates on mapped memory
  std::shared_ptr<attached_memory> attached_;  ///< null: the window is not dynamic
  window_identity identity_{};
  window_target& target_;
  std::unique_ptr<assertion_checks> checks_;  ///< null: promises are not verified
  window_origin origin_;
  window_peers peers_;
  core::group_collectives collectives_;
  std::optional<node_signals> signals_;
  access_rules rules_;
  window_waits waits_;
  std::atomic<bool> owns_accumulates_ = false;  ///< only this rank carries out accumulates in its memory
  bool is_abandoned_ = false;                   ///< its end does not wait for others
  std::uint32_t idle_rounds_ = 0;               ///< of `make_progress`
  bool is_watched_ = false;                     ///< `on_round` is called
  std::size_t carried_out_ = 0;                 ///< operations now, by threads that may wait for credits

  std::vector<std::uint64_t> counts_;  ///< of records, by member, for a fence
  std::vector<window_peer*> used_;     ///< by the access epoch
  window_assert access_promised_ = window_assert::none;
  rank_map<std::uint32_t> posts_;  ///< of members, for later epochs of this rank
  std::size_t posted_to_ = 0;      ///< members that have access
};

}  // namespace amity::detail
