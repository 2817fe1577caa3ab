#pragma once

/// The origin's side of a window: the members whose memory this rank uses, and how operations reach them.
///
/// Memory that is mapped here is read and written at once. Contiguous puts and gets take the fabric's remote memory
/// where it has some and is the better way; everything else is records. Records for a target stay in an open packet
/// until it is full, until something waits for them, or until this thread has nothing else to do. Short gets over the
/// network are collected in a similar way (`short_gets`). Long puts and gets are handed over to the progress thread of
/// this rank, if it has one (`long_transfers`).

#include <cstddef>
#include <cstdint>
#include <forward_list>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "amity/base/rank_map.hpp"
#include "amity/base/types.hpp"
#include "amity/core/endpoint.hpp"
#include "amity/core/event.hpp"
#include "amity/core/group.hpp"
#include "amity/core/memory.hpp"
#include "amity/core/record_stream.hpp"
#include "amity/window/control_block.hpp"
#include "amity/window/direct_access.hpp"
#include "amity/window/long_transfers.hpp"
#include "amity/window/neighbors.hpp"
#include "amity/window/packed_data.hpp"
#include "amity/window/short_gets.hpp"
#include "amity/window/window_operation.hpp"
#include "amity/window/window_service.hpp"
#include "amity/window/window_target.hpp"

namespace amity::detail {

/// The layouts that a member knows.
struct sent_layouts {
  std::uint32_t count = 0;
  std::vector<std::shared_ptr<const layout>> kept;  ///< by number modulo `layouts_kept`
  std::vector<std::byte> unsent;                    ///< the newest one, encoded, while parts of it have not been sent
  std::size_t moved = 0;                            ///< bytes of these that have been sent
};

/// A member whose memory this rank has used. `network`, `gets`, `transfers`, `answers` and `flushed` count
/// what is under way. What few members need is made at its first use.
struct window_peer : private immovable {
  window_peer(rank_t of, rank_t thread) : member(of), lane(thread) {}

  rank_t member;
  rank_t lane;                    ///< that carries out records
  std::uint32_t number = 0;       ///< of the window, there
  bool opened_data = false;       ///< `data_segment` is not the control segment
  bool is_mapped = false;         ///< this rank uses the data by loads and stores
  std::size_t bytes = 0;          ///< of the data
  std::uint64_t data_offset = 0;  ///< in its segment
  core::remote_segment control_segment, data_segment;
  control_block* control = nullptr;  ///< null: this rank does not map it
  std::byte* base = nullptr;         ///< of the data; null: not mapped here, or own memory whose offsets are addresses
  const accumulate_words* accumulates = nullptr;  ///< of mapped data; null: this thread carries out all accumulates
  direct_access::target* direct = nullptr;        ///< null: operations are not carried out without a call here

  core::event network;                    ///< without short gets
  std::unique_ptr<target_gets> gets;      ///< short ones over the network; null: there was none
  target_transfers* transfers = nullptr;  ///< that the progress thread carries out; null: it carries out none
  core::event answers;
  core::event flushed;
  bool unflushed = false;               ///< records whose end was not asked for
  bool accumulates_in_records = false;  ///< since the last flush: others must not overtake them
  bool asks_fence = false;              ///< whether it has left those that this rank has left; `answers` is the answer
  bool asks_failure = false;            ///< a thread waits for the text of an error
  std::uint64_t counted = 0;            ///< records of this fence's epoch
  std::uint64_t fences = 0;             ///< that the owner has left for certain
  std::unique_ptr<sent_layouts> layouts;  ///< null: there was none

