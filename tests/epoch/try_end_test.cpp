/// The end of an epoch in steps: on every fabric, beside ranks that wait for it, and what a user may get wrong.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

#include "amity/core/memory.hpp"
#include "tests/support/places.hpp"
#include "tests/support/texts.hpp"
#include "tests/support/trees.hpp"
#include "tests/support/worlds.hpp"

namespace amity {
namespace {

using testing::failure_in_worlds;
using testing::failure_of;

class try_end : public testing::on_places {};
INSTANTIATE_TEST_SUITE_P(epoch, try_end, ::testing::ValuesIn(testing::every_place()), testing::place_name);

TEST_P(try_end, tells_the_end_after_all_messages_that_messages_caused) {
  run([](world& w) {
    const testing::trees work{.ranks = w.size(), .seed = 5, .roots = 3, .depth = 5, .fanout = {0, 1, 1, 2, 2, 2, 3, 3}};
    const auto expected = work.walk();
    std::uint64_t handled = 0;
    std::uint64_t key_sum = 0;
    auto visit = w.message<testing::node>(
        [&](const testing::node& n, auto& self) {
          ++handled;
          key_sum += n.key;
          work.for_each_child(n, [&](const testing::node& child) { self.send(work.home(child), child); });
        },
        coalesce{.count = 4});
    for (std::uint64_t round = 1; round <= 3; ++round) {
      auto period = w.begin_epoch();
      work.for_each_root(w.rank(), [&](const testing::node& n) { visit.send(work.home(n), n); });
      const auto value = [&] { return key_sum; };
      std::optional<std::uint64_t> sum;
      // Some ranks wait, and one changes its mind.
      if (w.rank() % 3 == 1) {
        sum = period.end(value);
      } else if (w.rank() % 3 == 2) {
        sum = period.try_end(value);
        if (!sum) sum = period.end(value);
      } else {
        while (!sum) sum = period.try_end(value);
      }
      EXPECT_EQ(sum, round * expected.key_sum());
      EXPECT_EQ(handled, round * expected.handled[static_cast<std::size_t>(w.rank())]);
    }
  });
}

TEST_P(try_end, has_a_form_without_a_value) {
  run([](world& w) {
    std::uint64_t handled = 0;
    auto message = w.message<int>([&](int) { ++handled; });
    auto first = w.begin_epoch();
    message.send((w.rank() + 1) % w.size(), 1);
    while (!first.try_end()) {
    }
    EXPECT_EQ(handled, 1u);
    auto second = w.begin_epoch();
    message.send((w.rank() + 1) % w.size(), 1);
    second.end();
    EXPECT_EQ(handled, 2u);
  });
}

// A packet of the collective arrives in each call of the rank that is late.
TEST(try_end_steps, take_part_beside_collectives) {
  for (const char* const detector : {"colored", "four_counter"}) {
    for (const rank_t late : {0, 1, 2}) {
      testing::run_worlds(
          testing::simulated("sim", {}), 3,
          [late](world& w) {
            auto message = w.message<int>([](int) {});
            auto period = w.begin_epoch();
            message.send((w.rank() + 1) % w.size(), 1);
            bool ended = false;
            for (int round = 0; round < 100; ++round) {
              if (w.rank() == late) testing::idle_until(w.endpoint().transport(), w.now_ns() + 20'000);
              if (!ended) ended = period.try_end();
              if (w.min(std::uint64_t{ended}) != 0) break;
            }
            EXPECT_TRUE(ended) << "rank " << w.rank();
            if (!ended) period.end();
          },
          testing::configured({{"AMITY_EPOCH_DETECTOR", detector}}));
    }
  }
}

// Rank 1 is busy elsewhere for a millisecond of virtual time; no call of rank 0 waits for it.
TEST(try_end_steps, never_wait) {
  testing::run_worlds(testing::simulated("sim", {}), 2, [](world& w) {
    auto message = w.message<int>([](int) {});
    auto period = w.begin_epoch();
    message.send(1 - w.rank(), 1);
    if (w.rank() == 1) testing::idle_until(w.endpoint().transport(), 1'000'000);
    std::uint64_t longest_ns = 0;
    std::uint64_t calls = 0;
    for (bool ended = false; !ended; ++calls) {
      const std::uint64_t from_ns = w.now_ns();
      ended = period.try_end();
      longest_ns = std::max(longest_ns, w.now_ns() - from_ns);
    }
    if (w.rank() == 0) {
      EXPECT_GT(calls, 100u);
      EXPECT_LT(longest_ns, 10'000u);
      EXPECT_GT(w.now_ns(), 1'000'000u);
    }
  });
}

TEST(try_end_steps, handle_a_bounded_number_of_packets) {
  testing::run_worlds(testing::simulated("sim", {.credits = 1000}), 2, [](world& w) {
    std::uint64_t handled = 0;
    auto message = w.message<int>([&](int) { ++handled; });
    auto period = w.begin_epoch();
    if (w.rank() == 0) {
      for (int i = 0; i < 500; ++i) message.send(1, i);
    } else {
      testing::idle_until(w.endpoint().transport(), 1'000'000);
    }
    std::uint64_t most = 0;
    for (bool ended = false; !ended;) {
      const std::uint64_t before = handled;
      ended = period.try_end();
      most = std::max(most, handled - before);
    }
    EXPECT_EQ(handled, w.rank() == 0 ? 0u : 500u);
    EXPECT_LE(most, 64u);
  });
}

// The handler's own packet is open then: the sender does not get into it.
TEST(try_end_misuse, a_send_after_it_was_called) {
  testing::run_worlds(testing::simulated("sim", {}), 2, [](world& w) {
    std::uint64_t handled = 0;
    const auto pass_on = [&](int lives, auto& self) {
      ++handled;
      if (lives > 0) self.send(1 - w.rank(), lives - 1);
    };
    auto alone = w.message<int>(pass_on);
    auto coalesced = w.message<int>(pass_on, coalesce{});
    auto combined = w.message<int>([&](int) { ++handled; },
                                   combine{[](int i) { return i; }, [](int a, int) { return a; }}, coalesce{});
    const std::string expected = "amity: message::send (rank " + std::to_string(w.rank()) +
                                 "): a message was sent after the end of its epoch had been asked for; send before the "
                                 "first try_end, or from a handler";
    for (int round = 0; round < 2; ++round) {
      handled = 0;
      auto period = w.begin_epoch();
      alone.send(1 - w.rank(), 10);
      coalesced.send(1 - w.rank(), 20);
      combined.send(1 - w.rank(), 1);
      int calls = 0;
      while (!period.try_end()) {
        if (++calls > 100) continue;
        EXPECT_EQ(failure_of([&] { alone.send(1 - w.rank(), 0); }), expected);
        EXPECT_EQ(failure_of([&] { coalesced.send(1 - w.rank(), 0); }), expected);
        EXPECT_EQ(failure_of([&] { combined.send(1 - w.rank(), 2); }), expected);
      }
      EXPECT_EQ(handled, 33u);
    }
  });
}

TEST(try_end_misuse, core_request_between_steps_is_refused) {
  testing::run_worlds(testing::simulated("sim", {}), 2, [](world& w) {
    core::endpoint& own = w.endpoint();
    auto& memory = own.memory();
    const core::local_segment mine = memory.allocate(64);
    const core::handler_id take = own.add_handler("take", [](core::request&) { ADD_FAILURE() << "sent"; });
    auto all = exchange(own, mine);
    const bytes_view payload(mine.data, mine.bytes);
    const std::string problem = "a message was sent after the end of its epoch had been asked for";
    auto period = w.begin_epoch();
    int calls = 0;
    for (; !period.try_end(); ++calls) {
      if (calls > 0) continue;
      testing::expect_error([&] { own.request_short(1 - w.rank(), take); }, {"endpoint::request_short", problem});
      testing::expect_error([&] { own.request_medium(1 - w.rank(), take, payload); },
                            {"endpoint::request_medium", problem});
      testing::expect_error([&] { own.request_long({all[0], 0}, take, payload); }, {"request_long", problem});
    }
    EXPECT_GT(calls, 0);
    w.barrier();
    for (core::remote_segment& each : all) memory.close(each);
    memory.release(mine);
    own.remove_handler(take);
  });
}

TEST(try_end_misuse, an_epoch_destroyed_without_its_end) {
  const std::string failure = failure_in_worlds(2, [](world& w) {
    {
      auto first = w.begin_epoch();
      first.end();
    }
    auto message = w.message<int>([](int) {});
    {
      auto second = w.begin_epoch();
      message.send(1 - w.rank(), 1);
      if (second.try_end()) ADD_FAILURE() << "ended before any message was handled";
    }
  });
  EXPECT_EQ(failure,
            "amity: epoch (rank 0): epoch 2 was begun, and destroyed before its end; call end, or try_end until it "
            "tells the end");
}

TEST(try_end_misuse, an_exception_destroys_the_epoch_on_its_way) {
  const std::string failure = failure_in_worlds(2, [](world& w) {
    auto period = w.begin_epoch();
    if (w.rank() == 0) throw std::runtime_error("the program's own");
    period.end();
  });
  EXPECT_EQ(failure, "the program's own");
}

TEST(try_end_misuse, an_epoch_ended_twice) {
  testing::run_worlds(testing::simulated("sim", {}), 2, [](world& w) {
    const std::string expected = "amity: epoch (rank " + std::to_string(w.rank()) +
                                 "): the epoch has ended already; call try_end until it tells the end, and end once";
    auto first = w.begin_epoch();
    while (!first.try_end()) {
    }
    EXPECT_EQ(failure_of([&] { first.try_end(); }), expected);
    auto second = w.begin_epoch();
    EXPECT_EQ(failure_of([&] { first.end(); }), expected);
    second.end();
  });
}

TEST(try_end_misuse, inside_another_epoch_or_a_handler) {
  testing::run_worlds(testing::simulated("sim", {}), 2, [](world& w) {
    int ran = 0;
    std::unique_ptr<std::remove_cvref_t<decltype(w.begin_epoch())>> period;
    auto message = w.message<int>([&](int) {
      ++ran;
      testing::expect_error([&] { period->try_end(); }, {"a handler tried to end the epoch"});
    });
    period.reset(new auto(w.begin_epoch()));
    testing::expect_error([&] { w.epoch([] {}); }, {"epochs do not nest"});
    const auto make_type = [&] { auto nested = w.message<int>([](int) {}); };
    testing::expect_error(make_type, {"called inside an epoch"});
    message.send(1 - w.rank(), 1);
    EXPECT_FALSE(period->try_end());
    testing::expect_error(make_type, {"called inside an epoch"});
    period->end();
    EXPECT_EQ(ran, 1);
  });
}

}  // namespace
}  // namespace amity
