#pragma once

/// Small seeded generators: the same seed gives the same numbers on every machine.

#include <cstdint>

namespace amity {

/// SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", OOPSLA 2014).
/// Good for seeding, for hashing small keys, and wherever one 64-bit state is enough.
class splitmix64 {
 public:
  using result_type = std::uint64_t;

  explicit constexpr splitmix64(std::uint64_t seed) noexcept : state_(seed) {}

  constexpr std::uint64_t operator()() noexcept { return mix(state_ += 0x9e3779b97f4a7c15u); }

  /// Uniform in [0, bound); bound > 0. The bias is below bound / 2^64.
  constexpr std::uint64_t below(std::uint64_t bound) noexcept {
    __extension__ using product = unsigned __int128;
    return static_cast<std::uint64_t>((static_cast<product>((*this)()) * bound) >> 64);
  }

  /// A bijection that spreads every input bit over the whole word.
  static constexpr std::uint64_t mix(std::uint64_t z) noexcept {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }

  static constexpr std::uint64_t min() noexcept { return 0; }
  static constexpr std::uint64_t max() noexcept { return ~std::uint64_t{0}; }

 private:
  std::uint64_t state_;
};

}  // namespace amity
