#pragma once

/// What the memory of a thread is made of, as the engine drives it: packets of peers, operations that wait, and what
/// must have left before a collective. `memory` is what programs use of it.

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "amity/core/event.hpp"
#include "amity/core/flushable.hpp"
#include "amity/core/long_options.hpp"
#include "amity/core/long_receiver.hpp"
#include "amity/core/long_sender.hpp"
#include "amity/core/memory.hpp"
#include "amity/core/record_stream.hpp"
#include "amity/core/remote_operations.hpp"
#include "amity/core/segment_records.hpp"
#include "amity/core/segment_table.hpp"
#include "amity/core/service.hpp"
#include "amity/fabric/fabric.hpp"

namespace amity::core {

class endpoint;

class memory_service final : private packet_receiver, private progress_client, private immovable {
 public:
  /// Throws `error` for a protocol of Long messages that this fabric cannot have.
  memory_service(engine& on, const long_options& longs);
  /// Closes and releases what is left. Nothing that uses it may be under way on any rank.
  ~memory_service();

  // --- For the engine. ---

  /// Whether nothing waits to be sent.
  bool sent() const noexcept;
  /// Asks the peers whose answers are missing; true if there are none, and nothing waits to be sent.
  bool settle();
  /// Frees memory that counts as held and is not in use.
  void release_unused() noexcept { sender.release_unused(); }
  /// A world ends: its messages that wait never leave.
  void drop(const endpoint& gone) noexcept;
  /// After a failure, on another thread, whose own has left its fabric: nothing will be closed or released.
  void abandon() noexcept { abandoned_ = true; }
  /// For a stall report; lines that begin with "\n  ".
  std::string describe() const;

  // --- Checks of calls, which throw `error`. ---

  void check_thread(std::string_view call) const;
  void check_outside_handler(std::string_view call) const;
  void check_may_wait(std::string_view call) const;
  /// Unless the segment was made here and not released.
  void check_own(std::string_view call, const local_segment& own) const;
  /// Unless it was opened here, as far as that can be seen.
  void check_open(std::string_view call, const remote_segment& opened) const;
  /// Unless the place is in an open segment.
  void check_address(std::string_view call, const remote_address& at, std::size_t bytes) const {
    const bool is_open = at.segment.lane != no_rank && has_one_thread_;
    if (!is_open || at.offset > at.segment.bytes() || bytes > at.segment.bytes() - at.offset) [[unlikely]]
      check_address_slowly(call, at, bytes);
  }

  engine& on;
  fabric::remote_memory* below;  ///< of the fabric; null: it has none
  memory face;
  segment_table segments;
  record_stream& stream;
  segment_records records;
  remote_operations operations;
  long_receiver receiver;
  long_sender sender;
  std::unordered_multimap<std::uint64_t, fabric::remote_handle> handles;  ///< of the fabric, by id
  event implicit;

 private:
  fabric::disposition on_packet(packet_header header, const fabric::packet& arrived) override;
  bool on_progress() override;
  void check_address_slowly(std::string_view call, const remote_address& at, std::size_t bytes) const;

  const bool has_one_thread_;
  bool abandoned_ = false;
};

}  // namespace amity::core
