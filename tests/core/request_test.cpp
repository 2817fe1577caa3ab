/// Requests and replies on every fabric: what arrives is what was sent, once, whatever its size.

#include <cstdint>
#include <numeric>
#include <vector>

#include "amity/core/reassembly.hpp"
#include "tests/fabric/payloads.hpp"
#include "tests/support/jobs.hpp"
#include "tests/support/texts.hpp"

namespace amity::core {
namespace {

using fabric::testing::is_payload;
using fabric::testing::make_payload;

class requests : public testing::every_fabric {};
INSTANTIATE_TEST_SUITE_P(core, requests, testing::every_job(), testing::job_name);

rank_t next_of(const endpoint& own) { return (own.rank() + 1) % own.size(); }

// Handlers are added without a word between the ranks: a request may not be sent before all have them.
handler_id add_everywhere(endpoint& own, std::string_view name, std::function<void(request&)> handler) {
  const handler_id id = own.add_handler(name, std::move(handler));
  own.barrier();
  return id;
}

std::vector<std::uint64_t> words(std::size_t count, std::uint64_t first) {
  std::vector<std::uint64_t> result(count);
  std::iota(result.begin(), result.end(), first);
  return result;
}

TEST_P(requests, carry_up_to_sixteen_words_and_so_do_replies) {
  static_assert(args_max == 16);
  run([](endpoint& own) {
    const std::vector<std::size_t> sizes{0, 20, own.packet_bytes_max()};
    std::vector<std::size_t> answered(args_max + 1);
    std::size_t all = 0;
    const auto check = [](const request& r) {
      const std::size_t count = r.args().size();
      EXPECT_TRUE(std::ranges::equal(r.args(), words(count, count << 32)));
      EXPECT_TRUE(is_payload(r.payload(), count));
    };
    const handler_id back = own.add_handler("back", [&](request& r) {
      check(r);
      ++answered[r.args().size()];
      ++all;
    });
    const handler_id ask = add_everywhere(own, "ask", [&](request& r) {
      check(r);
      if (r.payload().empty()) {
        r.reply_short(back, r.args());
      } else {
        r.reply_medium(back, r.payload(), r.args());
      }
    });
    for (std::size_t count = 0; count <= args_max; ++count) {
      const auto sent = words(count, count << 32);
      own.request_short(next_of(own), ask, sent);
      for (const std::size_t bytes : sizes) own.request_medium(next_of(own), ask, make_payload(bytes, count), sent);
    }
    own.wait_until("all replies", [&] { return all == 4 * answered.size(); });
    EXPECT_EQ(answered, std::vector<std::size_t>(args_max + 1, 4));
    own.barrier();
  });
}

TEST_P(requests, medium_ones_have_any_size) {
  run([](endpoint& own) {
    const std::size_t packet = own.packet_bytes_max();
    const std::vector<std::size_t> sizes{0,      1,          7,          8,          48,         49,
                                         packet, packet - 1, packet + 1, packet - 8, packet - 7, 3 * packet + 17};
    std::vector<int> arrived(sizes.size());
    std::size_t all = 0;
    const handler_id take = add_everywhere(own, "take", [&](request& r) {
      const std::size_t which = r.args().empty() ? r.payload().size() : r.args().back();
      const std::size_t size = r.args().empty() ? which : sizes.at(which);
      ASSERT_EQ(r.payload().size(), size);
      EXPECT_TRUE(is_payload(r.payload(), size));
      if (!r.args().empty()) ++arrived[which];
      ++all;
    });
    for (std::size_t which = 0; which < sizes.size(); ++which) {
      const auto payload = make_payload(sizes[which], sizes[which]);
      own.request_medium(next_of(own), take, payload);
      own.request_medium(next_of(own), take, payload, {which});
      own.request_medium(next_of(own), take, payload, {1, 2, 3, 4, 5, which});
    }
    own.wait_until("all sizes", [&] { return all == 3 * sizes.size(); });
    EXPECT_EQ(arrived, std::vector<int>(sizes.size(), 2));
    own.barrier();
  });
}

// The last fragment brings one byte. A message that is handed over without it shows in one of many payloads.
TEST(large_requests, last_fragment_of_one_byte_counts) {
  testing::simulate(2, {.packet_bytes = 512}, [](endpoint& own) {
    constexpr std::uint64_t messages = 24;
    const std::size_t content_bytes = own.packet_bytes_max() - sizeof(fragment_header);
    std::uint64_t handled = 0;
    const handler_id take = add_everywhere(own, "take", [&](request& r) {
      EXPECT_TRUE(is_payload(r.payload(), r.args()[0]));
      ++handled;
    });
    for (std::uint64_t i = 0; i < messages; ++i) {
      const std::size_t bytes = (2 + i % 3) * content_bytes + 1;
      own.request_medium(next_of(own), take, make_payload(bytes - sizeof i, i), {i});
    }
    own.wait_until("all messages", [&] { return handled == messages; });
    own.barrier();
  });
}

TEST_P(requests, megabytes_arrive_whole) {
  run([](endpoint& own) {
    constexpr std::size_t size = 2'000'003;
    int arrived = 0;
    const handler_id take = add_everywhere(own, "take", [&](request& r) {
      ASSERT_EQ(r.args().size(), 2u);
      EXPECT_EQ(r.args()[0], 17u);
      EXPECT_TRUE(r.payload().size() == size && is_payload(r.payload(), r.args()[1]));
      // Whoever wants more of an alignment than this copies.
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(r.args().data()) % alignof(std::uint64_t), 0u);
      ++arrived;
    });
    if (own.rank() < 2) {
      own.request_medium(own.size() - 1, take, make_payload(size, 1), {17, 1});
      own.request_medium(own.size() - 1, take, make_payload(size, 2), {17, 2});
    }
    const int expected = own.rank() == own.size() - 1 ? 2 * std::min(own.size(), 2) : 0;
    own.wait_until("large messages", [&] { return arrived == expected; });
    own.barrier();
  });
}

// No rank sends such a packet which runs the same build.
TEST(invalid_requests, arguments_beyond_packet) {
  for (const std::size_t bytes : {0, 15}) {
    const std::string text = testing::failure_in_simulation(2, {}, [&](endpoint& own) {
      const handler_id take = add_everywhere(own, "take", [](request&) {});
      const packet_header header({.handler = take, .check = own.handlers().at(take).check});
      if (own.rank() == 0) own.own_engine().send_control(1, 0, header.with_args(2), std::vector<std::byte>(bytes));
      own.wait_until("the end of the job", [] { return false; });
    });
    testing::expect_parts(text, {"(rank 1)", "rank 0 sent an invalid packet: 2 arguments in ", "same build"});
  }
}

TEST_P(requests, replies_go_back_to_the_source) {
  run([](endpoint& own) {
    int short_replies = 0;
    int medium_replies = 0;
    const handler_id short_back = own.add_handler("short_back", [&](request& r) {
      EXPECT_EQ(r.args()[0], static_cast<std::uint64_t>(r.source()) + 100);
      ++short_replies;
    });
    const handler_id medium_back = own.add_handler("medium_back", [&](request& r) {
      EXPECT_TRUE(is_payload(r.payload(), static_cast<std::uint64_t>(r.source())));
      EXPECT_EQ(r.payload().size(), r.args()[0]);
      ++medium_replies;
    });
    const handler_id ask = add_everywhere(own, "ask", [&](request& r) {
      const auto me = static_cast<std::uint64_t>(own.rank());
      if (r.args().empty()) {
        r.reply_short(short_back, {me + 100});
      } else {
        r.reply_medium(medium_back, make_payload(r.args()[0], me), {r.args()[0]});
      }
    });
    for (rank_t dest = 0; dest < own.size(); ++dest) {
      own.request_short(dest, ask);
      own.request_short(dest, ask, {10});
      own.request_short(dest, ask, {5000});
    }
    own.wait_until("replies", [&] { return short_replies == own.size() && medium_replies == 2 * own.size(); });
    own.barrier();
  });
}

TEST_P(requests, a_reply_may_be_answered_by_a_request) {
  run([](endpoint& own) {
    constexpr std::uint64_t rallies = 40;
    bool over = false;
    handler_id hit = 0;
    hit = add_everywhere(own, "hit", [&](request& r) {
      EXPECT_EQ(r.is_reply(), r.args()[0] % 2 == 0);
      if (r.args()[0] == rallies) {
        over = true;
      } else if (r.is_reply()) {
        own.request_short(r.source(), hit, {r.args()[0] + 1});
      } else {
        r.reply_short(hit, {r.args()[0] + 1});
      }
    });
    // Even numbers of hits end where they began: each rank sees the end of its own ball.
    own.request_short(next_of(own), hit, {1});
    own.wait_until("the last hit", [&] { return over; });
    own.barrier();
  });
}

TEST_P(requests, a_handler_sends_to_a_third_rank) {
  run([](endpoint& own) {
    const auto size = static_cast<std::uint64_t>(own.size());
    std::uint64_t seen = 0;
    handler_id pass = 0;
    pass = add_everywhere(own, "pass", [&](request& r) {
      ++seen;
      const std::uint64_t left = r.args()[0];
      EXPECT_TRUE(is_payload(r.payload(), r.args()[1]));
      if (left > 0) own.request_medium(next_of(own), pass, r.payload(), {left - 1, r.args()[1]});
    });
    // As many tokens as ranks, each three times around, each rank the first of one.
    own.request_medium(own.rank(), pass, make_payload(700, size), {3 * size - 1, size});
    own.wait_until("all tokens", [&] { return seen == 3 * size; });
    own.barrier();
  });
}

}  // namespace
}  // namespace amity::core
