/// Slots of Long messages: who has them, and forged news and notifications.

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "amity/core/long_slots.hpp"
#include "amity/core/memory_service.hpp"
#include "amity/fabric/decorator.hpp"
#include "tests/core/late_events.hpp"
#include "tests/core/long_storm.hpp"
#include "tests/support/texts.hpp"
#include "tests/support/worlds.hpp"

namespace amity::fabric::testing {
namespace {

/// Adds notifications that no peer has sent: for slots that do not exist, and for those that await no payload.
class forged_notifications final : public decorator, private sink {
 public:
  explicit forged_notifications(fabric& whole) : decorator(whole) {}

  std::size_t poll(sink& receiver, std::size_t events_max) override {
    receiver_ = &receiver;
    return inner().poll(*this, events_max);
  }

  /// Messages of which one part is there, at the receiver of the notifications.
  std::function<std::size_t()> incomplete = [] { return std::size_t{0}; };
  std::uint64_t forged = 0, replayed = 0;

 private:
  disposition on_packet(const packet& arrived) noexcept override { return receiver_->on_packet(arrived); }
  void on_done(std::uint64_t context) noexcept override { receiver_->on_done(context); }
  void on_notify(std::uint32_t bits) noexcept override {
    const std::size_t before = incomplete();
    receiver_->on_notify(bits);
    for (const std::uint32_t slot : {bits + 64 * 1000, bits | 63, ~0u}) {
      ++forged;
      receiver_->on_notify(slot);
    }
    if (incomplete() <= before) return;
    ++replayed;  // the slot waits for its envelope
    receiver_->on_notify(bits);
  }

  sink* receiver_ = nullptr;
};

}  // namespace
}  // namespace amity::fabric::testing

