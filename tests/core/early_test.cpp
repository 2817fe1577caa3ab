/// Messages and epochs: what comes too early waits for its epoch, and what a handler sends belongs to the epoch of the
/// message that it handles.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <stdexcept>
#include <vector>

#include "tests/fabric/payloads.hpp"
#include "tests/support/jobs.hpp"
#include "tests/support/texts.hpp"

namespace amity::core {
namespace {

using testing::held_back;
using testing::simulate;

constexpr epoch_tag first_epoch = 1;

class early_packets : public testing::every_fabric {};
INSTANTIATE_TEST_SUITE_P(core, early_packets, testing::every_job(), testing::job_name);

TEST_P(early_packets, wait_until_their_epoch_begins) {
  run([](endpoint& own) {
    bool handled = false;
    const handler_id take = own.add_handler("take", [&](request& r) {
      handled = true;
      EXPECT_TRUE(own.in_epoch());
      EXPECT_EQ(r.args()[0], 7u);
    });
    own.barrier();
    if (own.rank() == 0) {
      own.open_epoch(first_epoch);
      for (rank_t dest = 0; dest < own.size(); ++dest) own.request_short(dest, take, {7});
    } else {
      own.wait_until("an early message", [&] { return held_back(own) == 1; });
      for (int i = 0; i < 5; ++i) own.progress();
      EXPECT_FALSE(handled);
      own.open_epoch(first_epoch);
      EXPECT_FALSE(own.quiet());
      EXPECT_FALSE(handled);
    }
    own.wait_until("its handler", [&] { return handled; });
    EXPECT_TRUE(own.quiet());
    EXPECT_EQ(own.counts().epochs().handled, 1u);
    EXPECT_EQ(own.counts().epochs().sent, own.rank() == 0 ? static_cast<std::uint64_t>(own.size()) : 0u);
    own.barrier();
    own.close_epoch();
  });
}

TEST_P(early_packets, wait_while_the_rank_is_in_the_epoch_before) {
  run([](endpoint& own) {
    bool handled = false;
    const handler_id take = own.add_handler("take", [&](request&) { handled = true; });
    const bool is_ahead = own.rank() == own.size() - 1;
    own.open_epoch(first_epoch);
    own.barrier();
    if (is_ahead) {
      own.close_epoch();
      own.open_epoch(first_epoch + 1);
      for (rank_t dest = 0; dest < own.size(); ++dest) own.request_short(dest, take);
    } else {
      own.wait_until("an early message", [&] { return held_back(own) == 1; });
      EXPECT_FALSE(handled);
      own.close_epoch();
      own.open_epoch(first_epoch + 1);
    }
    own.wait_until("its handler", [&] { return handled; });
    own.barrier();
    own.close_epoch();
  });
}

TEST_P(early_packets, of_a_large_message_wait_too) {
  run([](endpoint& own) {
    bool handled = false;
    const std::size_t bytes = own.packet_bytes_max() + 100;
    const handler_id take = own.add_handler("take", [&](request& r) {
      handled = true;
      EXPECT_TRUE(r.payload().size() == bytes && fabric::testing::is_payload(r.payload(), 3));
    });
    own.barrier();
    if (own.rank() == 0) {
      own.open_epoch(first_epoch);
      own.request_medium(own.size() - 1, take, fabric::testing::make_payload(bytes, 3));
    } else {
      own.wait_until("two fragments", [&] { return own.rank() < own.size() - 1 || held_back(own) == 2; });
      EXPECT_FALSE(handled);
      own.open_epoch(first_epoch);
    }
    own.wait_until("the message", [&] { return handled || own.rank() < own.size() - 1; });
    own.barrier();
    own.close_epoch();
  });
}

// A rank that is ahead is slowed down, and memory stays within its credits.
TEST(early_packets, hold_their_credits) {
  constexpr std::uint64_t begin_ns = 1'000'000;
  constexpr int credits = 3;
  int sent_meanwhile = 0;
  simulate(2, {.credits = credits}, [&](endpoint& own) {
    int handled = 0;
    const handler_id take = own.add_handler("take", [&](request&) { ++handled; });
    own.barrier();
    if (own.rank() == 0) {
      testing::idle_until(own.transport(), begin_ns / 2);  // the credits of the barrier are back
      own.open_epoch(first_epoch);
      for (int i = 0; i < 50; ++i) {
        own.request_short(1, take);
        if (own.transport().now_ns() < begin_ns) ++sent_meanwhile;
      }
    } else {
      while (own.transport().now_ns() < begin_ns) {
        if (!own.progress()) testing::idle_until(own.transport(), own.transport().now_ns() + 1000);
      }
      EXPECT_EQ(held_back(own), credits);
      EXPECT_EQ(handled, 0);
      own.open_epoch(first_epoch);
      own.wait_until("all messages", [&] { return handled == 50; });
    }
    own.barrier();
    own.close_epoch();
  });
  EXPECT_EQ(sent_meanwhile, credits);
}

// What a handler has sent, and the fabric has not taken, is work left: the rank must not take part in a wave before.
TEST(early_packets, whose_source_has_more_to_send_are_not_all) {
  simulate(2, {.credits = 1}, [](endpoint& own) {
    constexpr int all = 20;
    int handled = 0;
    bool has_sent = false;
    const handler_id take = own.add_handler("take", [&](request&) { ++handled; });
    const handler_id send = own.add_handler("send", [&](request&) {
      for (int i = 0; i < all; ++i) own.request_short(1, take);
      has_sent = true;
    });
    own.barrier();
    if (own.rank() == 0) {
      own.open_epoch(first_epoch);
      own.request_short(0, send);
      own.wait_until("the handler", [&] { return has_sent; });
      EXPECT_FALSE(own.quiet());
    } else {
      own.wait_until("an early message", [&] { return held_back(own) == 1; });
    }
    own.barrier();
    if (own.rank() == 1) {
      own.open_epoch(first_epoch);
      own.wait_until("all messages", [&] { return handled == all; });
    }
    own.barrier();
    EXPECT_TRUE(own.quiet());
    own.close_epoch();
  });
}

TEST(early_packets, go_back_to_the_fabric_when_the_endpoint_goes) {
  // The simulated job checks that every packet is released.
  testing::run_endpoints(testing::simulated("sim", {}), 2, [](endpoint& own) {
    const handler_id take = own.add_handler("take", [](request&) { ADD_FAILURE() << "handled too early"; });
    own.barrier();
    if (own.rank() == 0) {
      own.open_epoch(first_epoch);
      own.request_short(1, take);
    } else {
      own.wait_until("an early message", [&] { return held_back(own) == 1; });
    }
  });
}

struct detector_packets final : control {
  void on_control(rank_t source, bytes_view payload) override {
    EXPECT_EQ(source, 0);
    std::uint64_t number = 0;
    ASSERT_EQ(payload.size(), sizeof number);
    std::memcpy(&number, payload.data(), sizeof number);
    numbers.push_back(number);
  }
  void on_newer_color(wave_color) override {}
  void on_generation(wave_color) override {}
  std::vector<std::uint64_t> numbers;
};

// They are packets without an epoch as far as credits matter: they must not hold the reserve until the epoch begins.
TEST(early_packets, detector_packets_release_credits) {
  constexpr int sent = 10;  // more than there are credits
  detector_packets listener;
  simulate(2, {.credits = 1}, [&](endpoint& own) {
    const handler_id take = own.add_handler("take", [](request&) {});
    if (own.rank() == 1) own.set_control(&listener);
    own.barrier();
    if (own.rank() == 0) {
      own.open_epoch(first_epoch);
      for (std::uint64_t i = 0; i < sent; ++i)
        own.send_control(1, packet_kind::detector, std::as_bytes(std::span(&i, 1)));
      own.wait_until("detector packets", [&] { return own.control_sent(); });
      own.request_short(1, take);
    } else {
      own.wait_until("early packets", [&] { return held_back(own) == sent + 1; });
      EXPECT_TRUE(listener.numbers.empty());
      own.open_epoch(first_epoch);
      own.wait_until("detector packets", [&] { return listener.numbers.size() == sent; });
      std::ranges::sort(listener.numbers);
      for (std::size_t i = 0; i < sent; ++i) EXPECT_EQ(listener.numbers[i], i);
    }
    own.barrier();
    own.close_epoch();
    own.set_control(nullptr);
  });
}

// After a failure no more handlers run. The packets of low priority that this rank holds then go back all the same.
TEST(kept_packets, go_back_after_a_failure) {
  const fabric::sim::sim_options many_credits{.credits = 200};
  testing::run_endpoints(testing::simulated("sim", many_credits), 2, [](endpoint& own) {
    const handler_id low = own.add_handler("low", [](request&) { ADD_FAILURE() << "handled after the failure"; });
    const handler_id fail = own.add_handler("fail", [](request&) { throw std::runtime_error("no such key"); });
    const handler_id ordinary = own.add_handler("ordinary", [](request&) {});
    own.set_priority(low, -1);
    own.barrier();
    if (own.rank() == 0) {
      testing::idle_until(own.transport(), 100'000);  // rank 1 has left the barrier
      for (int i = 0; i < 3; ++i) own.request_short(1, low);
      own.request_short(1, fail);
      // More than a rank polls at once, so that the failure ends its turn before it handles packets of low priority.
      for (int i = 0; i < 100; ++i) own.request_short(1, ordinary);
    } else {
      testing::idle_until(own.transport(), 1'000'000);
      EXPECT_EQ(testing::failure_of([&] { own.progress(); }), "no such key");
    }
  });
}

class epoch_membership : public testing::every_fabric {};
INSTANTIATE_TEST_SUITE_P(core, epoch_membership, testing::every_job(), testing::job_name);

// A rank that has begun an epoch still handles messages that belong to none; what their handlers send belongs to none.
TEST_P(epoch_membership, is_that_of_the_message_which_is_handled) {
  run([](endpoint& own) {
    int inside = 0;
    int outside = 0;
    const handler_id last = own.add_handler("last", [&](request&) { ++(own.in_epoch() ? inside : outside); });
    const handler_id first = own.add_handler("first", [&](request& r) {
      EXPECT_EQ(own.in_epoch(), r.args()[0] == 1);
      r.reply_short(last);
    });
    own.barrier();
    const rank_t next = (own.rank() + 1) % own.size();
    own.request_short(next, first, {0});
    own.open_epoch(first_epoch);
    EXPECT_TRUE(own.in_epoch());
    own.request_short(next, first, {1});
    own.wait_until("both replies", [&] { return inside + outside == 2; });
    EXPECT_EQ(inside, 1);
    EXPECT_EQ(outside, 1);
    own.barrier();
    // A request and a reply each way; the others belong to no epoch and are in the totals only.
    EXPECT_EQ(own.counts().epochs().sent, 2u);
    EXPECT_EQ(own.counts().epochs().handled, 2u);
    EXPECT_EQ(own.counts().total().messages_sent, 4u);
    own.close_epoch();
    EXPECT_FALSE(own.in_epoch());
  });
}

}  // namespace
}  // namespace amity::core
