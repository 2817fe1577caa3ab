/// Packets of detectors, and of members of worlds, that no rank sends which runs the same build: the job ends, and
/// names their sender.

#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "tests/support/texts.hpp"
#include "tests/support/worlds.hpp"

namespace amity {
namespace {

using testing::expect_parts;
using testing::failure_in_worlds;

/// Mirrors what waves send.
struct wave_packet {
  std::uint64_t sent = 0, handled = 0, value = 0, handlers = 0;
  std::uint32_t number = 1;
  std::uint16_t what = 0, depth = 0;
  std::uint32_t calls = 0;
  rank_t waiting = no_rank;
};

/// How an epoch ends in which rank 0 sends rank 1 this packet of a detector.
std::string end_of_packet(bytes_view packet) {
  return failure_in_worlds(2, [&](world& w) {
    w.epoch([&] {
      if (w.rank() == 0) w.endpoint().send_control(1, core::packet_kind::detector, packet);
    });
  });
}
std::string end_of_packet(const wave_packet& packet) { return end_of_packet(std::as_bytes(std::span(&packet, 1))); }

TEST(invalid_wave_packets, of_wrong_size_number_or_outcome) {
  const std::vector<std::byte> bytes(31);
  expect_parts(end_of_packet(bytes), {"(rank 1)", "rank 0 sent an invalid packet: 31 bytes of a wave"});
  expect_parts(end_of_packet({.number = 77}), {"(rank 1)", "rank 0 sent an invalid packet: wave 77 during wave"});
  expect_parts(end_of_packet({.what = 7}), {"(rank 1)", "rank 0 sent an invalid packet: a wave with the outcome 7"});
}

// Rank 1 has no children that contribute.
TEST(invalid_wave_packets, part_of_complete_wave) {
  const std::string text = failure_in_worlds(2, [](world& w) {
    const wave_packet part{.handlers = w.endpoint().handlers().fingerprint()};
    w.epoch([&] {
      if (w.rank() == 0) w.endpoint().send_control(1, core::packet_kind::detector, std::as_bytes(std::span(&part, 1)));
    });
  });
  expect_parts(text, {"(rank 1)", "rank 0 sent an invalid packet: a part of a wave that is complete"});
}

TEST(invalid_wave_packets, without_detector) {
  const std::string text = failure_in_worlds(3, [](world& w) {
    const auto part = w.split({.color = w.rank() == 0 ? 1 : 0});
    const core::world_number number = w.rank() == 1 ? part->endpoint().number() : core::world_number{0};
    const auto told = static_cast<core::world_number>(w.max(std::uint64_t{number}));
    if (w.rank() == 0) {
      w.endpoint().own_engine().send_control(1, told, core::packet_header({.kind = core::packet_kind::collective}), {});
    }
    w.endpoint().wait_until("the end of the job", [] { return false; });
  });
  expect_parts(text, {"(rank 1)", "rank 0 sent an invalid packet: it is not a member of world"});
}

}  // namespace
}  // namespace amity
