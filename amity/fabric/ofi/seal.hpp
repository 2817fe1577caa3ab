#pragma once

/// The seal of a packet: an authentication tag over its header and payload.
///
/// The tag is Poly1305 (RFC 8439, section 2.5) of the packet under a key that is used for this packet alone. These
/// one-time keys are the key stream of ChaCha20, cut in pieces of 32 bytes: packet n takes piece n. Each direction of
/// each pair of ranks has its own ChaCha20 key, derived from the key of the job. docs/decisions/0019-sealed-packets.md
/// has the reasons and the conditions; the one that callers must keep: of two packets with the same number, source and
/// target, at most one leaves the process.
///
/// An object that does not seal gives all packets of a direction the same tag, a token derived from the key of the job.
/// It keeps processes out that cannot read the traffic, among them those of other jobs, and costs nothing.

#include <array>
#include <cstddef>
#include <cstdint>

#include "amity/base/types.hpp"
#include "amity/fabric/ofi/sodium.hpp"

namespace amity::fabric::ofi {

/// Random, the same on all ranks of a job. Rank 0 makes it and sends it to the others when the job starts, by the
/// launcher: through memory that the processes share, or through the network of a process manager (SECURITY.md).
struct job_key {
  std::array<unsigned char, crypto_kdf_KEYBYTES> bytes{};
};

using packet_tag = std::array<std::byte, crypto_onetimeauth_BYTES>;

/// A value that a process without the key of the job cannot guess, for each purpose and number another one.
enum class token_purpose { packet, segment, notification };
packet_tag token_of(const sodium& library, const job_key& key, token_purpose purpose, std::uint64_t number) noexcept;

/// Makes and verifies the tags of the packets from one rank to another. No allocation after construction.
/// About 600 bytes.
class packet_seal {
 public:
  /// Ranks are those of the fabric. `sealed`: false for tokens.
  packet_seal(const sodium& library, const job_key& key, rank_t source, rank_t target, bool sealed) noexcept;

  /// `number` counts the packets from the source to the target; `packet` is what the tag covers.
  packet_tag tag(std::uint64_t number, bytes_view packet) noexcept;
  bool verify(const packet_tag& given, std::uint64_t number, bytes_view packet) noexcept;

 private:
  static constexpr std::size_t keys_at_once = 16;  ///< eight blocks: what vector units compute at a time
  static constexpr std::uint64_t none = ~std::uint64_t{0};

  const unsigned char* one_time_key(std::uint64_t number) noexcept;

  sodium library_;
  bool sealed_;
  std::array<unsigned char, crypto_stream_chacha20_KEYBYTES> key_{};
  std::uint64_t first_ = none;  ///< packet that takes the first of `keys_`
  std::array<unsigned char, keys_at_once * crypto_onetimeauth_KEYBYTES> keys_{};
  packet_tag token_{};
};

}  // namespace amity::fabric::ofi
