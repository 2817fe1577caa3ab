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
#include "amity/core/endpoint.hpp"
#include "amity/message/coalesce.hpp"
#include "amity/message/opening_order.hpp"
#include "amity/message/packet_places.hpp"
#include "amity/message/packet_size_tuner.hpp"

namespace amity::detail {

/// `Places` is one of those in `packet_places.hpp`.
template <class Places>
class packet_buffers final : public core::flushable, private immovable {
 public:
  /// Packets of at most `bytes_max` bytes for `handler` on the lanes `to`, which sends name by their index. Messages of
  /// `item_bytes` each, or of varying size if 0. `call` is the user's call that sends, for errors.
  /// Of `how` the bounds other than those of size count.
  packet_buffers(core::endpoint& owner, core::handler_id handler, const core::destinations& to, std::string_view call,
                 std::size_t item_bytes, std::size_t bytes_max, const coalesce& how = {});
  ~packet_buffers();

  /// Room for one item of `Bytes`, the size that was given to the constructor, in the packet for `dest`; null if
  /// `make_room` has to be called first. The caller fills it at once. Throws `error` for a wrong rank. This is the hot
  /// path of coalesced messages: two comparisons, and no atomic; where destinations are few of many, a search.
  template <std::size_t Bytes>
  std::byte* try_claim_item(rank_t dest) {
    if (static_cast<std::uint32_t>(dest) >= size_) [[unlikely]]
      throw_wrong_rank(dest);
    packet_cursor* const at = places_.find_cursor(dest);
    if (at == nullptr || at->next == at->end) [[unlikely]]
      return nullptr;
    std::byte* const place = at->next;
    at->next = place + Bytes;
    return place;
  }

  /// Room for `bytes` contiguous bytes, at most `record_bytes_max()`, for one message of varying size; null if the
  /// packet for `dest` has none left. They become part of the packet by `commit_record`; nothing else may be called
  /// between the two. Throws `error` for a wrong rank.
  std::byte* try_reserve_record(rank_t dest, std::size_t bytes) {
    if (static_cast<std::uint32_t>(dest) >= size_) [[unlikely]]
      throw_wrong_rank(dest);
    const packet_cursor* const at = places_.find_cursor(dest);
    return at != nullptr && has_room(*at, bytes) ? at->next : nullptr;
  }
  void commit_record(rank_t dest, std::size_t bytes) noexcept;

  /// Opens a packet for `dest` with room for `bytes`. May run handlers, unless called from one. Throws `error` outside
  /// an epoch.
  [[gnu::noinline]] void make_room(rank_t dest, std::size_t bytes);

  /// Messages of varying size in the packet that is open for `dest`.
  record_count records(rank_t dest) noexcept { return places_.find(dest)->records; }

  /// Adds what the packets might have held; `counters.packets` says how many there were.
  void count(message_counters& counters) const noexcept {
    counters.room += counters.packets * bytes_max_;
    counters.buffer_bytes_peak = bytes_open_peak_;
  }

  std::size_t record_bytes_max() const noexcept { return bytes_max_ - prefix_bytes_; }

  void flush(rank_t dest) {
    if (destination_packet* const packet = places_.find(dest)) close(*packet);
  }
  void close_packet(rank_t lane) override;
  bool flush_all() override;
  /// Sends off what has waited too long.
  bool on_progress() override;

 private:
  static bool has_room(const packet_cursor& at, std::size_t bytes) noexcept {
    return at.next != nullptr && static_cast<std::size_t>(at.end - at.next) >= bytes;
  }
  static bool is_staged(destination_packet& packet) noexcept {
    return Places::stage_bytes > 0 && packet.out.data == Places::stage_of(packet);
  }
  std::size_t packet_bytes(std::size_t bytes) const noexcept;
  bool stage(destination_packet& packet, std::size_t bytes);
  void open(destination_packet& packet, core::outgoing&& out, std::size_t bytes);
  bool close(destination_packet& packet);
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
  std::size_t stage_bytes_;    ///< 0: packets begin in a slot
  std::uint64_t wait_ns_max_;  ///< 0: no limit
  Places places_;
  std::size_t bytes_open_ = 0;
  std::size_t bytes_open_peak_ = 0;
  std::vector<std::uint32_t> listed_;  ///< every open packet by its index, and maybe some that are not
  std::optional<packet_size_tuner> tuner_;
  std::uint64_t tuned_epoch_ = 0;  ///< in which the tuner was last told something
  opening_order open_;             ///< packets by their index, if there is a limit of time
};

extern template class packet_buffers<places_by_rank>;
extern template class packet_buffers<places_of_few>;

}  // namespace amity::detail
