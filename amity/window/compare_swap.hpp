#pragma once

/// Compare and swap of integers of 1, 2, 4 or 8 bytes in the memory of a window.

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace amity::detail {

/// Bits of integers, or of words of the same size.
struct swap_operands {
  std::uint64_t expected;
  std::uint64_t desired;
};

/// Whether a processor's instruction does it.
inline bool may_compare_swap(const std::byte* there, std::size_t bytes) noexcept {
  return (bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8) && reinterpret_cast<std::uintptr_t>(there) % bytes == 0;
}

/// Returns what was there before. Words are bits in the lowest bytes.
inline std::uint64_t compare_swap(std::byte* there, std::size_t bytes, std::uint64_t expected,
                                  std::uint64_t desired) noexcept {
  const auto swap = [&]<class Word>(Word before) -> std::uint64_t {
    std::atomic_ref(*reinterpret_cast<Word*>(there)).compare_exchange_strong(before, static_cast<Word>(desired));
    return before;
  };
  switch (bytes) {
    case 1:
      return swap(static_cast<std::uint8_t>(expected));
    case 2:
      return swap(static_cast<std::uint16_t>(expected));
    case 4:
      return swap(static_cast<std::uint32_t>(expected));
    default:
      return swap(static_cast<std::uint64_t>(expected));
  }
}

}  // namespace amity::detail
