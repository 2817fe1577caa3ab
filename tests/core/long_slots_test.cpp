/// Slots whose news comes late: to the next remote_endpoint, to none, or to a world that is gone.

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "amity/core/long_slots.hpp"
#include "amity/core/remote_endpoint.hpp"
#include "amity/fabric/decorator.hpp"
#include "tests/core/late_events.hpp"
#include "tests/core/long_storm.hpp"
#include "tests/support/texts.hpp"
#include "tests/support/worlds.hpp"

namespace amity::fabric::testing {
namespace {

/// Holds back one packet about slots.
class late_slots final : public decorator {
 public:
  explicit late_slots(fabric& whole) : decorator(whole) {}

  void hold_next() { holds_ = true; }
  void let_go() {
    for (const packet& each : std::exchange(held_, {})) {
      EXPECT_EQ(inner().try_send(each.dest, each.header, each.payload, claim::ordinary), status::ok);
    }
  }
  std::size_t held() const { return held_.size(); }

  status try_send(rank_t dest, std::uint64_t header, bytes_view payload, claim of) noexcept override {
    const bool about_slots = core::packet_header(header).kind() == core::packet_kind::slots;
    if (!holds_ || !about_slots) return inner().try_send(dest, header, payload, of);
    holds_ = false;
    held_.push_back({dest, header, {payload.begin(), payload.end()}});
    return status::ok;
  }

 private:
  struct packet {
    rank_t dest;
    std::uint64_t header;
    std::vector<std::byte> payload;
  };
  std::vector<packet> held_;
  bool holds_ = false;
};

/// Adds notifications that no peer has sent: for slots that do not exist, and for those that await no payload.
class forged_notifications final : public decorator, private sink {
 public:
  explicit forged_notifications(fabric& whole) : decorator(whole) {}

  std::size_t poll(sink& receiver, std::size_t events_max) override {
    receiver_ = &receiver;
    return inner().poll(*this, events_max);
  }

