#pragma once

/// The packets that one message type has open on one thread: at most one a destination, filled in place.
///
/// A packet holds items of one size, one behind the other, or records of varying size behind a count of them.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "amity/base/types.hpp"
#include "amity/base/zeros.hpp"
#include "amity/core/endpoint.hpp"
#include "amity/message/coalesce.hpp"
#include "amity/message/opening_order.hpp"
#include "amity/message/packet_size_tuner.hpp"

namespace amity::detail {

/// In front of the records of a packet: how many there are.
using record_count = std::uint32_t;

class packet_buffers final : public core::flushable {
 public:
  /// Packets of at most `bytes_max` bytes for `handler` on the lanes `to`, which sends name by their index. Messages of
  /// `item_bytes` each, or of varying size if 0. `call` is the user's call that sends, for errors.
  /// Of `how` the bounds other than those of size count.
  packet_buffers(core::endpoint& owner, core::handler_id handler, const core::destinations& to, std::string_view call,
                 std::size_t item_bytes, std::size_t bytes_max, const coalesce& how = {});
  ~packet_buffers();
  packet_buffers(const packet_buffers&) = delete;
  packet_buffers& operator=(const packet_buffers&) = delete;

  /// Room for one item of `Bytes`, the size that was given to the constructor, in the packet for `dest`; null if
  /// `make_room` has to be called first. The caller fills it at once. Throws `error` for a wrong rank. This is the hot
  /// path of coalesced messages: two comparisons, and no atomic.
  template <std::size_t Bytes>
  std::byte* try_claim_item(rank_t dest) {
    if (static_cast<std::uint32_t>(dest) >= size_) [[unlikely]]
      throw_wrong_rank(dest);
    cursor& at = cursors_[static_cast<std::size_t>(dest)];
    if (at.next == at.end) [[unlikely]]
      return nullptr;
    std::byte* const place = at.next;
    at.next = place + Bytes;
    return place;
  }

  /// Room for `bytes` contiguous bytes, at most `record_bytes_max()`, for one message of varying size; null if the
  /// packet for `dest` has none left. They become part of the packet by `commit_record`; nothing else may be called
  /// between the two. Throws `error` for a wrong rank.
  std::byte* try_reserve_record(rank_t dest, std::size_t bytes) {
    if (static_cast<std::uint32_t>(dest) >= size_) [[unlikely]]
      throw_wrong_rank(dest);
    const cursor& at = cursors_[static_cast<std::size_t>(dest)];
    return has_room(at, bytes) ? at.next : nullptr;
  }
  void commit_record(rank_t dest, std::size_t bytes) noexcept;

  /// Opens a packet for `dest` with room for `bytes`. May run handlers, unless called from one. Throws `error` outside
  /// an epoch.
  [[gnu::noinline]] void make_room(rank_t dest, std::size_t bytes);

  /// Messages of varying size in the packet that is open for `dest`.
  record_count records(rank_t dest) const noexcept {
    return packets_[places_[static_cast<std::size_t>(dest)] - 1].records;
  }

  /// Adds what the packets might have held; `counters.packets` says how many there were.
  void count(message_counters& counters) const noexcept {
    counters.room += counters.packets * bytes_max_;
    counters.buffer_bytes_peak = bytes_open_peak_;
  }

  std::size_t record_bytes_max() const noexcept { return bytes_max_ - prefix_bytes_; }

  void flush(rank_t dest) { close(dest); }
  void close_packet(rank_t lane) override;
  bool flush_all() override;
  /// Sends off what has waited too long.
  bool on_progress() override;

 private:
  struct cursor {
    std::byte* next = nullptr;
    std::byte* end = nullptr;  ///< equals `next` when no packet is open
  };

  struct packet {
    core::outgoing out;
    record_count records = 0;
    bool listed = false;  ///< in `listed_`
  };

  static bool has_room(const cursor& at, std::size_t bytes) noexcept {
    return at.next != nullptr && static_cast<std::size_t>(at.end - at.next) >= bytes;
  }
  packet& packet_for(rank_t dest);
  std::size_t packet_bytes(std::size_t bytes) const noexcept;
  void open(rank_t dest, std::size_t bytes);
  bool close(rank_t dest);
  void tune(std::size_t bytes_sent);
  [[noreturn]] void throw_wrong_rank(rank_t dest) const;

  core::endpoint& endpoint_;
  core::handler_id handler_;
  core::destinations to_;
  std::string_view call_;
  std::uint32_t size_;
  std::size_t item_bytes_;
  std::size_t prefix_bytes_;
  std::size_t bytes_max_;
  std::uint64_t wait_ns_max_;  ///< 0: no limit
  // By destination. What a send reads lies close together.
  zeros<cursor> cursors_;
  zeros<std::uint32_t> places_;  ///< in `packets_`, plus one; 0: never sent to
  std::vector<packet> packets_;
  std::size_t bytes_open_ = 0;
  std::size_t bytes_open_peak_ = 0;
  std::vector<rank_t> listed_;  ///< every destination with an open packet, and maybe some without
  std::optional<packet_size_tuner> tuner_;
  std::uint64_t tuned_epoch_ = 0;  ///< in which the tuner was last told something
  opening_order open_;             ///< packets by their index, if there is a limit of time
};

}  // namespace amity::detail
