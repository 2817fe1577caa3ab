#pragma once

/// The origin's side of a window: how operations reach members whose memory this rank uses.
///
/// Memory that is mapped here is read and written at once. Contiguous puts and gets take the fabric's remote memory
/// where it has some and is the better way; everything else is records. Records for a target stay in an open packet
/// until it is full, until something waits for them, or until this thread has nothing else to do. Short gets over the
/// network are collected in a similar way (`short_gets`). Long puts and gets are handed over to the progress thread of
/// this rank, if it has one (`long_transfers`).

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "amity/base/rank_map.hpp"
#include "amity/base/types.hpp"
#include "amity/core/endpoint.hpp"
#include "amity/core/event.hpp"
#include "amity/core/record_stream.hpp"
#include "amity/window/am_origin.hpp"
#include "amity/window/direct_access.hpp"
#include "amity/window/long_transfers.hpp"
#include "amity/window/short_gets.hpp"
#include "amity/window/window_operation.hpp"
#include "amity/window/window_peer.hpp"
#include "amity/window/window_service.hpp"
#include "amity/window/window_target.hpp"

namespace amity::detail {

/// What shows a target, or this rank, that the operations of an epoch have been carried out.
enum class epoch_end : std::uint8_t {
  counts,   ///< of records, which the members exchange, and answers to this rank
  packet,   ///< behind them: `complete`
  answers,  ///< to this rank
};

class window_origin final : private immovable {
 public:
  /// What a thread waits for until it knows where the memory of a member is; for reports.
  static constexpr std::string_view wait_for_description = "what a member tells about its window";

  /// `own` is the target of this rank.
  window_origin(core::endpoint& in, window_service& service, direct_access& direct, window_target& own,
                window_identity identity, window_protocol protocol, bool is_dynamic);

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
  /// Asks the member for the description of its window, which is in `about` when it returns. Waits.
  void ask_description(window_peer& of, window_description& about);
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
    return is_network_done(of) && of.answers.done() && of.flushed.done() && are_messages_done(of);
  }
  static bool is_network_done(const window_peer& of) noexcept {
    return !reads_operands(of) && (of.gets == nullptr || of.gets->done());
  }
  static bool are_messages_done(const window_peer& of) noexcept {
    return of.messages == nullptr || of.messages->done();
  }
  /// Whether operands of operations that have begun must not change yet.
  static bool reads_operands(const window_peer& of) noexcept {
    return !of.network.done() || (of.transfers != nullptr && !of.transfers->done());
  }
  /// What is under way, for reports on a wait for `done`.
  static std::string_view describe_unfinished(const window_peer& of) noexcept;
  window_protocol protocol() const noexcept { return protocol_; }

  // --- Active messages. ---

  /// For the first one. `guarantees`: of targets, for this rank.
  void begin_messages(const am_origin_options& options, std::span<const am_guarantee> guarantees);
  /// Null: `begin_messages` was not called.
  am_origin* messages() noexcept { return messages_.get(); }
  /// The queue for the target, made at its first use.
  am_queue& queue_for(window_peer& to);

 private:
  bool takes_network(const window_peer& to, const window_operation& what) const;
  /// Whether the progress thread carries the operation out, if a slot is free.
  static bool hands_over(const window_peer& to, const window_operation& what) noexcept;
  bool try_hand_over(window_peer& to, const window_operation& what);
  bool prefers_attention(const window_operation& what) const noexcept;
  /// Sends the operation to an owner that polls all the time. False: it does not, or a credit is missing.
  bool try_use_attention(window_peer& to, const window_operation& what);
  bool try_send_question(window_peer& to, const window_operation& what);
  /// A record that counts in the epoch of a fence.
  std::byte* try_append_operation(window_peer& to, core::record what);
  void end_append(window_peer& to);
  /// Bits for the acts of active messages. Those of a fence epoch have `counted_bit` for checked windows, but the fence
  /// does not count them: each is answered.
  std::uint8_t message_bits() const noexcept;
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
  bool try_collect(window_peer& to, const window_operation& what);

  core::endpoint& endpoint_;
  window_service& service_;
  core::record_stream& stream_;
  direct_access& direct_;
  std::size_t bytes_max_;  ///< of one record
  window_target& own_;
  window_identity identity_;
  window_protocol protocol_;
  bool is_dynamic_;  ///< targets find errors in operations
  epoch_end end_ = epoch_end::answers;
  std::uint64_t fences_ = 0;
  std::unique_ptr<am_origin> messages_;  ///< few windows have any
  rank_map<std::uint64_t> guaranteed_;   ///< bytes, by target
};

}  // namespace amity::detail
