/// What handlers send and prepare beyond the bound is refused, and nothing of it has been done.

#include <optional>
#include <vector>

#include "amity/core/bounce_buffers.hpp"
#include "amity/core/memory.hpp"
#include "amity/core/prepared.hpp"
#include "tests/fabric/payloads.hpp"
#include "tests/support/jobs.hpp"
#include "tests/support/texts.hpp"

namespace amity::core {
namespace {

using testing::configured;
using testing::expect_error;
using testing::expect_parts;
using testing::failure_in_simulation;
using testing::simulate;

constexpr int credits = 2;

/// A handler of rank 1 sends to rank 2 until it is refused, and goes on; all that it has sent arrives. Returns the
/// error.
std::string refusal_of(const std::function<void(endpoint&, handler_id)>& send, std::uint64_t sent_min,
                       const settings& config = configured({{"AMITY_CORE_SPILL_BYTES_MAX", "64k"}})) {
  std::string text;
  simulate(
      3, {.credits = credits},
      [&](endpoint& own) {
        std::uint64_t sent = 0, visits = 0;
        std::optional<std::uint64_t> expected;
        const handler_id visit = own.add_handler("visit", [&](request&) { ++visits; });
        const handler_id expect = own.add_handler("expect", [&](request& r) { expected = r.args()[0]; });
        const handler_id burst = own.add_handler("burst", [&](request&) {
          try {
            for (;; ++sent) send(own, visit);
          } catch (const error& too_much) {
            text = too_much.what();
          }
        });
        own.barrier();
        if (own.rank() == 0) own.request_short(1, burst);
        if (own.rank() == 1) {
          own.wait_until("the burst", [&] { return !text.empty(); });
          EXPECT_GE(sent, sent_min);
          EXPECT_LE(own.own_engine().bound().bytes_peak(), 65536u);
          own.request_short(2, expect, {sent});
        }
        if (own.rank() == 2) own.wait_until("visits", [&] { return expected && visits >= *expected; });
        own.barrier();
        EXPECT_EQ(own.counts().of(visit).sent, sent);
        EXPECT_EQ(visits, own.rank() == 2 ? *expected : 0);
      },
      config);
  return text;
}

TEST(messages_beyond_bound, refused_and_nothing_lost) {
  const std::initializer_list<std::string_view> named{"sending from a handler (rank 1)", "of type 'visit' to rank 2",
                                                      "AMITY_CORE_SPILL_BYTES_MAX=65536", "packets to rank 2",
                                                      "or raise AMITY_CORE_SPILL_BYTES_MAX"};
  // Messages without a single byte take memory, too.
  for (const std::size_t bytes : {0, 8, 3000, 20'000}) {
    const std::vector<std::byte> content(bytes);
    expect_parts(refusal_of([&](endpoint& own, handler_id visit) { own.request_medium(2, visit, content); },
                            bytes == 20'000 ? 2 : 15),
                 named);
  }
  expect_parts(refusal_of(
                   [](endpoint& own, handler_id visit) {
                     outgoing out;
                     ASSERT_TRUE(own.try_open(2, 3000, "visit", out));
                     own.close(2, visit, out, 3000, 1);
                   },
                   15),
               named);
}

TEST(messages_beyond_bound, prepared_refused_before_written) {
  expect_parts(
      refusal_of([](endpoint& own, handler_id visit) { own.prepare_medium(2, 3000, 3000).commit(visit, 3000); }, 15),
      {"AMITY_CORE_SPILL_BYTES_MAX=65536", "a prepared message", "to rank 2"});
}

// Before the first fragment leaves, which would be too late.
TEST(messages_beyond_bound, single_larger_message_refused) {
  const std::vector<std::byte> larger(70'000);
  expect_parts(refusal_of([&](endpoint& own, handler_id visit) { own.request_medium(2, visit, larger); }, 0),
               {"70192 more, of type 'visit' to rank 2"});
  expect_parts(refusal_of(
                   [&](endpoint& own, handler_id visit) {
                     memory_stream pieces(larger);
                     own.send_stream(2, visit, pieces, larger.size(), endpoint::stream_target::whole);
                   },
                   0),
               {"70192 more, of type 'visit' to rank 2"});
}

// A peer without credits does not keep handlers from sending to another one.
TEST(messages_beyond_bound, other_peer_has_credits) {
  simulate(
      3, {.credits = credits},
      [](endpoint& own) {
        std::uint64_t visits = 0;
        bool done = false;
        const handler_id visit = own.add_handler("visit", [&](request&) { ++visits; });
        const handler_id burst = own.add_handler("burst", [&](request&) {
          const std::vector<std::byte> content(3000);
          EXPECT_THROW(for (;;) own.request_medium(2, visit, content), error);
          own.request_medium(0, visit, content, {1, 2});
          done = true;
        });
        own.barrier();
        testing::idle_until(own.transport(), 50'000);  // all credits are back
        if (own.rank() == 1) own.request_short(1, burst);
        own.wait_until("the visit", [&] { return own.rank() == 1 ? done : visits > 0; });
        own.barrier();
      },
      configured({{"AMITY_CORE_SPILL_BYTES_MAX", "64k"}}));
}

// Buffers of prepared Longs are used again, and must not count when they are not in use.
TEST(messages_beyond_bound, unused_long_buffers_do_not_count) {
  constexpr std::size_t large = 60'000;
  const settings config = configured({{"AMITY_CORE_SPILL_BYTES_MAX", "80k"}});
  simulate(
      2, {.credits = credits},
      [&](endpoint& own) {
        auto& memory = own.memory();
        const local_segment mine = memory.allocate(large);
        std::uint64_t visits = 0;
        const handler_id visit = own.add_handler("visit", [&](request&) { ++visits; });
        const handler_id burst = own.add_handler("burst", [&](request&) {
          for (int i = 0; i < 20; ++i) own.request_medium(1, visit, std::vector<std::byte>(3000));
        });
        const std::vector<remote_segment> all = exchange(own, mine);
        ASSERT_EQ(all[1].handle.direct, nullptr);
        if (own.rank() == 0) own.prepare_long({all[1], 0}, large, large).commit(visit, large);
        own.barrier();
        if (own.rank() == 0) own.request_short(0, burst);
        own.wait_until("the visits", [&] { return own.rank() == 0 || visits == 21; });
        own.barrier();
      },
      config);
}

// They were collected before: they would be missing for ever.
TEST(messages_beyond_bound, collected_messages_end_job) {
  const std::vector<std::byte> collected(3000);
  const std::string text = failure_in_simulation(
      2, {.credits = credits},
      [&](endpoint& own) {
        const handler_id visit = own.add_handler("visit", [](request&) {});
        const handler_id burst = own.add_handler(
            "burst", [&](request&) { EXPECT_THROW(for (;;) own.send_collected(1, visit, collected, 1), error); });
        own.barrier();
        if (own.rank() == 0) own.request_short(0, burst);
        own.wait_until("the end", [] { return false; });
      },
      configured({{"AMITY_CORE_SPILL_BYTES_MAX", "64k"}}));
  expect_parts(text,
               {"sending from a handler (rank 0)", "of type 'visit' to rank 1", "AMITY_CORE_SPILL_BYTES_MAX=65536"});
}

// Outside handlers a message waits for its credits, however large it is.
TEST(messages_beyond_bound, large_message_leaves_outside_handlers) {
  const std::vector<std::byte> larger(1'000'000);
  simulate(
      2, {.credits = credits},
      [&](endpoint& own) {
        bool visited = false;
        const handler_id visit = own.add_handler("visit", [&](request& r) {
          visited = true;
          EXPECT_EQ(r.payload().size(), larger.size());
        });
        own.barrier();
        if (own.rank() == 0) own.request_medium(1, visit, larger);
        own.wait_until("the visit", [&] { return visited == (own.rank() == 1); });
        own.barrier();
        EXPECT_EQ(own.own_engine().bound().bytes_peak(), 0u);
      },
      configured({{"AMITY_CORE_SPILL_BYTES_MAX", "64k"}}));
}

// Buffers take memory although nothing is copied: a loop that only lends them waits at the high-water mark.
TEST(lent_memory, loop_waits_at_high_water_mark) {
  constexpr std::size_t mark = 4096, sends_between_looks = 16;
  const std::vector<std::byte> memory(64);
  simulate(
      2, {.credits = credits},
      [&](endpoint& own) {
        constexpr int sent = 1000;
        int visits = 0;
        const handler_id visit = own.add_handler("visit", [&](request&) { ++visits; });
        own.barrier();
        for (int i = 0; own.rank() == 0 && i < sent; ++i) {
          lent_buffer buffer;
          buffer.item_bytes = memory.size();
          buffer.rest = memory;
          own.send_lent(1, visit, std::move(buffer));
        }
        own.wait_until("visits", [&] { return own.rank() == 0 || visits == sent; });
        own.barrier();
        EXPECT_LE(own.own_engine().bound().bytes_peak(), mark + sends_between_looks * lent_buffer::overhead_bytes);
      },
      configured({{"AMITY_CORE_SPILL_BYTES_HIGH_WATER", "4k"}}));
}

// Prepared Longs wait for this rank, which could not commit them while it waits for them.
TEST(prepared_longs, held_beyond_high_water_mark) {
  simulate(
      2, {},
      [](endpoint& own) {
        auto& memory = own.memory();
        const std::vector<remote_segment> all = exchange(own, memory.allocate(4 * bounce_buffers::usual_bytes));
        ASSERT_EQ(all[1].handle.direct, nullptr);
        int visits = 0;
        const handler_id visit = own.add_handler("visit", [&](request&) { ++visits; });
        own.barrier();
        if (own.rank() == 0) {
          std::vector<prepared_long> open;
          for (std::size_t i = 0; i < 4; ++i) open.push_back(own.prepare_long({all[1], 0}, 1, 8));
          EXPECT_GT(own.own_engine().bound().bytes(), 4096u);
          for (int i = 0; i < 100; ++i) own.request_short(1, visit);
          for (prepared_long& each : open) each.commit(visit, 8);
        }
        own.wait_until("visits", [&] { return own.rank() == 0 || visits == 104; });
        own.barrier();
      },
      configured({{"AMITY_CORE_SPILL_BYTES_HIGH_WATER", "4k"}}));
}

// One bound for messages, operations on memory and buffers of prepared Longs, of all worlds.
TEST(handler_puts, share_bound_with_messages) {
  const settings config = configured({{"AMITY_CORE_SPILL_BYTES_MAX", "64k"}, {"AMITY_LONG_PENDING", "1"}});
  for (const bool messages_first : {false, true}) {
    const std::string text = failure_in_simulation(
        2, {.credits = credits},
        [&](endpoint& own) {
          auto& memory = own.memory();
          const local_segment mine = memory.allocate(64);
          std::vector<remote_segment> all;
          std::vector<event> done(1000);
          const std::vector<std::byte> content(64);
          const handler_id visit = own.add_handler("visit", [](request&) {});
          const handler_id burst = own.add_handler("burst", [&](request&) {
            for (int i = 0; messages_first && i < 100; ++i) own.request_medium(1, visit, std::vector<std::byte>(500));
            for (event& each : done) memory.put({all[1], 0}, content, {.complete = &each});
          });
          all = exchange(own, mine);
          own.barrier();
          if (own.rank() == 1) own.request_short(0, burst);
          own.wait_until("the end", [] { return false; });
        },
        config);
    expect_parts(text, {"a Long, put, get or atomic in a handler (rank 0)", "AMITY_CORE_SPILL_BYTES_MAX=65536"});
    const std::size_t waited = std::stoul(text.substr(text.find("(rank 0): ") + 10));
    if (messages_first) {
      EXPECT_LT(waited, 20u);
    } else {
      EXPECT_GT(waited, 100u);
    }
  }
}

TEST(bounce_buffers, grow_and_serve_again) {
  bounce_buffers all;
  const std::size_t usual = bounce_buffers::usual_bytes;
  EXPECT_EQ(all.growth(1), usual);
  bounce_buffer& first = all.take(1);
  EXPECT_EQ(first.bytes, usual);
  EXPECT_EQ(all.growth(1), usual);
  bounce_buffer& second = all.take(3 * usual);
  EXPECT_EQ(all.bytes(), 4 * usual);
  first.open = false;
  EXPECT_EQ(all.growth(usual), 0u);
  EXPECT_EQ(all.growth(2 * usual), usual);
  EXPECT_EQ(&all.take(2 * usual), &first);
  EXPECT_EQ(first.bytes, 2 * usual);
  EXPECT_EQ(all.bytes(), 5 * usual);
  second.open = false;
  second.source_free.expect();  // its payload is under way
  EXPECT_FALSE(all.quiet());
  EXPECT_EQ(all.growth(1), usual);
  second.source_free.reached();
  EXPECT_TRUE(all.quiet());
  EXPECT_EQ(&all.take(1), &second);
}

TEST(bounce_buffers, serve_again_where_they_are_large_enough) {
  constexpr std::size_t usual = bounce_buffers::usual_bytes, large = std::size_t{1} << 20;
  bounce_buffers all;
  bounce_buffer& small = all.take(1);
  bounce_buffer& wide = all.take(large);
  small.open = wide.open = false;
  EXPECT_EQ(all.growth(large), 0u);
  EXPECT_EQ(&all.take(large), &wide);
  EXPECT_EQ(all.growth(large), large - usual) << "the free one would grow";
  EXPECT_EQ(&all.take(1), &small);
  wide.open = false;
  bounce_buffer& third = all.take(1);
  EXPECT_EQ(&third, &wide) << "there is no other one";
  bounce_buffer& fourth = all.take(1);
  third.open = fourth.open = false;
  EXPECT_EQ(&all.take(1), &fourth) << "the smallest that fits";
  EXPECT_EQ(all.bytes(), 2 * usual + large);
}

TEST(prepared_longs_of_handlers, share_bound_of_messages) {
  constexpr std::size_t usual = bounce_buffers::usual_bytes;
  simulate(
      2, {},
      [](endpoint& own) {
        auto& memory = own.memory();
        const local_segment mine = memory.allocate(8 * usual);
        std::vector<remote_segment> all;
        std::size_t landed = 0, refused = 0;
        const handler_id land = own.add_handler("land", [&](request& r) {
          EXPECT_TRUE(fabric::testing::is_payload(r.payload(), r.args()[0]));
          ++landed;
        });
        const handler_id burst = own.add_handler("burst", [&](request&) {
          std::vector<prepared_long> open;
          for (std::size_t i = 0; i < 3; ++i) {
            open.push_back(own.prepare_long({all[1], i * usual}, usual, usual, 1));
            fabric::testing::fill(open.back().payload(), i);
          }
          const remote_address at{all[1], 0};
          expect_error([&] { own.prepare_long(at, 1, 8, 1); },
                       {"endpoint::prepare_long", "65536 more in a handler", "AMITY_CORE_SPILL_BYTES_MAX=200000"});
          ++refused;
          for (std::size_t i = 0; i < 3; ++i) open[i].commit(land, usual, {i});
        });
        all = exchange(own, mine);
        ASSERT_EQ(all[1].handle.direct, nullptr);
        own.barrier();
        if (own.rank() == 1) own.request_short(0, burst);
        own.wait_until("Longs", [&] { return own.rank() == 0 ? refused == 1 : landed == 3; });
        own.barrier();
        if (own.rank() == 0) {  // outside handlers there is no such bound
          for (int i = 0; i < 4; ++i) static_cast<void>(own.prepare_long({all[1], 0}, 1, 8));
          std::vector<prepared_long> open;
          for (int i = 0; i < 4; ++i) open.push_back(own.prepare_long({all[1], 0}, usual, usual));
        }
        own.barrier();
      },
      configured({{"AMITY_CORE_SPILL_BYTES_MAX", "200000"}}));
}

}  // namespace
}  // namespace amity::core
