#pragma once

/// What benchmarks and raw limits do alike, so that they do the same work: random numbers, tables, sums, pinning.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "amity/base/types.hpp"

namespace amity::bench {

/// Xorshift (Marsaglia, "Xorshift RNGs", 2003): few instructions, so that a sender's time is not mostly random numbers.
class xorshift64 {
 public:
  explicit constexpr xorshift64(std::uint64_t stream) noexcept : state_(0x139408dcbbf7a44 + stream) {}

  constexpr std::uint64_t operator()() noexcept {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    return state_ ^= state_ << 17;
  }

 private:
  std::uint64_t state_;
};

/// Zeroed words in huge pages where the machine has them, touched, so that a timed loop meets no page fault.
class huge_words {
 public:
  explicit huge_words(std::size_t count);
  ~huge_words();
  huge_words(const huge_words&) = delete;
  huge_words& operator=(const huge_words&) = delete;

  std::size_t size() const noexcept { return words_.size(); }
  std::uint64_t& operator[](std::size_t i) noexcept { return words_[i]; }
  std::uint64_t* data() noexcept { return words_.data(); }
  std::uint64_t sum() const noexcept;

 private:
  std::span<std::uint64_t> words_;
  std::size_t mapped_bytes_;
};

/// Reads a payload as 64-bit words and adds them: what a handler does that uses all of its payload.
std::uint64_t sum_words(bytes_view payload) noexcept;

/// Writes into each cache line of a payload, as one does who has computed it anew: no line of it is left in the caches
/// of whoever has read it before. Its content stays.
void touch_lines(mutable_bytes payload) noexcept;

/// Pins the calling thread to one of the cores that it may use: core `index`, counted around.
void pin_to_core(int index);

/// Throws std::runtime_error with both values unless they are equal: a benchmark that computed nonsense has no result.
void expect_equal(const std::string& what, std::uint64_t found, std::uint64_t expected);

}  // namespace amity::bench
