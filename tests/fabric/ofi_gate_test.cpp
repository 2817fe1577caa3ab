/// The gate of the fabric ofi, and the seals that it relies on, with packets that were changed, copied, cut or
/// invented.

#include <array>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "amity/base/random.hpp"
#include "amity/fabric/ofi/gate.hpp"
#include "tests/support/cases.hpp"

namespace amity::fabric::ofi {
namespace {

constexpr std::size_t packet_bytes_max = 256;
constexpr std::uint32_t credits = 4;
constexpr rank_t ranks = 3;

sodium library() {
  sodium loaded;
  std::string why;
  EXPECT_TRUE(loaded.load(why)) << why;
  return loaded;
}

job_key key_of(unsigned char first) {
  job_key made;
  for (unsigned char& each : made.bytes) each = first++;
  return made;
}

gate gate_of(rank_t rank, const job_key& key = key_of(1), bool sealed = true) {
  return gate({.crypto = library(),
               .key = key,
               .sealed = sealed,
               .rank = rank,
               .size = ranks,
               .packet_bytes_max = packet_bytes_max,
               .credits = credits});
}

using bytes = std::vector<std::byte>;

/// A sealed packet as it lies in a receive buffer of exactly its size, so that a sanitizer detects a read beyond its
/// end.
bytes sealed(gate& from, rank_t dest, packet_kind kind, std::uint64_t header, std::size_t payload_bytes) {
  bytes all(header_bytes + payload_bytes, std::byte{0x5a});
  from.seal(dest, kind, header, all.data(), payload_bytes);
  return all;
}

/// Seals the next packet of `from` to `dest` and counts it as sent.
bytes next_packet(gate& from, rank_t dest, packet_kind kind, std::uint64_t header, std::size_t payload_bytes) {
  const bytes made = sealed(from, dest, kind, header, payload_bytes);
  from.sent(dest, from.with(dest).released_in);
  if (kind == packet_kind::data) ++from.with(dest).data_out;
  return made;
}

admission admit(gate& by, const bytes& arrived) {
  admitted_packet ignored;
  return by.admit(arrived, ignored);
}

bytes text(std::string_view characters) {
  const auto* const begin = reinterpret_cast<const std::byte*>(characters.data());
  return {begin, begin + characters.size()};
}

// What RFC 8439 gives as the key stream of ChaCha20 and the tag of Poly1305, put together as seal.hpp says.
TEST(packet_seal, tag_is_poly1305_under_chacha20_keys) {
  const job_key key = key_of(7);
  const bytes packet = text("Cryptographic Forum Research Group");
  packet_seal seal(library(), key, 2, 1, true);
  unsigned char subkey[32];
  ASSERT_EQ(
      ::crypto_kdf_derive_from_key(subkey, sizeof subkey, (std::uint64_t{2} << 32) | 1, "amtyseal", key.bytes.data()),
      0);
  for (const std::uint64_t number : {0u, 1u, 15u, 16u, 17u, 1000u}) {
    unsigned char stream[1001 * 32];
    const unsigned char nonce[8]{};
    ASSERT_EQ(::crypto_stream_chacha20(stream, sizeof stream, nonce, subkey), 0);
    packet_tag expected;
    ::crypto_onetimeauth(reinterpret_cast<unsigned char*>(expected.data()),
                         reinterpret_cast<const unsigned char*>(packet.data()), packet.size(), stream + 32 * number);
    EXPECT_EQ(seal.tag(number, packet), expected) << number;
    EXPECT_TRUE(seal.verify(expected, number, packet)) << number;
  }
}

TEST(packet_seal, tag_depends_on_every_bit) {
  const bytes packet = text("payload");
  const packet_tag standard = packet_seal(library(), key_of(1), 0, 1, true).tag(5, packet);
  for (std::size_t bit = 0; bit < 8 * sizeof(job_key); ++bit) {
    job_key other = key_of(1);
    other.bytes[bit / 8] = static_cast<unsigned char>(other.bytes[bit / 8] ^ (1u << bit % 8));
    EXPECT_NE(packet_seal(library(), other, 0, 1, true).tag(5, packet), standard) << bit;
  }
  packet_seal seal(library(), key_of(1), 0, 1, true);
  for (std::size_t bit = 0; bit < 8 * packet.size(); ++bit) {
    bytes other = packet;
    other[bit / 8] ^= std::byte{1} << bit % 8;
    EXPECT_NE(seal.tag(5, other), standard) << bit;
  }
  for (std::size_t bit = 0; bit < 64; ++bit) {
    EXPECT_NE(seal.tag(5 ^ std::uint64_t{1} << bit, packet), standard) << bit;
  }
  EXPECT_NE(packet_seal(library(), key_of(1), 1, 0, true).tag(5, packet), standard);  // the other direction
  EXPECT_NE(packet_seal(library(), key_of(1), 0, 2, true).tag(5, packet), standard);
  EXPECT_EQ(seal.tag(5, packet), standard);
}

TEST(packet_seal, unsealed_tag_is_token_of_direction) {
  const auto token = [](const job_key& key, rank_t source, rank_t target) {
    return packet_seal(library(), key, source, target, false).tag(3, text("any"));
  };
  const packet_tag standard = token(key_of(1), 0, 1);
  EXPECT_EQ(packet_seal(library(), key_of(1), 0, 1, false).tag(4, text("other")), standard);
  EXPECT_NE(token(key_of(1), 1, 0), standard);
  EXPECT_NE(token(key_of(2), 0, 1), standard);
  EXPECT_NE(packet_seal(library(), key_of(1), 0, 1, true).tag(3, text("any")), standard);
}

TEST(gate, admits_what_a_rank_of_the_job_has_sent) {
  gate source = gate_of(0), target = gate_of(1);
  for (const std::size_t payload_bytes : {std::size_t{0}, std::size_t{7}, packet_bytes_max}) {
    const bytes arrived = next_packet(source, 1, packet_kind::data, 42 + payload_bytes, payload_bytes);
    admitted_packet found;
    ASSERT_EQ(target.admit(arrived, found), admission::admitted);
    EXPECT_EQ(found.source, 0);
    EXPECT_EQ(found.header, 42 + payload_bytes);
    EXPECT_EQ(found.payload.size(), payload_bytes);
    EXPECT_EQ(found.payload.data(), arrived.data() + sizeof(wire_header));
  }
  EXPECT_EQ(target.refused(), 0u);
}

TEST(gate, packet_with_other_key_refused) {
  for (const bool is_sealed : {true, false}) {
    gate stranger = gate_of(0, key_of(2), is_sealed), target = gate_of(1, key_of(1), is_sealed);
    EXPECT_EQ(admit(target, next_packet(stranger, 1, packet_kind::data, 1, 8)), admission::wrong_seal);
    EXPECT_EQ(admit(target, {}), admission::too_short);
    EXPECT_EQ(target.refused(), 2u);
    EXPECT_EQ(target.count(admission::wrong_seal), 1u);
  }
}

// The header is valid, and so is the length of the payload: what a process can send that reads the traffic.
TEST(gate, changed_payload_refused_and_counted) {
  gate source = gate_of(0), target = gate_of(1);
  for (const std::size_t payload_bytes : {std::size_t{1}, std::size_t{8}, std::size_t{100}, packet_bytes_max}) {
    const bytes genuine = next_packet(source, 1, packet_kind::data, 1, payload_bytes);
    for (std::size_t place = header_bytes; place < genuine.size(); ++place) {
      bytes changed = genuine;
      changed[place] ^= std::byte{0x80};
      EXPECT_EQ(admit(target, changed), admission::wrong_seal) << place;
    }
    EXPECT_EQ(target.refused(), payload_bytes);
    EXPECT_EQ(target.count(admission::wrong_seal), payload_bytes);
    EXPECT_EQ(admit(target, genuine), admission::admitted);
    ++target.with(0).released_in;
    target = gate_of(1);
    source = gate_of(0);
  }
}

TEST(gate, packet_for_other_rank_refused) {
  for (const bool is_sealed : {true, false}) {
    gate source = gate_of(0, key_of(1), is_sealed), target = gate_of(1, key_of(1), is_sealed);
    EXPECT_EQ(admit(target, next_packet(source, 2, packet_kind::data, 1, 8)), admission::wrong_seal);
  }
}

// A rank must not take its own packets for those of a peer either.
TEST(gate, reflected_packet_refused) {
  gate own = gate_of(0);
  EXPECT_EQ(admit(own, next_packet(own, 1, packet_kind::data, 1, 8)), admission::wrong_seal);
}

TEST(gate, copy_refused_and_loss_names_source) {
  gate source = gate_of(0), target = gate_of(1);
  const bytes first = next_packet(source, 1, packet_kind::data, 1, 8);
  const bytes second = next_packet(source, 1, packet_kind::data, 2, 8);
  admitted_packet found;
  EXPECT_EQ(target.admit(second, found), admission::lost);
  EXPECT_EQ(found.source, 0);
  EXPECT_EQ(admit(target, first), admission::admitted);
  EXPECT_EQ(admit(target, first), admission::wrong_sequence);
  EXPECT_EQ(admit(target, second), admission::admitted);
  EXPECT_TRUE(ends_job(admission::lost));
  EXPECT_FALSE(ends_job(admission::wrong_sequence));
}

// Keys are made for 16 packets at a time: packets of one batch, and those around its ends.
TEST(gate, copies_of_earlier_batches_refused) {
  gate source = gate_of(0), target = gate_of(1);
  std::vector<bytes> copies;
  for (std::uint64_t i = 0; i < 50; ++i) {
    copies.push_back(next_packet(source, 1, packet_kind::data, i, 8));
    EXPECT_EQ(admit(target, copies.back()), admission::admitted) << i;
    EXPECT_EQ(admit(target, copies[i / 2]), admission::wrong_sequence) << i;
    ++target.with(0).released_in;
  }
}

// A provider that takes no packet leaves it to be sealed again, with what was released since.
TEST(gate, packet_sealed_twice_admitted) {
  gate source = gate_of(0), target = gate_of(1);
  ASSERT_EQ(admit(source, next_packet(target, 0, packet_kind::data, 1, 8)), admission::admitted);
  sealed(source, 1, packet_kind::data, 7, 8);
  ++source.with(1).released_in;
  admitted_packet found;
  EXPECT_EQ(target.admit(sealed(source, 1, packet_kind::data, 7, 8), found), admission::admitted);
  EXPECT_TRUE(found.released);
}

TEST(gate, holds_each_peer_to_its_credits) {
  gate source = gate_of(0), target = gate_of(1);
  for (std::uint32_t i = 0; i < credits; ++i) {
    EXPECT_EQ(admit(target, next_packet(source, 1, packet_kind::data, i, 0)), admission::admitted);
  }
  EXPECT_EQ(source.credits_left(1), 0u);
  const bytes one_more = next_packet(source, 1, packet_kind::data, 9, 0);
  EXPECT_EQ(admit(target, one_more), admission::invalid_credits);
  // A release makes room, and reaches the source with the next packet.
  ++target.with(0).released_in;
  EXPECT_EQ(admit(target, one_more), admission::admitted);
  admitted_packet found;
  EXPECT_EQ(source.admit(next_packet(target, 0, packet_kind::credits, 0, 0), found), admission::admitted);
  EXPECT_TRUE(found.released);
  // More released than sent: a bug of the peer's.
  target.with(0).released_in += 2 * credits;
  EXPECT_EQ(admit(source, next_packet(target, 0, packet_kind::credits, 0, 0)), admission::invalid_credits);
}

TEST(gate, needs_no_credits_of_a_peer_that_has_left) {
  gate source = gate_of(0), target = gate_of(1);
  for (std::uint32_t i = 0; i < credits; ++i) next_packet(source, 1, packet_kind::data, i, 0);  // on their way
  ASSERT_EQ(source.credits_left(1), 0u);
  const bytes goodbye = next_packet(target, 0, packet_kind::goodbye, 0, 0);
  admitted_packet found;
  ASSERT_EQ(source.admit(goodbye, found), admission::admitted);
  EXPECT_TRUE(found.released);  // who waits for credits need not wait any more
  EXPECT_EQ(source.credits_left(1), credits);
}

TEST(gate, admits_all_that_is_sent_after_its_own_goodbye) {
  gate source = gate_of(0), target = gate_of(1);
  target.with(0).heard_goodbye = true;
  for (std::uint32_t i = 0; i < 3 * credits; ++i) {
    EXPECT_EQ(admit(target, next_packet(source, 1, packet_kind::data, i, 0)), admission::admitted);
  }
}

TEST(gate, invalid_packet_with_seal_names_source) {
  gate source = gate_of(0), target = gate_of(1);
  const auto verdict = [&](const bytes& arrived) {
    admitted_packet found;
    const admission made = target.admit(arrived, found);
    EXPECT_EQ(found.source, 0);
    EXPECT_TRUE(ends_job(made));
    EXPECT_NE(describe(made), "it is not authentic");
    return made;
  };
  EXPECT_EQ(verdict(sealed(source, 1, packet_kind{0}, 1, 0)), admission::invalid_kind);
  EXPECT_EQ(verdict(sealed(source, 1, packet_kind{99}, 1, 0)), admission::invalid_kind);
  EXPECT_EQ(verdict(sealed(source, 1, packet_kind::goodbye, 1, 8)), admission::invalid_kind);
  EXPECT_EQ(verdict(sealed(source, 1, packet_kind::data, 1, packet_bytes_max + 1)), admission::invalid_size);

  // The header says one byte less than there are.
  bytes longer = sealed(source, 1, packet_kind::data, 1, 8);
  longer.push_back(std::byte{0});
  packet_seal seal(library(), key_of(1), 0, 1, true);
  const packet_tag tag = seal.tag(0, std::span(longer).subspan(sizeof tag));
  std::memcpy(longer.data(), &tag, sizeof tag);
  EXPECT_EQ(verdict(longer), admission::invalid_size);
}

/// Changes a packet so that it is not what it was.
void spoil(bytes& packet, splitmix64& random) {
  const bytes before = packet;
  while (packet == before) {
    switch (random.below(7)) {
      case 0:  // a bit
        if (!packet.empty()) packet[random.below(packet.size())] ^= std::byte{1} << random.below(8);
        break;
      case 6:  // a bit of the header
        if (!packet.empty()) {
          packet[random.below(std::min(packet.size(), sizeof(wire_header)))] ^= std::byte{1} << random.below(8);
        }
        break;
      case 1:  // a byte of the header
        if (!packet.empty()) {
          packet[random.below(std::min(packet.size(), sizeof(wire_header)))] =
              static_cast<std::byte>(random.below(256));
        }
        break;
      case 2:  // cut off
        packet.resize(random.below(packet.size() + 1));
        break;
      case 3:  // with more behind it
        packet.resize(packet.size() + 1 + random.below(64), std::byte{0xff});
        break;
      case 4:  // nothing but noise
        packet.resize(random.below(sizeof(wire_header) + packet_bytes_max + 64));
        for (std::byte& each : packet) each = static_cast<std::byte>(random.below(256));
        break;
      default:  // a field of four bytes, at one of its limits
        if (packet.size() >= sizeof(wire_header)) {
          const std::uint32_t values[] = {0, 1, 0x7fffffff, 0x80000000, 0xffffffff, ranks};
          std::memcpy(packet.data() + 4 * random.below(10), &values[random.below(std::size(values))], 4);
        }
    }
  }
}

// Genuine packets come through a storm of others, each once and in order, and nothing else does.
TEST(gate, admits_nothing_that_was_altered_or_invented) {
  const std::uint64_t attempts = testing::cases(3'000'000);
  splitmix64 random(7);
  std::array<gate, 2> sources{gate_of(0), gate_of(2)};
  gate target = gate_of(1);
  std::uint64_t genuine = 0;
  std::vector<bytes> seen(1, bytes(sizeof(wire_header)));
  for (std::uint64_t i = 0; i < attempts; ++i) {
    const std::size_t which = random.below(2);
    const auto source = static_cast<rank_t>(2 * which);
    const std::size_t payload_bytes = random.below(2) == 0 ? 8 : random.below(packet_bytes_max + 1);
    if (random.below(16) == 0) {
      const bytes arrived = next_packet(sources[which], 1, packet_kind::data, i, payload_bytes);
      admitted_packet found;
      ASSERT_EQ(target.admit(arrived, found), admission::admitted) << i;
      ASSERT_EQ(found.source, source);
      ASSERT_EQ(found.header, i);
      ASSERT_EQ(found.payload.size(), payload_bytes);
      ++target.with(source).released_in;
      ++genuine;
      // Copies of a few of them come again later.
      if (seen.size() < 64) seen.push_back(arrived);
      continue;
    }
    bytes arrived = random.below(4) == 0 ? seen[random.below(seen.size())]
                                         : sealed(sources[which], 1, packet_kind::data, i, payload_bytes);
    if (random.below(4) == 0 && seen.size() > 1) {
      arrived = seen[1 + random.below(seen.size() - 1)];
    } else {
      spoil(arrived, random);
    }
    const auto exact = std::make_unique<std::byte[]>(arrived.size());
    if (!arrived.empty()) std::memcpy(exact.get(), arrived.data(), arrived.size());
    admitted_packet found;
    const admission verdict = target.admit({exact.get(), arrived.size()}, found);
    ASSERT_NE(verdict, admission::admitted) << i;
    ASSERT_FALSE(ends_job(verdict)) << i;
    ASSERT_EQ(found.source, no_rank) << i;
  }
  EXPECT_EQ(target.count(admission::admitted), genuine);
  EXPECT_EQ(target.refused(), attempts - genuine);
}

}  // namespace
}  // namespace amity::fabric::ofi