  // This belongs to the present epoch.
  bool listed = false;  ///< in the list of those that the epoch has used
  bool open = false;    ///< operations may go there
  lock_kind lock = lock_kind::none;
  bool has_ticket = false;  ///< of the mapped lock
  bool asks_owner = false;  ///< for the lock
  bool granted = false;     ///< or the program promises that no other rank wants it
  std::uint16_t ticket = 0;
  const char* locked_by = nullptr;  ///< the mark of the thread that has requested the lock
  std::vector<window_operation> held;
  std::size_t begun = 0;                          ///< of these
  std::size_t begins_held = 0;                    ///< 1: a thread begins them, and may wait for credits
  std::size_t held_bytes = 0;                     ///< of these, in the bound of the engine
  std::vector<std::vector<std::byte>> held_data;  ///< of operands that do not outlive their call
  std::forward_list<packed_data> packed;          ///< of operations without local completion
  std::size_t packed_bytes = 0;                   ///< of these copies
  std::uint64_t word = 0;                         ///< the answer to an unlock, or to `ask_word`
};

/// What shows a target, or this rank, that the operations of an epoch have been carried out.
enum class epoch_end : std::uint8_t {
  counts,   ///< of records, which the members exchange, and answers to this rank
  packet,   ///< behind them: `complete`
  answers,  ///< to this rank
};

class window_origin final : private immovable {
 public:
  /// Records for owners of memory go to their `target_thread`. `own` is the target of this rank.
  window_origin(core::endpoint& in, window_service& service, direct_access& direct, const core::group& members,
                rank_t target_thread, window_target& own, window_identity identity, window_protocol protocol,
                bool is_dynamic);
  /// Closes segments.
  ~window_origin();

  /// The member as an origin uses it. At the first use, maps its memory, and asks it first if it has not introduced
  /// itself, which waits. Throws `error` if the system refuses to map the memory.
  window_peer& peer(rank_t member) {
    if (window_peer* const known = find(member)) [[likely]]
      return *known;
    return meet(member);
  }
  /// Null: it has not been used.
  window_peer* find(rank_t member) const noexcept {
    const std::unique_ptr<window_peer>* const found = peers_.find(member);
    return found == nullptr ? nullptr : found->get();
  }
  /// This rank itself.
  void add_own(rank_t member, const window_description& about, control_block* control, std::byte* base);
  /// Introduces this rank, whose target this describes, to the members of its node, and learns of them. Waits, but for
  /// no progress of members that have returned from it.
  void meet_node(const window_description& own);
  /// A member of this node has introduced itself. False: the content is not valid.
  bool note_introduction(rank_t member, bytes_view content);
  /// Uses all members of this node. Returns whether these are all members, and this rank maps their control blocks.
  bool use_neighbors();
  /// Members that have been used.
  const std::vector<window_peer*>& used() const noexcept { return all_; }
  /// From now on operations use the memory of the member without a call here, if it is mapped.
  void open_direct(window_peer& of);
  /// All members have been used: places their memory in that of member 0, one after another. Returns that of member
  /// `own`. Before `open_direct`.
  mutable_bytes place_consecutively(rank_t own);

  /// From now on operations belong to such an epoch. This rank has left `fences` fences.
  void begin_epoch(epoch_end end, std::uint64_t fences) noexcept;
  /// Carries an operation out as far as the origin does that. Waits for credits alone.
  void carry_out(window_peer& to, window_operation& what);
  /// Like `carry_out`, without waiting. Returns false if a credit or a place is missing; another call continues.
  bool try_carry_out(window_peer& to, window_operation& what);
  /// Sends a record without memory. Waits for a credit.
  void send(rank_t lane, core::record what);
  void ask_for_lock(window_peer& to, lock_kind kind);
  /// Whether the operation may use memory of the owner without a record of the window, which the owner could refuse.
  bool bypasses_owner(const window_peer& to, const window_operation& what) const {
    return hands_over(to, what) || takes_network(to, what);
  }
  /// Asks the target for a word, which is in `to.word` when `to.answers` is done.
  void ask_word(window_peer& to, window_act act, lock_kind kind);
  /// Sends the record that unlocks, after all records before it. `done` returns true when it has been carried out.
  void unlock(window_peer& to, lock_kind kind);
  /// Asks whether all records have been carried out, unless that was asked before. `done` returns true when they have;
  /// in dynamic windows, `to.word` is the size of `failure` then, as after `unlock`.
  void begin_flush(window_peer& to);
  /// The text of the first error in operations there. `to.answers` is done when it is there.
  void ask_failure(window_peer& to, mutable_bytes into);
  /// Starts the read that is collected, unless that would wait. Then it starts when this thread has nothing else to do.
  void start_gets(window_peer& to) {
    if (to.gets != nullptr && to.gets->bytes > 0) static_cast<void>(service_.gets().try_start(*to.gets));
  }
  /// Sends what is collected. Gets and the fabric's memory are done when `done` returns true.
  void begin_completion(window_peer& to);
  static bool done(const window_peer& of) noexcept {
    return is_network_done(of) && of.answers.done() && of.flushed.done();
  }
  static bool is_network_done(const window_peer& of) noexcept {
    return !reads_operands(of) && (of.gets == nullptr || of.gets->done());
  }
  /// Whether operands of operations that have begun must not change yet.
  static bool reads_operands(const window_peer& of) noexcept {
    return !of.network.done() || (of.transfers != nullptr && !of.transfers->done());
  }
  /// What is under way, for reports on a wait for `done`.
  static std::string_view describe_unfinished(const window_peer& of) noexcept;
  window_protocol protocol() const noexcept { return protocol_; }

