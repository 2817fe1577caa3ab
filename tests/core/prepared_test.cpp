/// Messages that are written in place: what is committed arrives, what is not leaves nothing behind.

#include <optional>
#include <set>
#include <vector>

#include "amity/core/memory.hpp"
#include "amity/core/prepared.hpp"
#include "tests/fabric/payloads.hpp"
#include "tests/support/texts.hpp"
#include "tests/support/worlds.hpp"

namespace amity::core {
namespace {

using fabric::testing::fill;
using fabric::testing::is_payload;
using testing::expect_error;
using testing::simulate;

class prepared_messages : public testing::every_fabric {};
INSTANTIATE_TEST_SUITE_P(core, prepared_messages,
                         ::testing::Combine(::testing::ValuesIn(testing::every_job_kind()), ::testing::Values(1, 3)),
                         testing::job_name);

TEST_P(prepared_messages, arrive_as_mediums_and_as_replies) {
  run([](endpoint& own) {
    const std::size_t room = own.packet_bytes_max() - 2 * sizeof(std::uint64_t);
    std::size_t answers = 0;
    const auto check = [](const request& r) {
      ASSERT_EQ(r.args().size(), 2u);
      EXPECT_EQ(r.payload().size(), r.args()[1]);
      EXPECT_TRUE(is_payload(r.payload(), r.args()[0]));
    };
    const handler_id back = own.add_handler("back", [&](request& r) {
      check(r);
      EXPECT_TRUE(r.is_reply());
      ++answers;
    });
    handler_id again = 0;
    const handler_id ask = own.add_handler("ask", [&](request& r) {
      check(r);
      prepared_medium reply = r.prepare_reply_medium(1, 50, 2);
      EXPECT_EQ(reply.payload().size(), 50u);
      fill(reply.payload().first(30), r.args()[0] + 1);
      reply.commit(back, 30, {r.args()[0] + 1, 30});
      // Requests, too, are prepared by handlers.
      prepared_medium more = own.prepare_medium(r.source(), 1, 1, 2);
      fill(more.payload(), 7);
      prepared_medium(std::move(more)).commit(again, 1, {7, 1});
    });
    again = own.add_handler("again", [&](request& r) {
      check(r);
      ++answers;
    });
    own.barrier();
    const std::vector<std::size_t> sizes{0, 8, 700, room};
    for (std::size_t i = 0; i < 40; ++i) {
      const std::size_t bytes = std::min(sizes[i % sizes.size()], room);
      prepared_medium request = own.prepare_medium((own.rank() + 1) % own.size(), bytes, 10 * room, 2);
      ASSERT_EQ(request.payload().size(), room);
      fill(request.payload().first(bytes), i);
      request.commit(ask, bytes, {i, bytes});
      EXPECT_TRUE(request.payload().empty());
    }
    own.wait_until("answers", [&] { return answers == 80; });
    own.barrier();
    EXPECT_EQ(own.counts().of(ask).sent, 40u);
    EXPECT_EQ(own.counts().of(back).handled, 40u);
  });
}

// More than there are credits on any fabric.
TEST_P(prepared_messages, leave_nothing_behind_when_they_are_dropped) {
  run([](endpoint& own) {
    std::size_t taken = 0;
    const rank_t next = (own.rank() + 1) % own.size();
    const handler_id take = own.add_handler("take", [&](request&) { ++taken; });
    const handler_id drop = own.add_handler("drop", [&](request& r) {
      for (int i = 0; i < 300; ++i) static_cast<void>(r.prepare_reply_medium(0, 100));
      r.reply_short(take);
    });
    own.barrier();
    for (int i = 0; i < 300; ++i) static_cast<void>(own.prepare_medium(next, 0, 100));
    own.request_short(next, drop);
    for (int i = 0; i < 300; ++i) own.request_medium(next, take, std::vector<std::byte>(100));
    own.wait_until("messages", [&] { return taken == 301; });
    own.barrier();
    EXPECT_EQ(own.counts().total().messages_handled, 302u);
  });
}

TEST_P(prepared_messages, arrive_as_longs_and_as_replies) {
  run([](endpoint& own) {
    auto& memory = own.memory();
    constexpr std::size_t each = 5000, count = 12;
    const local_segment mine = memory.allocate(2 * count * each);  // requests, then replies
    std::vector<remote_segment> all;
    std::size_t answers = 0;
    const auto check = [&](const request& r, std::size_t place) {
      EXPECT_TRUE(r.payload().size() == r.args()[1] && is_payload(r.payload(), r.args()[0]));
      EXPECT_EQ(r.payload().data(), mine.data + place * each);
    };
    const handler_id back = own.add_handler("back", [&](request& r) {
      check(r, count + r.args()[0]);
      ++answers;
    });
    const handler_id ask = own.add_handler("ask", [&](request& r) {
      check(r, r.args()[0]);
      const remote_address to{all[static_cast<std::size_t>(r.source())], (count + r.args()[0]) * each};
      prepared_long reply = r.prepare_reply_long(to, 1, each, 2);
      fill(reply.payload(), r.args()[0]);
      reply.commit(back, each, {r.args()[0], each});
    });
    all = exchange(own, mine);
    own.barrier();
    const remote_segment& next = all[static_cast<std::size_t>(own.rank() + 1) % all.size()];
    std::set<const std::byte*> used;
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t bytes = i % 3 == 0 ? 16 : i % 3 == 1 ? 0 : each;
      static_cast<void>(own.prepare_long({next, i * each}, 1, each));  // and dropped
      prepared_long request = own.prepare_long({next, i * each}, bytes, each, 2);
      EXPECT_EQ(request.payload().size(), each);
      if (next.handle.direct != nullptr) {
        EXPECT_EQ(request.payload().data(), next.handle.direct + i * each);
      } else {
        used.insert(request.payload().data());
      }
      fill(request.payload().first(bytes), i);
      request.commit(ask, bytes, {i, bytes});
      own.wait_until("an answer", [&] { return answers > i; });
    }
    EXPECT_LE(used.size(), 3u);  // memory serves again
    own.barrier();
    // A segment may end before the runtime's memory does.
    EXPECT_EQ(own.prepare_long({next, mine.bytes - 10}, 5, 100).payload().size(), 10u);
    for (remote_segment& peer : all) memory.close(peer);
    own.barrier();
  });
}

// A packet that says nothing may come when the world that it was begun in is gone.
TEST(dropped_messages, may_arrive_late) {
  testing::run_worlds(testing::simulated("sim", {}), 2, [](world& w) {
    auto other = w.duplicate();
    if (w.rank() == 1) other.reset();
    w.barrier();
    if (other) static_cast<void>(other->endpoint().prepare_medium(1, 0, 8));
    w.barrier();
  });
}

TEST(prepared_misuse, names_itself) {
  simulate(2, {}, [](endpoint& own) {
    auto& memory = own.memory();
    std::optional<prepared_medium> outside, kept;
    std::optional<prepared_long> kept_long;
    const local_segment mine = memory.allocate(100);
    const auto all = exchange(own, mine);
    bool ended = false;
    const handler_id back = own.add_handler("back", [&](request& r) {
      expect_error([&] { r.prepare_reply_medium(0, 1); }, {"request::prepare_reply_medium", "a reply of rank 1"});
      const remote_address at{all[1], 0};
      expect_error([&] { r.prepare_reply_long(at, 0, 1); }, {"request::prepare_reply_long", "a reply of rank 1"});
      ended = true;
    });
    const handler_id ask = own.add_handler("ask", [&](request& r) {
      expect_error([&] { outside->commit(0, 0); },
                   {"prepared_medium::commit", "a handler ended a buffer that was prepared outside handlers"});
      if (kept) {
        const std::string_view later = "ended after the handler that has prepared it";
        expect_error([&] { kept->commit(back, 0); }, {"prepared_medium::commit", later});
        expect_error([&] { kept_long->commit(back, 0); }, {"prepared_long::commit", later});
        return;
      }
      kept.emplace(r.prepare_reply_medium(0, 1));
      kept_long.emplace(r.prepare_reply_long({all[0], 0}, 0, 1));
      expect_error([&] { r.prepare_reply_long({all[1], 0}, 0, 1); }, {"the place is on rank 1, but rank 0 has sent"});
      prepared_medium reply = r.prepare_reply_medium(0, 1);
      reply.commit(back, 0);
      expect_error([&] { reply.commit(back, 0); }, {"prepared_medium::commit", "committed before"});
      expect_error([&] { kept->commit(back, 0); }, {"prepared_medium::commit", "second reply"});
      expect_error([&] { r.prepare_reply_medium(0, 1); }, {"request::prepare_reply_medium", "second reply"});
    });
    own.barrier();
    const std::size_t packet = own.packet_bytes_max();
    const std::string room = "room for " + std::to_string(packet - 8);
    expect_error([&] { own.prepare_medium(2, 0, 8); }, {"endpoint::prepare_medium", "destination 2"});
    expect_error([&] { own.prepare_medium(1, 9, 8); }, {"endpoint::prepare_medium", "at least 9 and at most 8"});
    expect_error([&] { own.prepare_medium(1, packet - 7, packet, 1); }, {"endpoint::prepare_medium", room});
    expect_error([&] { own.prepare_medium(1, 0, 8, 17); }, {"endpoint::prepare_medium", "17 arguments"});
    expect_error([&] { own.prepare_long({all[1], 41}, 60, 60); }, {"prepare_long", "60 bytes at offset 41"});
    expect_error([&] { own.prepare_long({all[1], 0}, 0, 8, 17); }, {"prepare_long", "17 arguments"});
    outside.emplace(own.prepare_medium(1, 0, 8, 1));
    expect_error([&] { own.prepare_medium(1, 0, 8); }, {"endpoint::prepare_medium", "another buffer is prepared"});
    testing::expect_parts(own.stall_report("a test", 1), {"a prepared buffer holds a credit and is not committed"});
    expect_error([&] { outside->commit(ask, 9, {1}); }, {"prepared_medium::commit", "9 bytes of a buffer of 8"});
    expect_error([&] { outside->commit(ask, 8); }, {"prepared_medium::commit", "0 arguments", "prepared for 1"});
    expect_error([&] { outside->commit(99, 8, {1}); }, {"prepared_medium::commit", "99 is not the number"});
    own.barrier();
    if (own.rank() == 0) {
      own.request_short(1, ask);
      own.wait_until("the reply", [&] { return ended; });
      own.request_short(1, ask);
    }
    own.wait_until("requests", [&] { return own.rank() == 0 || own.counts().of(ask).handled == 2; });
    if (kept) expect_error([&] { kept->commit(back, 0); }, {"prepared_medium::commit", "ended after the handler"});
    own.barrier();
  });
}

}  // namespace
}  // namespace amity::core
