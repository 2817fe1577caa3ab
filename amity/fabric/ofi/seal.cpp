#include "amity/fabric/ofi/seal.hpp"

#include <cstring>

namespace amity::fabric::ofi {
namespace {

/// Keeps keys and tokens of different purposes apart.
using context = char[crypto_kdf_CONTEXTBYTES + 1];
constexpr context seal_context = "amtyseal";
constexpr context token_contexts[] = {"amtypack", "amtysegm", "amtynote"};  // by purpose

/// Ranks of a fabric fit in 32 bits.
constexpr std::uint64_t direction(rank_t source, rank_t target) {
  return std::uint64_t{static_cast<std::uint32_t>(source)} << 32 | static_cast<std::uint32_t>(target);
}

const unsigned char* as_chars(bytes_view bytes) noexcept {
  return reinterpret_cast<const unsigned char*>(bytes.data());
}

}  // namespace

packet_tag token_of(const sodium& library, const job_key& key, token_purpose purpose, std::uint64_t number) noexcept {
  packet_tag made;
  static_assert(made.size() >= crypto_kdf_BYTES_MIN);
  library.derive_key(reinterpret_cast<unsigned char*>(made.data()), made.size(), number,
                     token_contexts[static_cast<std::size_t>(purpose)], key.bytes.data());
  return made;
}

packet_seal::packet_seal(const sodium& library, const job_key& key, rank_t source, rank_t target, bool sealed) noexcept
    : library_(library), sealed_(sealed) {
  const std::uint64_t number = direction(source, target);
  if (sealed_) {
    library_.derive_key(key_.data(), key_.size(), number, seal_context, key.bytes.data());
  } else {
    token_ = token_of(library, key, token_purpose::packet, number);
  }
}

const unsigned char* packet_seal::one_time_key(std::uint64_t number) noexcept {
  const std::uint64_t place = number % keys_at_once;
  if (number - place != first_) {
    first_ = number - place;
    constexpr std::size_t block_bytes = 64;
    constexpr std::size_t blocks = sizeof keys_ / block_bytes;
    constexpr std::array<unsigned char, crypto_stream_chacha20_NONCEBYTES> nonce{};  // each key has one stream
    keys_.fill(0);
    library_.chacha20_xor(keys_.data(), keys_.data(), keys_.size(), nonce.data(), first_ / keys_at_once * blocks,
                          key_.data());
  }
  return keys_.data() + place * crypto_onetimeauth_KEYBYTES;
}

packet_tag packet_seal::tag(std::uint64_t number, bytes_view packet) noexcept {
  if (!sealed_) return token_;
  packet_tag made;
  library_.poly1305(reinterpret_cast<unsigned char*>(made.data()), as_chars(packet), packet.size(),
                    one_time_key(number));
  return made;
}

bool packet_seal::verify(const packet_tag& given, std::uint64_t number, bytes_view packet) noexcept {
  if (!sealed_) return given == token_;
  return library_.poly1305_verify(reinterpret_cast<const unsigned char*>(given.data()), as_chars(packet), packet.size(),
                                  one_time_key(number)) == 0;
}

}  // namespace amity::fabric::ofi