 private:
  bool takes_network(const window_peer& to, const window_operation& what) const;
  /// Whether the progress thread carries the operation out, if a slot is free.
  static bool hands_over(const window_peer& to, const window_operation& what) noexcept;
  bool try_hand_over(window_peer& to, const window_operation& what);
  bool prefers_attention(const window_operation& what) const noexcept;
  /// Sends the operation to an owner that polls all the time. False: it does not, or a credit is missing.
  bool try_use_attention(window_peer& to, const window_operation& what);
  bool try_send_question(window_peer& to, const window_operation& what);
  window_peer& meet(rank_t member);
  window_peer& add(std::unique_ptr<window_peer> met, const window_description& about);
  /// Whether this rank cannot use the memory without progress of its own.
  bool needs_progress(const window_peer& of) const noexcept;
  void map_data(window_peer& of, std::byte* data) const noexcept;
  std::byte* try_append(window_peer& to, const core::record& what);
  /// A record that counts in the epoch of a fence.
  std::byte* try_append_operation(window_peer& to, core::record what);
  void end_append(window_peer& to);
  core::record record_of(const window_peer& to, window_act act, std::uint64_t at) const noexcept;
  std::uint32_t ask(window_peer& to, mutable_bytes into, core::event& told);
  std::optional<std::uint32_t> try_ask(window_peer& to, mutable_bytes into, core::event& told);
  void use_mapped(window_peer& to, const window_operation& what) const;
  /// Whether a get over the network may share a read with others.
  bool collects(const window_peer& to, const window_operation& what) const;
  /// An accumulate, or a compare and swap. False: it must travel as a record.
  bool try_accumulate_mapped(window_peer& to, const window_operation& what);
  void use_network(window_peer& to, const window_operation& what);
  core::record contiguous_record(const window_peer& to, const window_operation& what) const noexcept;
  bool extend_record(window_peer& to, const window_operation& what);
  void note_put(window_peer& to, const window_operation& what);
  bool try_use_records(window_peer& to, window_operation& what);
  bool try_use_swap_record(window_peer& to, window_operation& what);
  /// The number of a layout, which is sent to the target first if it does not know it. None: a credit is missing.
  std::optional<std::uint32_t> try_number(window_peer& to, const std::shared_ptr<const layout>& blocks);
  bool try_send_layout(window_peer& to);
  bool try_collect(window_peer& to, const window_operation& what);

  core::endpoint& endpoint_;
  window_service& service_;
  core::record_stream& stream_;
  direct_access& direct_;
  std::size_t bytes_max_;  ///< of one record
  const core::group& members_;
  rank_t target_thread_;
  window_target& own_;
  window_identity identity_;
  window_protocol protocol_;
  bool is_dynamic_;  ///< targets find errors in operations
  epoch_end end_ = epoch_end::answers;
  std::uint64_t fences_ = 0;
  bool reserved_ = false;  ///< the open packet has a credit of the reserve
  neighbors neighbors_;    ///< members of this node
  rank_map<std::unique_ptr<window_peer>> peers_;
  std::vector<window_peer*> all_;
};

}  // namespace amity::detail
