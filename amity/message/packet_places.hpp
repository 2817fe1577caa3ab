#pragma once

/// Where a message type keeps its packets by destination: for types that may send to every rank, and for routed ones,
/// which send to few of many.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "amity/base/rank_map.hpp"
#include "amity/base/types.hpp"
#include "amity/base/zeros.hpp"
#include "amity/core/endpoint.hpp"

namespace amity::detail {

/// In front of the records of a packet: how many there are.
using record_count = std::uint32_t;
inline constexpr record_count records_max = (record_count{1} << 31) - 1;  // a bit short, which `listed` has

/// Where the next message of an open packet goes.
struct packet_cursor {
  std::byte* next = nullptr;
  std::byte* end = nullptr;  ///< equals `next` when no packet is open
};

/// The packet of a destination, open or not.
struct destination_packet {
  core::outgoing out;
  rank_t dest = no_rank;
  record_count records : 31 = 0;
  record_count listed : 1 = 0;  ///< among those that may be open
};

/// One of all destinations: a send finds its packet without a search. Takes 20 bytes a destination where one of its
/// page is sent to.
class places_by_rank {
 public:
  static constexpr std::size_t stage_bytes = 0;

  explicit places_by_rank(std::uint32_t destinations) : cursors_(destinations), places_(destinations) {}

  /// Of the packet for `dest`; null if there never was one. What a send reads lies close together.
  packet_cursor* find_cursor(rank_t dest) noexcept { return &cursors_[static_cast<std::size_t>(dest)]; }
  packet_cursor& cursor_of(const destination_packet& packet) noexcept {
    return cursors_[static_cast<std::size_t>(packet.dest)];
  }
  static std::byte* stage_of(destination_packet&) noexcept { return nullptr; }

  destination_packet* find(rank_t dest) noexcept {
    const std::uint32_t place = places_[static_cast<std::size_t>(dest)];
    return place == 0 ? nullptr : &packets_[place - 1];
  }
  /// References are valid until the next call of this function.
  destination_packet& find_or_add(rank_t dest) {
    std::uint32_t& place = places_[static_cast<std::size_t>(dest)];
    if (place == 0) {
      packets_.emplace_back().dest = dest;
      place = static_cast<std::uint32_t>(packets_.size());
    }
    return packets_[place - 1];
  }
  std::uint32_t index_of(const destination_packet& packet) const noexcept {
    return static_cast<std::uint32_t>(&packet - packets_.data());
  }
  destination_packet& operator[](std::uint32_t index) noexcept { return packets_[index]; }
  std::size_t size() const noexcept { return packets_.size(); }

 private:
  zeros<packet_cursor> cursors_;
  zeros<std::uint32_t> places_;  ///< in `packets_`, plus one; 0: never sent to
  std::vector<destination_packet> packets_;
};

/// Few of many destinations, in a table of those that were ever sent to. With each comes a stage: packets with little
/// in them, as those of many ranks are, are collected there and need no slot of the fabric.
class places_of_few {
 public:
  static constexpr std::size_t stage_bytes = 64;

  explicit places_of_few(std::uint32_t) {}

  packet_cursor* find_cursor(rank_t dest) noexcept {
    const std::uint32_t* const index = index_.find(dest);
    return index == nullptr ? nullptr : &places_[*index];
  }
  static packet_cursor& cursor_of(destination_packet& packet) noexcept { return static_cast<place&>(packet); }
  static std::byte* stage_of(destination_packet& packet) noexcept { return static_cast<place&>(packet).stage; }

  destination_packet* find(rank_t dest) noexcept {
    const std::uint32_t* const index = index_.find(dest);
    return index == nullptr ? nullptr : &places_[*index];
  }
  /// References stay valid.
  destination_packet& find_or_add(rank_t dest) {
    if (const std::uint32_t* const index = index_.find(dest)) return places_[*index];
    index_[dest] = static_cast<std::uint32_t>(places_.size());
    destination_packet& added = places_.emplace_back();
    added.dest = dest;
    return added;
  }
  std::uint32_t index_of(const destination_packet& packet) const noexcept { return *index_.find(packet.dest); }
  destination_packet& operator[](std::uint32_t index) noexcept { return places_[index]; }
  std::size_t size() const noexcept { return places_.size(); }

 private:
  // Two cache lines: ranks by the thousand find them cold.
  struct alignas(cache_line_bytes) place : packet_cursor, destination_packet {
    alignas(cache_line_bytes) std::byte stage[stage_bytes];
  };
  static_assert(sizeof(place) == 2 * cache_line_bytes);

  rank_map<std::uint32_t> index_;
  std::deque<place> places_;
};

}  // namespace amity::detail