  /// Counter of the remote_endpoint that receives the notifications.
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

TEST(slots, are_those_of_their_borrower_alone) {
  borrowed_slots own(7);
  const slot_news late{.which = 1, .borrower = 6, .first = 128};
  EXPECT_EQ(own.take_back(3, late), 0);
  int asked = 0;
  const auto take = [&] {
    return own.take(3, [&](const slot_news& news) {
      EXPECT_EQ(news.which, 0u);
      EXPECT_EQ(news.borrower, 7u);
      ++asked;
    });
  };
  EXPECT_EQ(take(), no_slot);
  EXPECT_EQ(own.take_back(3, late), 0);
  EXPECT_EQ(take(), no_slot);
  EXPECT_EQ(own.take_back(3, {.which = 5, .borrower = 7, .first = 64}), 2);
  EXPECT_EQ(own.take_back(3, late), 0);
  EXPECT_EQ(take(), 64u);
  EXPECT_EQ(take(), 66u);
  EXPECT_EQ(take(), no_slot);
  EXPECT_EQ(own.take_back(3, late), 0);
  EXPECT_EQ(own.taken(), 2u);
  EXPECT_EQ(own.take_back(3, {.which = 4, .borrower = 7, .first = 64}), 1);
  EXPECT_EQ(take(), 66u);
  EXPECT_EQ(asked, 1);
}

TEST(slots, may_be_given_back_when_the_next_remote_endpoint_is_there) {
  fabric::sim::run(2, {}, [](fabric::fabric& whole) {
    fabric::testing::late_slots transport(whole);
    endpoint own(transport, {});
    for (int round = 0; round < 3; ++round) {
      remote_endpoint memory(own, configured({{"AMITY_LONG_PROTOCOL", "reassembly"}, {"AMITY_LONG_SLOTS", "8"}}));
      int handled = 0;
      const handler_id take = own.add_handler("take", [&](request&) {
        if (++handled == 11) transport.hold_next();
        if (handled == 2) transport.let_go();
      });
      const auto all = memory.exchange(memory.allocate(8));
      own.barrier();
      const std::vector<std::byte> payload(8);
      const peer_segment& there = all[static_cast<std::size_t>(1 - own.rank())];
      for (int i = 0; i < 12; ++i) memory.request_long({there, 0}, take, payload);
      own.wait_until("Longs", [&] { return handled == 12; });
      own.barrier();
      EXPECT_EQ(transport.held(), 1u);
      own.remove_handler(take);
    }
    return 0;
  });
}

/// Rank 0 sends rank 1 news of slots; returns how the job ends.
std::string end_of_news(bool given, const std::function<endpoint&(world&, std::unique_ptr<world>&)>& where) {
  return testing::failure_in_worlds(2, [&](world& w) {
    auto other = w.duplicate();
    endpoint& from = where(w, other);
    w.barrier();
    const slot_news news{.which = given ? 1u : 0u};
    if (w.rank() == 0) from.send_control(1, packet_kind::slots, std::as_bytes(std::span(&news, 1)));
    // The packet is there before those of the second barrier that follows it.
    w.barrier();
    w.barrier();
  });
}

TEST(slots, that_are_given_back_to_nobody_are_nobodys_mistake) {
  const auto in_the_job = [](world& w, auto&) -> endpoint& { return w.endpoint(); };
  EXPECT_EQ(end_of_news(true, in_the_job), "");
  testing::expect_parts(end_of_news(false, in_the_job),
                        {"rank 0 uses memory of this rank, which has no remote_endpoint"});
}

TEST(slots, that_are_given_back_in_a_world_that_is_gone_are_nobodys_mistake) {
  const auto in_the_other = [](world& w, std::unique_ptr<world>& other) -> endpoint& {
    if (w.rank() == 0) return other->endpoint();
    other.reset();
    return w.endpoint();
  };
  EXPECT_EQ(end_of_news(true, in_the_other), "");
  testing::expect_parts(end_of_news(false, in_the_other),
                        {"rank 0 sent a message in world 1, which this rank has destroyed"});
}

TEST(slots, forged_and_replayed_notifications_ignored) {
  const settings config = configured({{"AMITY_LONG_PROTOCOL", "reassembly"}, {"AMITY_LONG_SLOTS", "8"}});
  fabric::sim::run(2, testing::unordered(3), [&](fabric::fabric& whole) {
    fabric::testing::late_events delayed(whole, static_cast<std::uint64_t>(whole.rank()) + 5);
    fabric::testing::forged_notifications forging(delayed);
    endpoint own(forging, {});
    testing::long_storm storm(own, config);
    forging.incomplete = [&] { return storm.memory().count().incomplete; };
    storm.run(500);
    EXPECT_GT(forging.replayed, 10u);
    EXPECT_EQ(storm.memory().count().notifications_ignored, forging.forged + forging.replayed);
    return 0;
  });
}

/// Rank 0 sends rank 1 a packet that no rank sends; returns how the job ends.
std::string end_of_packet(packet_kind kind, const std::function<std::vector<std::byte>(const own_segment&)>& made) {
  return testing::failure_in_worlds(2, [&](world& w) {
    remote_endpoint memory(w.endpoint(), configured({{"AMITY_LONG_PROTOCOL", "reassembly"}}));
    const own_segment mine = memory.allocate(64);
    auto all = memory.exchange(mine);
    w.barrier();
    if (w.rank() == 0) w.endpoint().send_control(1, kind, made(mine));
    w.barrier();
    w.barrier();
    for (peer_segment& each : all) memory.close(each);
  });
}

template <class T>
std::vector<std::byte> bytes_of_object(const T& object) {
  const auto bytes = std::as_bytes(std::span(&object, 1));
  return {bytes.begin(), bytes.end()};
}

TEST(slots, invalid_packet_names_peer) {
  const auto nothing = [](const own_segment&) { return std::vector<std::byte>(4); };
  testing::expect_parts(end_of_packet(packet_kind::slots, nothing),
                        {"rank 0 sent an invalid packet: 4 bytes about slots"});
  testing::expect_parts(end_of_packet(packet_kind::envelope, nothing),
                        {"rank 0 sent an invalid packet: an envelope of 4"});
  const auto wrong_slot = [](const own_segment& mine) {
    return bytes_of_object(envelope{.offset = 0, .bytes = 8, .segment = mine.name.number, .slot = 12'345});
  };
  testing::expect_parts(end_of_packet(packet_kind::envelope, wrong_slot),
                        {"rank 0 sent an invalid packet", "slot 12345, which does not exist"});
}

TEST(slots, news_of_unused_slots_unexpected) {
  borrowed_slots own(7);
  const slot_news first{.which = 5, .borrower = 7, .first = 64};
  EXPECT_FALSE(own.expects(3, first));  // none was asked for
  own.take(3, [](const slot_news&) {});
  EXPECT_TRUE(own.expects(3, first));
  own.take_back(3, first);
  EXPECT_FALSE(own.expects(3, first));                                     // none was used
  EXPECT_FALSE(own.expects(3, {.which = 2, .borrower = 7, .first = 64}));  // was not lent
  EXPECT_EQ(own.take(3, [](const slot_news&) {}), 64u);
  EXPECT_TRUE(own.expects(3, {.which = 1, .borrower = 7, .first = 64}));
  EXPECT_FALSE(own.expects(3, {.which = 1, .borrower = 7, .first = 128}));
  EXPECT_FALSE(own.expects(3, {.which = 5, .borrower = 7, .first = 64}));  // one of them
  EXPECT_TRUE(own.expects(3, {.which = 5, .borrower = 6, .first = 64}));   // of another borrower, ignored
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
