/// What handlers send and prepare beyond the bound is refused, and nothing of it has been done.

#include <optional>
#include <vector>

#include "amity/core/bounce_buffers.hpp"
#include "amity/core/prepared.hpp"
#include "amity/core/remote_endpoint.hpp"
#include "tests/fabric/payloads.hpp"
#include "tests/support/jobs.hpp"
#include "tests/support/texts.hpp"

namespace amity::core {
namespace {

using testing::configured;
using testing::expect_error;
using testing::expect_parts;
using testing::failure_of;
using testing::simulate;

constexpr int credits = 2;

TEST(prepared_messages_beyond_the_bound, are_refused_before_they_are_sent) {
  const settings config = configured({{"AMITY_CORE_SPILL_BYTES_MAX", "64k"}});
  simulate(
      3, {.credits = credits},
      [](endpoint& own) {
        std::uint64_t committed = 0, visits = 0;
        std::optional<std::uint64_t> expected;
        const handler_id visit = own.add_handler("visit", [&](request&) { ++visits; });
        const handler_id expect = own.add_handler("expect", [&](request& r) { expected = r.args()[0]; });
        const handler_id burst = own.add_handler("burst", [&](request&) {
          for (bool refused = false; !refused;) {
            prepared_medium next = own.prepare_medium(2, 3000, 3000);
            try {
              next.commit(visit, 3000);
              ++committed;
            } catch (const error& too_much) {
              expect_parts(too_much.what(), {"AMITY_CORE_SPILL_BYTES_MAX=65536", "of type 'visit' to rank 2"});
              EXPECT_EQ(next.payload().size(), 3000u);
              refused = true;
            }
          }
        });
        own.barrier();
        if (own.rank() == 0) own.request_short(1, burst);
        if (own.rank() == 1) {
          own.wait_until("the burst", [&] { return committed > 0; });
          own.request_short(2, expect, {committed});
        }
        if (own.rank() == 2) own.wait_until("visits", [&] { return expected && visits >= *expected; });
        own.barrier();
        EXPECT_EQ(own.counts().of(visit).sent, committed);
        EXPECT_EQ(visits, own.rank() == 2 ? *expected : 0);
        if (own.rank() == 1) {
          EXPECT_GE(committed, 15u);
          EXPECT_LE(own.spill_bytes_peak(), 65536u);
        }
      },
      config);
}

/// A handler that sends until it is refused, and goes on as if nothing had happened; returns how the job ends.
std::string end_of_refused(const std::function<void(endpoint&, handler_id)>& send) {
  return failure_of([&] {
    simulate(
        3, {.credits = credits},
        [&](endpoint& own) {
          const handler_id visit = own.add_handler("visit", [](request&) {});
          const handler_id burst = own.add_handler("burst", [&](request&) {
            try {
              for (;;) send(own, visit);
            } catch (const error&) {
            }
          });
          own.barrier();
          if (own.rank() == 0) own.request_short(1, burst);
          own.wait_until("the end", [] { return false; });
        },
        configured({{"AMITY_CORE_SPILL_BYTES_MAX", "64k"}}));
  });
}

// They were counted, or collected before: they would be missing for ever.
TEST(messages_beyond_the_bound, end_the_job_whatever_their_handler_does) {
  const std::vector<std::byte> small(3000), large(100'000);
  for (const auto& send : std::vector<std::function<void(endpoint&, handler_id)>>{
           [&](endpoint&own, handler_id visit) { own.request_medium(2, visit, small); },
           [&](endpoint&own, handler_id visit) { own.request_medium(2, visit, large); },
           [](endpoint&own, handler_id visit) {
             outgoing out;
             ASSERT_TRUE(own.try_open(2, 3000, out));
             own.close(2, visit, out, 3000, 1);
           }}) {
    expect_parts(end_of_refused(send), {"sending from a handler (rank 1)", "AMITY_CORE_SPILL_BYTES_MAX=65536"});
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

TEST(prepared_longs_of_handlers, are_bounded_as_what_they_spill) {
  constexpr std::size_t usual = bounce_buffers::usual_bytes;
  simulate(
      2, {},
      [](endpoint& own) {
        remote_endpoint memory(own, {});
        const own_segment mine = memory.allocate(8 * usual);
        std::vector<peer_segment> all;
        std::size_t landed = 0, refused = 0;
        const handler_id land = own.add_handler("land", [&](request& r) {
          EXPECT_TRUE(fabric::testing::is_payload(r.payload(), r.args()[0]));
          ++landed;
        });
        const handler_id burst = own.add_handler("burst", [&](request&) {
          std::vector<prepared_long> open;
          for (std::size_t i = 0; i < 3; ++i) {
            open.push_back(memory.prepare_long({all[1], i * usual}, usual, usual, 1));
            fabric::testing::fill(open.back().payload(), i);
          }
          expect_error(
              [&] {
                memory.prepare_long({all[1], 0}, 1, 8, 1);
              },
              {"remote_endpoint::prepare_long", "65536 more in a handler", "AMITY_CORE_SPILL_BYTES_MAX=200000"});
          ++refused;
          for (std::size_t i = 0; i < 3; ++i) open[i].commit(land, usual, {i});
        });
        all = memory.exchange(mine);
        ASSERT_EQ(all[1].handle.direct, nullptr);
        own.barrier();
        if (own.rank() == 1) own.request_short(0, burst);
        own.wait_until("Longs", [&] { return own.rank() == 0 ? refused == 1 : landed == 3; });
        own.barrier();
        if (own.rank() == 0) {  // outside handlers there is no such bound
          for (int i = 0; i < 4; ++i) static_cast<void>(memory.prepare_long({all[1], 0}, 1, 8));
          std::vector<prepared_long> open;
          for (int i = 0; i < 4; ++i) open.push_back(memory.prepare_long({all[1], 0}, usual, usual));
        }
        own.barrier();
      },
      configured({{"AMITY_CORE_SPILL_BYTES_MAX", "200000"}}));
}

}  // namespace
}  // namespace amity::core