namespace amity::core {
namespace {

using testing::configured;

TEST(slots, are_asked_for_once) {
  borrowed_slots own;
  int asked = 0;
  const auto take = [&] {
    return own.take(3, [&](const slot_news& news) {
      EXPECT_EQ(news.which, 0u);
      ++asked;
    });
  };
  EXPECT_EQ(take(), no_slot);
  EXPECT_EQ(take(), no_slot);
  EXPECT_EQ(own.take_back(3, {.which = 5, .first = 64}), 2);
  EXPECT_EQ(take(), 64u);
  EXPECT_EQ(take(), 66u);
  EXPECT_EQ(take(), no_slot);
  EXPECT_EQ(own.taken(), 2u);
  EXPECT_EQ(own.take_back(3, {.which = 4, .first = 64}), 1);
  EXPECT_EQ(take(), 66u);
  EXPECT_EQ(asked, 1);
}

TEST(slots, forged_and_replayed_notifications_ignored) {
  const settings config = configured({{"AMITY_LONG_PROTOCOL", "reassembly"}, {"AMITY_LONG_SLOTS", "8"}});
  fabric::sim::run(2, testing::unordered(3), [&](fabric::fabric& whole) {
    fabric::testing::late_events delayed(whole, static_cast<std::uint64_t>(whole.rank()) + 5);
    fabric::testing::forged_notifications forging(delayed);
    endpoint own(forging, config);
    testing::long_storm storm(own);
    forging.incomplete = [&] { return own.own_engine().served().memory().receiver.slots().incomplete(); };
    storm.run(500);
    EXPECT_GT(forging.replayed, 10u);
    EXPECT_EQ(own.own_engine().served().memory().receiver.notifications_ignored(), forging.forged + forging.replayed);
    return 0;
  });
}

/// Rank 0 sends rank 1 a packet that no rank sends; returns how the job ends.
std::string end_of_packet(packet_header header,
                          const std::function<std::vector<std::byte>(const local_segment&)>& made) {
  return testing::failure_in_worlds(2, [&](world& w) {
    endpoint& own = w.endpoint();
    const local_segment mine = own.memory().allocate(64);
    const auto all = exchange(own, mine);
    w.barrier();
    if (w.rank() == 0) own.own_engine().send_control(1, 0, header, made(mine));
    w.barrier();
    w.barrier();
  });
}

template <class T>
std::vector<std::byte> bytes_of_object(const T& object) {
  const auto bytes = std::as_bytes(std::span(&object, 1));
  return {bytes.begin(), bytes.end()};
}

TEST(slots, invalid_packet_names_peer) {
  constexpr packet_header an_envelope({.kind = packet_kind::envelope});
  const auto nothing = [](const local_segment&) { return std::vector<std::byte>(4); };
  testing::expect_parts(end_of_packet(service_header(service::long_slots), nothing),
                        {"rank 0 sent an invalid packet: 4 bytes about slots"});
  testing::expect_parts(end_of_packet(an_envelope, nothing), {"rank 0 sent an invalid packet: an envelope of 4"});
  const auto wrong_slot = [](const local_segment& mine) {
    return bytes_of_object(envelope{.offset = 0, .bytes = 8, .segment = mine.descriptor.number, .slot = 12'345});
  };
  testing::expect_parts(end_of_packet(an_envelope, wrong_slot),
                        {"rank 0 sent an invalid packet", "slot 12345, which does not exist"});
}

/// Rank 0 makes rank 1 an offer that no rank makes; returns how the job ends.
std::string end_of_offer(const std::function<void(offer&)>& forge) {
  return testing::failure_in_worlds(2, [&](world& w) {
    endpoint& own = w.endpoint();
    const local_segment mine = own.memory().allocate(4000);
    const auto all = exchange(own, mine);
    const handler_id take = own.add_handler("take", [](request&) {});
    w.barrier();
    if (w.rank() == 0) {
      remote_operations& operations = own.own_engine().served().memory().operations;
      remote_operation wanted;
      wanted.plan = steps_of(long_protocol::rendezvous);
      wanted.to = {.segment = all[1], .offset = 0};
      wanted.world = &own;
      wanted.header = own.header_for_request("test", 1, take, 0).with_kind(packet_kind::envelope);
      local_segment forged = mine;
      offer where{.segment = mine.descriptor, .offset = 0};
      forge(where);
      forged.descriptor = where.segment;
      wanted.from = {mine.data + where.offset, 100};
      wanted.bytes = 100;
      wanted.holder = &forged;
      operations.begin(std::move(wanted));
      own.wait_until("the end of the job", [] { return false; });
    }
    own.wait_until("the end of the job", [] { return false; });
  });
}

TEST(slots, forged_offer_names_peer) {
  testing::expect_parts(end_of_offer([](offer& of) { of.segment.lane = 1; }),
                        {"rank 0 sent an invalid packet: an offer of a segment of lane 1"});
  testing::expect_parts(end_of_offer([](offer& of) { of.offset = 3950; }),
                        {"rank 0 sent an invalid packet: an offer of 100 bytes at offset 3950 of a segment of 4000"});
}

TEST(slots, news_of_unused_slots_unexpected) {
  borrowed_slots own;
  const slot_news first{.which = 5, .first = 64};
  EXPECT_FALSE(own.expects(3, first));  // none was asked for
  own.take(3, [](const slot_news&) {});
  EXPECT_TRUE(own.expects(3, first));
  own.take_back(3, first);
  EXPECT_FALSE(own.expects(3, first));                      // none was used
  EXPECT_FALSE(own.expects(3, {.which = 2, .first = 64}));  // was not lent
  EXPECT_EQ(own.take(3, [](const slot_news&) {}), 64u);
  EXPECT_TRUE(own.expects(3, {.which = 1, .first = 64}));
  EXPECT_FALSE(own.expects(3, {.which = 1, .first = 128}));
  EXPECT_FALSE(own.expects(3, {.which = 5, .first = 64}));  // one of them
}

TEST(slots, need_notifications_with_enough_bits) {
  fabric::remote_capabilities can{.available = true, .notify_bits = slot_bits_min - 1};
  fabric::capabilities packets;
  packets.packet_bytes_max = 4096;
  const auto chosen = [&] { return long_choice("auto", 0, can, packets).of(1 << 20, false, [] { return false; }); };
  EXPECT_EQ(chosen(), long_protocol::chained);
  testing::expect_error([&] { long_choice("reassembly", 0, can, packets); },
                        {"AMITY_LONG_PROTOCOL=reassembly", "notifications of 15 bits, and 16 are needed"});
  can.puts_before_packets = true;
  testing::expect_error([&] { long_choice("reassembly", 0, can, packets); },
                        {"choose one of packed, ordered, put_sync_send, chained, rendezvous"});
  can.puts_before_packets = false;
  can.notify_bits = slot_bits_min;
  EXPECT_EQ(chosen(), long_protocol::reassembly);
}

}  // namespace
}  // namespace amity::core
