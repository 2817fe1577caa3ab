#pragma once

/// What the tag of a message says: what the message holds, which thread of its process has sent it, and how many
/// credits it brings back.
///
/// A tag is free, while each byte of a message takes time, so a message holds nothing but a packet. MPI keeps what a
/// thread sends on one communicator in order: a header that is the same as in the packet before is left out.

#include <bit>
#include <cstdint>

#include "amity/base/types.hpp"

namespace amity::fabric::mpi {

enum class content : std::uint32_t {
  packet_with_header,  ///< the payload, and behind it the header
  packet,              ///< the payload; the header is that of the sender's packet before, at first 0
  nothing,             ///< but credits
};

/// The tags that so many threads a process need.
class tag_code {
 public:
  struct parts {
    mpi::content content;
    rank_t thread;
    std::uint32_t credits;  ///< at most `credits_max()`
  };

  /// `tag_max` is MPI's bound, at least 32767.
  tag_code(rank_t threads, int tag_max) noexcept
      : thread_bits_(std::bit_width(static_cast<unsigned>(threads - 1))),
        credits_max_(static_cast<std::uint32_t>(tag_max) >> (content_bits + thread_bits_)) {}

  std::uint32_t credits_max() const noexcept { return credits_max_; }

  int pack(const parts& all) const noexcept {
    const auto thread = static_cast<std::uint32_t>(all.thread);
    return static_cast<int>(static_cast<std::uint32_t>(all.content) | thread << content_bits |
                            all.credits << (content_bits + thread_bits_));
  }
  parts unpack(int tag) const noexcept {
    const auto bits = static_cast<std::uint32_t>(tag);
    return {.content = static_cast<mpi::content>(bits & ((1U << content_bits) - 1)),
            .thread = static_cast<rank_t>(bits >> content_bits & ((1U << thread_bits_) - 1)),
            .credits = bits >> (content_bits + thread_bits_)};
  }

 private:
  static constexpr int content_bits = 2;

  int thread_bits_;
  std::uint32_t credits_max_;  ///< > 0
};

}  // namespace amity::fabric::mpi
