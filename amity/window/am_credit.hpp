#pragma once

/// Space in the buffers of a target that it keeps for one origin, which uses it without a request. Both count it.
///
/// The target may change the size at any time. What an origin sends beyond it is refused, and sent again.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "amity/window/am_buffers.hpp"

namespace amity::detail {

class am_credit final {
 public:
  /// From now on these are the bytes of a buffer, also if units have more of them.
  void set(std::uint32_t buffer, std::uint64_t bytes);
  bool empty() const noexcept { return free_.empty(); }
  std::uint64_t bytes() const noexcept;
  std::uint64_t bytes_in(std::uint32_t buffer) const noexcept;
  std::uint64_t free_in(std::uint32_t buffer) const noexcept;
  /// By buffer.
  const std::vector<am_free>& free() const noexcept { return free_; }

  /// Takes space for a unit. False: there is less.
  bool try_take(const am_need& of_unit, const am_room& where) noexcept;
  void give_back(const am_need& of_unit, const am_room& where) noexcept;
  /// The part of a unit in one buffer. Returns by how much the free bytes have grown.
  std::uint64_t give_back(std::uint32_t buffer, std::uint64_t bytes) noexcept;

 private:
  struct part {
    std::uint64_t bytes;
    std::uint64_t used;
  };

  std::size_t find(std::uint32_t buffer) const noexcept;
  void take(std::uint32_t buffer, std::uint64_t bytes) noexcept;
  void update(std::size_t at) noexcept;

  std::vector<part> parts_;
  std::vector<am_free> free_;  ///< of these parts
};

}  // namespace amity::detail
