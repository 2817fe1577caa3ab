#pragma once

/// Buffers of one size, each for one message: the payload of a packet on a cache line, and behind it the header.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <vector>

#include "amity/base/assert.hpp"
#include "amity/base/types.hpp"
#include "amity/base/zeros.hpp"

namespace amity::fabric::mpi {

inline constexpr std::size_t header_bytes = sizeof(std::uint64_t);

/// Packets have whole cache lines.
inline std::size_t buffer_bytes(std::size_t packet_bytes) noexcept { return packet_bytes + cache_line_bytes; }

/// Where messages are built. All buffers that can be needed at once are there from the start, but take memory only once
/// they are used; the one that came back last goes out first.
class send_buffers {
 public:
  send_buffers(std::size_t count, std::size_t packet_bytes)
      : stride_(buffer_bytes(packet_bytes)), count_(count), memory_(count * stride_ + cache_line_bytes) {
    free_.reserve(count);
    const auto address = reinterpret_cast<std::uintptr_t>(memory_.data());
    first_ =
        static_cast<std::byte*>(memory_.data()) + (cache_line_bytes - address % cache_line_bytes) % cache_line_bytes;
  }

  /// At most `count` at once.
  std::uint32_t take() noexcept {
    AMITY_DEBUG_ASSERT(!free_.empty() || used_ < count_, used_);
    if (free_.empty()) return static_cast<std::uint32_t>(used_++);
    const std::uint32_t last = free_.back();
    free_.pop_back();
    return last;
  }
  void give_back(std::uint32_t index) noexcept { free_.push_back(index); }  // room for all is reserved

  std::byte* operator[](std::uint32_t index) const noexcept { return first_ + index * stride_; }

 private:
  std::size_t stride_;
  std::size_t count_;
  zeroed_memory memory_;
  std::byte* first_;
  std::size_t used_ = 0;  ///< buffers that have been taken at least once
  std::vector<std::uint32_t> free_;
};

/// Where messages arrive. There are as many as receives are posted, and more only while packets are kept: credits bound
/// how many.
class receive_buffers {
 public:
  explicit receive_buffers(std::size_t packet_bytes) : bytes_(buffer_bytes(packet_bytes)) {}

  std::uint32_t take() {
    if (free_.empty()) return add();
    const std::uint32_t last = free_.back();
    free_.pop_back();
    return last;
  }
  void give_back(std::uint32_t index) noexcept { free_.push_back(index); }

  std::byte* operator[](std::uint32_t index) const noexcept { return all_[index].get(); }
  std::size_t bytes() const noexcept { return bytes_; }

 private:
  struct deleter {
    void operator()(std::byte* block) const noexcept { ::operator delete[](block, std::align_val_t(cache_line_bytes)); }
  };

  std::uint32_t add() {
    all_.emplace_back(static_cast<std::byte*>(::operator new[](bytes_, std::align_val_t(cache_line_bytes))));
    free_.reserve(all_.size());
    return static_cast<std::uint32_t>(all_.size() - 1);
  }

  std::size_t bytes_;
  std::vector<std::unique_ptr<std::byte[], deleter>> all_;
  std::vector<std::uint32_t> free_;
};

}  // namespace amity::fabric::mpi
