#pragma once

/// The packets that are open, in the order in which they were opened: who has waited longest is found at once.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "amity/base/types.hpp"

namespace amity::detail {

/// Packets are numbered from 0; memory is one entry for each number that was ever used.
class opening_order {
 public:
  bool empty() const noexcept { return first_ == none; }
  /// Of the packet that was opened first, if there is one.
  rank_t oldest_dest() const noexcept { return entries_[first_].dest; }
  std::uint64_t oldest_ns() const noexcept { return entries_[first_].opened_ns; }

  /// The packet is not open yet, and nothing was opened later than `now_ns`.
  void open(std::uint32_t packet, rank_t dest, std::uint64_t now_ns) {
    if (packet >= entries_.size()) entries_.resize(packet + std::size_t{1});
    entries_[packet] = {.opened_ns = now_ns, .dest = dest, .before = last_, .after = none};
    (last_ == none ? first_ : entries_[last_].after) = packet;
    last_ = packet;
  }
  /// The packet is open.
  void close(std::uint32_t packet) noexcept {
    const entry closed = entries_[packet];
    (closed.before == none ? first_ : entries_[closed.before].after) = closed.after;
    (closed.after == none ? last_ : entries_[closed.after].before) = closed.before;
  }

 private:
  static constexpr std::uint32_t none = ~std::uint32_t{0};

  struct entry {
    std::uint64_t opened_ns = 0;
    rank_t dest = no_rank;
    std::uint32_t before = none;
    std::uint32_t after = none;
  };

  std::vector<entry> entries_;
  std::uint32_t first_ = none;
  std::uint32_t last_ = none;
};

}  // namespace amity::detail
