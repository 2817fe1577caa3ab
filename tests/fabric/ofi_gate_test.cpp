/// The gate of the fabric ofi against whatever may arrive at a port: altered, copied, cut, invented.

#include <array>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include "amity/base/random.hpp"
#include "amity/fabric/ofi/gate.hpp"
#include "tests/support/cases.hpp"

namespace amity::fabric::ofi {
namespace {

constexpr secret key{.low = 0x0123456789abcdef, .high = 0xfedcba9876543210};
constexpr std::size_t packet_bytes_max = 256;
constexpr std::uint32_t credits = 4;
constexpr rank_t ranks = 3;

gate gate_of(rank_t rank, const secret& with = key) {
  return gate({.key = with, .rank = rank, .size = ranks, .packet_bytes_max = packet_bytes_max, .credits = credits});
}

using bytes = std::vector<std::byte>;

/// A packet as it lies in a receive buffer of exactly its size, so that a look beyond its end is seen.
bytes packed(const wire_header& made, std::size_t payload_bytes) {
  bytes all(sizeof made + payload_bytes, std::byte{0x5a});
  std::memcpy(all.data(), &made, sizeof made);
  return all;
}

/// Seals the next packet of `from` to `dest` and counts it as sent.
bytes next_packet(gate& from, rank_t dest, packet_kind kind, std::uint64_t header, std::size_t payload_bytes) {
  const wire_header made = from.make(dest, kind, header, payload_bytes);
  from.sent(dest, made);
  if (kind == packet_kind::data) ++from.with(dest).data_out;
  return packed(made, payload_bytes);
}

admission admit(gate& by, const bytes& arrived) {
  admitted_packet ignored;
  return by.admit(arrived, ignored);
}

// The vector that SipHash-2-4's authors publish for the eight bytes 0 to 7; the last word holds their number.
TEST(seal, is_the_hash_that_its_authors_describe) {
  sip_state state({.low = 0x0706'0504'0302'0100, .high = 0x0f0e'0d0c'0b0a'0908});
  state.add(0x0706'0504'0302'0100);
  state.add(std::uint64_t{8} << 56);
  EXPECT_EQ(state.finish(), 0x93f5'f579'9a93'2462u);
}

TEST(seal, depends_on_every_bit_of_key_and_words) {
  const auto seal = [](const secret& with, std::array<std::uint64_t, 2> words) {
    sip_state state(with);
    for (const std::uint64_t word : words) state.add(word);
    return state.finish();
  };
  const std::uint64_t standard = seal(key, {1, 2});
  for (int bit = 0; bit < 64; ++bit) {
    const std::uint64_t flip = std::uint64_t{1} << bit;
    EXPECT_NE(seal({key.low ^ flip, key.high}, {1, 2}), standard);
    EXPECT_NE(seal({key.low, key.high ^ flip}, {1, 2}), standard);
    EXPECT_NE(seal(key, {1 ^ flip, 2}), standard);
    EXPECT_NE(seal(key, {1, 2 ^ flip}), standard);
  }
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

TEST(gate, refuses_what_strangers_send) {
  gate stranger = gate_of(0, {.low = key.low + 1, .high = key.high}), target = gate_of(1);
  EXPECT_EQ(admit(target, next_packet(stranger, 1, packet_kind::data, 1, 8)), admission::wrong_seal);
  EXPECT_EQ(admit(target, {}), admission::wrong_size);
  EXPECT_EQ(target.refused(), 2u);
  EXPECT_EQ(target.count(admission::wrong_seal), 1u);
}

TEST(gate, refuses_a_packet_for_another_rank) {
  gate source = gate_of(0), target = gate_of(1);
  EXPECT_EQ(admit(target, next_packet(source, 2, packet_kind::data, 1, 8)), admission::wrong_seal);
}

TEST(gate, refuses_a_copy_and_tells_a_loss) {
  gate source = gate_of(0), target = gate_of(1);
  const bytes first = next_packet(source, 1, packet_kind::data, 1, 8);
  const bytes second = next_packet(source, 1, packet_kind::data, 2, 8);
  EXPECT_EQ(admit(target, second), admission::lost);
  EXPECT_EQ(admit(target, first), admission::admitted);
  EXPECT_EQ(admit(target, first), admission::wrong_sequence);
  EXPECT_EQ(admit(target, second), admission::admitted);
}

TEST(gate, holds_each_peer_to_its_credits) {
  gate source = gate_of(0), target = gate_of(1);
  for (std::uint32_t i = 0; i < credits; ++i) {
    EXPECT_EQ(admit(target, next_packet(source, 1, packet_kind::data, i, 0)), admission::admitted);
  }
  EXPECT_EQ(source.credits_left(1), 0u);
  const bytes one_more = next_packet(source, 1, packet_kind::data, 9, 0);
  EXPECT_EQ(admit(target, one_more), admission::wrong_credits);
  // A release makes room, and reaches the source with the next packet.
  ++target.with(0).released_in;
  EXPECT_EQ(admit(target, one_more), admission::admitted);
  admitted_packet found;
  EXPECT_EQ(source.admit(next_packet(target, 0, packet_kind::credits, 0, 0), found), admission::admitted);
  EXPECT_TRUE(found.released);
  // More released than sent: a bug of the peer's.
  target.with(0).released_in += 2 * credits;
  EXPECT_EQ(admit(source, next_packet(target, 0, packet_kind::credits, 0, 0)), admission::wrong_credits);
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

TEST(gate, refuses_kinds_that_there_are_not) {
  gate source = gate_of(0), target = gate_of(1);
  EXPECT_EQ(admit(target, packed(source.make(1, packet_kind{0}, 1, 0), 0)), admission::wrong_kind);
  EXPECT_EQ(admit(target, packed(source.make(1, packet_kind{99}, 1, 0), 0)), admission::wrong_kind);
  EXPECT_EQ(admit(target, packed(source.make(1, packet_kind::goodbye, 1, 8), 8)), admission::wrong_kind);
}

/// Changes a packet so that it is not what it was.
void spoil(bytes& packet, splitmix64& random) {
  const bytes before = packet;
  while (packet == before) {
    switch (random.below(6)) {
      case 0:  // a bit of the header
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
          std::memcpy(packet.data() + 4 * random.below(8), &values[random.below(std::size(values))], 4);
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
    bytes arrived = random.below(4) == 0
                        ? seen[random.below(seen.size())]
                        : packed(sources[which].make(1, packet_kind::data, i, payload_bytes), payload_bytes);
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
    ASSERT_NE(verdict, admission::lost) << i;
    ASSERT_EQ(found.source, no_rank) << i;
  }
  EXPECT_EQ(target.count(admission::admitted), genuine);
  EXPECT_EQ(target.refused(), attempts - genuine);
}

}  // namespace
}  // namespace amity::fabric::ofi
