#pragma once

/// The packets that one message type has open: at most one a destination, filled in place.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "amity/base/types.hpp"
#include "amity/core/endpoint.hpp"

namespace amity::detail {

class packet_buffers final : public core::flushable {
 public:
  /// Packets of at most `bytes_max` bytes for `handler`. Messages of `item_bytes` each, or of varying size if 0.
  packet_buffers(core::endpoint& owner, core::handler_id handler, std::size_t item_bytes, std::size_t bytes_max);
  ~packet_buffers();
  packet_buffers(const packet_buffers&) = delete;
  packet_buffers& operator=(const packet_buffers&) = delete;

  /// Room for one item of `Bytes`, the size that was given to the constructor, in the packet for `dest`. The caller
  /// fills it at once. May run handlers before it returns, unless called from one. Throws `error` for a wrong rank and
  /// outside an epoch. This is the hot path of coalesced messages: two comparisons, and no atomic.
  template <std::size_t Bytes>
  std::byte* claim_item(rank_t dest) {
    if (static_cast<std::uint32_t>(dest) >= size_) [[unlikely]]
      throw_wrong_rank(dest);
    cursor& at = cursors_[static_cast<std::size_t>(dest)];
    if (at.next == at.end) [[unlikely]]
      replace(dest, Bytes);
    std::byte* const place = at.next;
    at.next = place + Bytes;
    return place;
  }

  /// Room for `bytes` contiguous bytes, 0 < bytes <= bytes_max, for one message of varying size. They become part of
  /// the packet by `commit_record`; nothing else may be called between the two. Otherwise as `claim_item`.
  std::byte* reserve_record(rank_t dest, std::size_t bytes) {
    if (static_cast<std::uint32_t>(dest) >= size_) [[unlikely]]
      throw_wrong_rank(dest);
    const cursor& at = cursors_[static_cast<std::size_t>(dest)];
    if (static_cast<std::size_t>(at.end - at.next) < bytes) [[unlikely]]
      replace(dest, bytes);
    return at.next;
  }
  void commit_record(rank_t dest, std::size_t bytes) noexcept {
    cursors_[static_cast<std::size_t>(dest)].next += bytes;
    ++packets_[static_cast<std::size_t>(dest)].records;
  }

  /// Messages of varying size in the packet that is open for `dest`.
  std::uint32_t records(rank_t dest) const noexcept { return packets_[static_cast<std::size_t>(dest)].records; }

  void flush(rank_t dest) override;
  bool flush_all() override;

 private:
  struct cursor {
    std::byte* next = nullptr;
    std::byte* end = nullptr;  ///< equals `next` when no packet is open
  };

  struct packet {
    core::outgoing out;
    std::uint32_t records = 0;
    bool listed = false;  ///< in `listed_`
  };

  [[gnu::noinline]] void replace(rank_t dest, std::size_t bytes);
  void open(rank_t dest);
  bool close(rank_t dest);
  [[noreturn]] void throw_wrong_rank(rank_t dest) const;

  core::endpoint& endpoint_;
  core::handler_id handler_;
  std::uint32_t size_;
  std::size_t item_bytes_;
  std::size_t bytes_max_;
  // Two arrays, so that what a send reads lies close together.
  std::vector<cursor> cursors_;
  std::vector<packet> packets_;
  std::vector<rank_t> listed_;  ///< every destination with an open packet, and maybe some without
};

}  // namespace amity::detail
