/// Any bytes that arrive over the fabric ofi, mixed with genuine packets: the genuine ones come through, each once and
/// in order, and no other bytes do.
///
/// The input is a script. Each step is a byte that selects it, and its bytes:
/// - a genuine packet of the size in the next byte, with the bytes after that as its payload;
/// - raw bytes;
/// - a genuine packet that is changed by the following bytes, at the places that they name;
/// - a packet with a valid seal and any header, as a peer with a bug sends it;
/// - a release of what has arrived.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "amity/base/assert.hpp"
#include "amity/fabric/ofi/gate.hpp"

namespace {

using namespace amity;
using namespace amity::fabric::ofi;

constexpr std::size_t packet_bytes_max = 256;
constexpr std::uint32_t credits = 4;

sodium library() {
  sodium loaded;
  std::string why;
  AMITY_ASSERT(loaded.load(why), why);
  return loaded;
}

gate gate_of(rank_t rank, bool sealed) {
  return gate({.crypto = library(),
               .key = {},
               .sealed = sealed,
               .rank = rank,
               .size = 3,
               .packet_bytes_max = packet_bytes_max,
               .credits = credits});
}

/// Takes bytes off the front of the input; zeros behind its end.
class script {
 public:
  explicit script(std::span<const std::uint8_t> all) : left_(all) {}
  bool ended() const { return left_.empty(); }
  std::uint8_t byte() {
    if (left_.empty()) return 0;
    const std::uint8_t first = left_.front();
    left_ = left_.subspan(1);
    return first;
  }
  std::uint32_t word() {
    std::uint32_t made = 0;
    for (int i = 0; i < 4; ++i) made = made << 8 | byte();
    return made;
  }
  void fill(std::span<std::byte> into) {
    for (std::byte& each : into) each = std::byte{byte()};
  }

 private:
  std::span<const std::uint8_t> left_;
};

using packet = std::vector<std::byte>;

class receiver {
 public:
  explicit receiver(bool sealed) : sealed_(sealed), source_(gate_of(0, sealed)), target_(gate_of(1, sealed)) {}

  void step(script& from) {
    switch (from.byte() % 5) {
      case 0:
        return genuine(from);
      case 1: {
        packet raw(from.byte());
        from.fill(raw);
        return refused(raw);
      }
      case 2: {
        packet changed = next(from);
        const packet before = changed;
        for (std::uint8_t changes = from.byte() % 8; changes > 0; --changes) {
          changed[from.byte() % changed.size()] ^= std::byte{from.byte()};
        }
        if (sealed_ && changed != before) refused(changed);
        return;
      }
      case 3:
        return from_peer_with_bug(from);
      default:
        target_.with(0).released_in = target_.with(0).data_in;
    }
  }

 private:
  packet next(script& from) {
    packet made(header_bytes + from.byte());
    from.fill(std::span(made).subspan(header_bytes));
    source_.seal(1, packet_kind::data, 7, made.data(), made.size() - header_bytes);
    return made;
  }

  void genuine(script& from) {
    if (target_.with(0).data_in - target_.with(0).released_in == credits) return;
    const packet made = next(from);
    admitted_packet found;
    const admission verdict = admit(made, found);
    AMITY_ASSERT(verdict == admission::admitted && found.source == 0 && found.header == 7, static_cast<int>(verdict));
    AMITY_ASSERT(std::ranges::equal(found.payload, std::span(made).subspan(header_bytes)), made.size());
    source_.sent(1, 0);
    ++source_.with(1).data_out;
    AMITY_ASSERT(admit(made, found) == admission::wrong_sequence, "a copy");
  }

  /// These bytes were made without the key.
  void refused(const packet& bytes) {
    const std::uint64_t before = target_.refused();
    const flow state = target_.with(0);
    admitted_packet found;
    const admission verdict = admit(bytes, found);
    AMITY_ASSERT(verdict != admission::admitted && !ends_job(verdict), static_cast<int>(verdict));
    AMITY_ASSERT(target_.refused() == before + 1 && state == target_.with(0), before);
  }

  /// Admitted or not, nothing beyond its bytes is shown, and the counts stay possible.
  void from_peer_with_bug(script& from) {
    packet made(header_bytes + from.byte());
    const std::uint64_t number = target_.with(0).next_in + from.byte() % 3;
    const std::uint32_t kind = from.byte() % 6;
    const std::uint32_t shape = kind == 5 ? from.word() : kind << 24 | from.byte();
    wire_header header{.seal = {},
                       .header = from.word(),
                       .source = 0,
                       .sequence = static_cast<std::uint32_t>(number),
                       .shape = shape,
                       .released = from.word()};
    std::memcpy(made.data(), &header, sizeof header);
    packet_seal seal(library_, {}, 0, 1, sealed_);
    header.seal = seal.tag(number, std::span(made).subspan(sizeof header.seal));
    std::memcpy(made.data(), &header, sizeof header);
    admitted_packet found;
    gate copy = target_;
    const auto exact = std::make_unique<std::byte[]>(made.size());
    std::memcpy(exact.get(), made.data(), made.size());
    if (copy.admit({exact.get(), made.size()}, found) != admission::admitted) return;
    AMITY_ASSERT(found.payload.data() == exact.get() + header_bytes, made.size());
    AMITY_ASSERT(found.payload.size() == made.size() - header_bytes, made.size());
    AMITY_ASSERT(found.payload.size() == (shape & 0xff'ffff), found.payload.size(), shape);
    const flow& state = copy.with(0);
    AMITY_ASSERT(state.data_out - state.released_out <= credits && state.data_in - state.released_in <= credits,
                 state.data_in, state.released_in);
  }

  admission admit(const packet& bytes, admitted_packet& found) {
    exact_ = std::make_unique<std::byte[]>(bytes.size());
    if (!bytes.empty()) std::memcpy(exact_.get(), bytes.data(), bytes.size());
    return target_.admit({exact_.get(), bytes.size()}, found);
  }

  bool sealed_;
  sodium library_ = library();
  gate source_;
  gate target_;
  std::unique_ptr<std::byte[]> exact_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes) {
  script all({data, bytes});
  receiver state((all.byte() & 1) == 0);
  while (!all.ended()) state.step(all);
  return 0;
}
