#pragma once

/// The spill: packets that handlers sent while there was no credit.
///
/// A handler must not wait, so what it sends without a credit is set aside here, in memory of the sender, and goes out
/// as credits return: newest first, which keeps the spill shallow (depth first instead of breadth first). The spill
/// has a hard limit; its owner ends the job there.

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "amity/base/types.hpp"
#include "amity/core/packet_header.hpp"

namespace amity::core {

/// One packet that waits, or is being filled. Its payload is aligned to the cache line.
class spilled_packet {
 public:
  explicit spilled_packet(std::size_t capacity)
      : data_(static_cast<std::byte*>(::operator new (capacity, std::align_val_t{cache_line_bytes}))),
        capacity_(capacity) {}

  std::byte* data() const noexcept { return data_.get(); }
  std::size_t capacity() const noexcept { return capacity_; }
  /// What it takes while it waits: its bytes, and about as much for itself as the allocator and the list do.
  std::size_t memory_bytes() const noexcept { return capacity_ + overhead_bytes; }

  static constexpr std::size_t overhead_bytes = 128;

  packet_header header;
  std::size_t bytes = 0;  ///< of `data` in use

 private:
  struct aligned_delete {
    void operator()(std::byte* data) const { ::operator delete (data, std::align_val_t{cache_line_bytes}); }
  };
  std::unique_ptr<std::byte, aligned_delete> data_;
  std::size_t capacity_;
};

class spill {
 public:
  bool empty() const noexcept { return packets_ == 0; }
  std::size_t packets() const noexcept { return packets_; }
  std::size_t bytes() const noexcept { return bytes_; }
  std::size_t bytes_peak() const noexcept { return bytes_peak_; }

  void push(rank_t dest, std::unique_ptr<spilled_packet> waiting) {
    ++packets_;
    bytes_ += waiting->memory_bytes();
    if (bytes_ > bytes_peak_) bytes_peak_ = bytes_;
    by_peer_[dest].push_back(std::move(waiting));
  }

  /// Offers waiting packets to `try_send(dest, packet) -> bool`, newest first for each peer, until it refuses that
  /// peer. Returns how many went out.
  template <class TrySend>
  std::size_t drain(TrySend&& try_send) {
    const std::size_t before = packets_;
    for (auto peer = by_peer_.begin(); peer != by_peer_.end();) {
      auto& stack = peer->second;
      while (!stack.empty() && try_send(peer->first, *stack.back())) {
        --packets_;
        bytes_ -= stack.back()->memory_bytes();
        stack.pop_back();
      }
      peer = stack.empty() ? by_peer_.erase(peer) : std::next(peer);
    }
    return before - packets_;
  }

  /// Calls visit(dest, packets) for each peer that packets wait for.
  template <class Visit>
  void for_each_peer(Visit&& visit) const {
    for (const auto& [dest, stack] : by_peer_) visit(dest, stack.size());
  }

 private:
  std::unordered_map<rank_t, std::vector<std::unique_ptr<spilled_packet>>> by_peer_;
  std::size_t packets_ = 0;
  std::size_t bytes_ = 0;
  std::size_t bytes_peak_ = 0;
};

}  // namespace amity::core
