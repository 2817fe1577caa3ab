/// Mistakes with Long messages: each has an error that names it.

#include <string>
#include <vector>

#include "tests/core/long_storm.hpp"
#include "tests/support/texts.hpp"
#include "tests/support/worlds.hpp"

namespace amity::core {
namespace {

using testing::configured;
using testing::expect_error;
using testing::simulate;
using testing::unordered;

TEST(long_misuse, names_itself) {
  simulate(2, unordered(1), [](endpoint& own) {
    auto& memory = own.memory();
    const local_segment mine = memory.allocate(100);
    const auto all = exchange(own, mine);
    const auto at = [&](std::size_t rank, std::size_t offset) { return remote_address{all[rank], offset}; };
    const std::vector<std::byte> payload(60);
    bool ended = false;
    handler_id back = own.add_handler("back", [&](request& r) {
      expect_error([&] { r.reply_long(at(1, 0), 0, payload, {}, memory.implicit()); },
                   {"request::reply_long", "a reply of rank 1", "send a request"});
      ended = true;
    });
    const handler_id ask = own.add_handler("ask", [&](request& r) {
      expect_error([&] { r.reply_long(at(1, 0), back, payload, {}, memory.implicit()); },
                   {"request::reply_long", "the place is on rank 1, but rank 0 has sent"});
      expect_error([&] { r.reply_long(at(0, 50), back, payload, {}, memory.implicit()); },
                   {"60 bytes at offset 50", "rank 0 has 100 bytes"});
      expect_error([&] { own.request_long({all[0], 0}, back, payload); }, {"would wait", "an event"});
      expect_error([&] { memory.put({all[0], 0}, payload); }, {"memory::put", "would wait"});
      r.reply_long({all[0], 0}, back, payload, {}, memory.implicit());
      expect_error([&] { r.reply_long({all[0], 0}, back, payload, {}, memory.implicit()); }, {"second reply"});
    });
    own.barrier();
    expect_error([&] { own.request_long(at(1, 41), ask, payload); },
                 {"endpoint::request_long", "60 bytes at offset 41", "rank 1 has 100 bytes"});
    expect_error([&] { own.request_long({}, ask, payload); }, {"the segment is not open", "exchange"});
    expect_error([&] { own.request_long({all[1], 0}, 99, payload); }, {"99 is not the number of a handler"});
    expect_error([&] { own.request_long(at(1, 0), ask, payload, std::vector<std::uint64_t>(17)); }, {"17 arguments"});
    expect_error([&] { memory.get({all[1], 101}, {}); }, {"memory::get", "0 bytes at offset 101"});
    expect_error([&] { memory.atomic({all[1], 4}, {}); }, {"memory::atomic", "8 bytes at offset 4"});
    segment_descriptor wrong = mine.descriptor;
    wrong.lane = 2;
    expect_error([&] { memory.open(wrong); }, {"memory::open", "100 bytes of rank 2 of the job"});
    expect_error([&] { memory.open({}); }, {"memory::open", "0 bytes of rank -1"});
    std::array<std::uint64_t, 2> words{};
    const mutable_bytes odd = std::as_writable_bytes(std::span(words)).subspan(1);
    expect_error([&] { memory.attach(odd); }, {"memory::attach", "15 bytes at", "aligned to 8 bytes"});
    const mutable_bytes endless(odd.data() - 1, SIZE_MAX);
    expect_error([&] { memory.attach(endless); },
                 {"memory::attach", "18446744073709551615 bytes at", "at most 9223372036854775807"});
    expect_error([&] { memory.attach({}); }, {"memory::attach", "0 bytes", "at least 1 byte"});
    EXPECT_EQ(own.counts().of(ask).sent, 0u);
    if (own.rank() == 0) {
      own.request_long({all[1], 40}, ask, payload);
      own.wait_until("the reply", [&] { return ended; });
    }
    own.barrier();
    memory.wait(memory.implicit());
    own.barrier();
  });
}

TEST(long_misuse, protocol_impossible_on_fabric) {
  const settings config = configured({{"AMITY_LONG_PROTOCOL", "ordered"}});
  testing::expect_parts(
      testing::failure_in_simulation(
          1, unordered(1), [](endpoint& own) { own.memory(); }, config),
      {"AMITY_LONG_PROTOCOL=ordered, but this fabric does not deliver packets after puts; leave AMITY_LONG_PROTOCOL "
       "unset, or choose one of packed, put_sync_send, chained, rendezvous, reassembly"});
}

}  // namespace
}  // namespace amity::core
