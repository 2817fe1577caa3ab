#pragma once

/// The seal of a packet: a keyed hash of its header that nobody can make who does not know the job's secret.
///
/// SipHash-2-4 (Aumasson and Bernstein, 2012) of four words. The secret itself never travels, so that reading packets
/// does not help to forge others.

#include <bit>
#include <cstdint>

namespace amity::fabric::ofi {

/// A job's secret: random, the same on all its ranks, known to nobody else.
struct secret {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
};

/// The state of a SipHash.
class sip_state {
 public:
  explicit constexpr sip_state(const secret& key)
      : v0_(key.low ^ 0x736f6d6570736575),
        v1_(key.high ^ 0x646f72616e646f6d),
        v2_(key.low ^ 0x6c7967656e657261),
        v3_(key.high ^ 0x7465646279746573) {}

  constexpr void add(std::uint64_t word) {
    v3_ ^= word;
    round();
    round();
    v0_ ^= word;
  }

  constexpr std::uint64_t finish() {
    v2_ ^= 0xff;
    for (int i = 0; i < 4; ++i) round();
    return v0_ ^ v1_ ^ v2_ ^ v3_;
  }

 private:
  constexpr void round() {
    v0_ += v1_;
    v2_ += v3_;
    v1_ = std::rotl(v1_, 13) ^ v0_;
    v3_ = std::rotl(v3_, 16) ^ v2_;
    v0_ = std::rotl(v0_, 32);
    v2_ += v1_;
    v0_ += v3_;
    v1_ = std::rotl(v1_, 17) ^ v2_;
    v3_ = std::rotl(v3_, 21) ^ v0_;
    v2_ = std::rotl(v2_, 32);
  }

  std::uint64_t v0_, v1_, v2_, v3_;
};

}  // namespace amity::fabric::ofi
