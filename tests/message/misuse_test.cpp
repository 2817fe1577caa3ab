/// What a user of messages and epochs may get wrong: each mistake has an error that names the call, the value, the rank
/// and the remedy.

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "amity/base/error.hpp"
#include "tests/support/texts.hpp"
#include "tests/support/worlds.hpp"

namespace amity {
namespace {

using testing::expect_parts;
using testing::failure_in_worlds;
using testing::failure_of;
using testing::run_worlds;
using testing::simulated;

struct large_value {
  char content[1000];
};

/// A way to send for each road that a message may take, and the call that its errors name.
struct road {
  std::string call;
  std::function<void(rank_t)> send;
};

/// Runs `body` with each road.
void for_all_roads(world& w, const std::function<void(const road&)>& body) {
  auto alone = w.message<int>([](int) {});
  auto coalesced = w.message<int>([](int) {}, coalesce{});
  auto large = w.message<large_value>([](const large_value&) {}, coalesce{});
  auto encoded = w.message<std::string>([](const std::string&) {}, coalesce{});
  auto unrepeated = w.message<int>([](int) {}, unique{}, coalesce{});
  auto combined = w.message<int>([](int) {}, combine{[](int i) { return i; }, [](int a, int) { return a; }});
  auto addressed = w.message<int>([](int) {}, address{[](int dest) { return rank_t{dest}; }}, coalesce{});
  auto at_home = w.message<int>([](int) {}, deliver_locally{});
  auto by_route = w.message<int>([](int) {}, route{grid{}}, coalesce{});
  const std::string long_text(10'000, 'x');
  const std::vector<road> roads{{"message::send", [&](rank_t dest) { alone.send(dest, 1); }},
                                {"message::send", [&](rank_t dest) { coalesced.send(dest, 1); }},
                                {"message::send", [&](rank_t dest) { large.send(dest, {}); }},
                                {"message::send", [&](rank_t dest) { encoded.send(dest, "text"); }},
                                {"message::send", [&](rank_t dest) { encoded.send(dest, long_text); }},
                                {"message::send", [&](rank_t dest) { unrepeated.send(dest, 1); }},
                                {"message::send", [&](rank_t dest) { combined.send(dest, 1); }},
                                {"message::send", [&](rank_t dest) { addressed.send(dest); }},
                                {"message::send", [&](rank_t dest) { at_home.send(dest, 1); }},
                                {"message::send", [&](rank_t dest) { by_route.send(dest, 1); }},
                                {"world::async", [&](rank_t dest) { w.async(dest, [] {}); }},
                                {"world::async", [&](rank_t dest) {
                                   w.async(
                                       dest, [](const std::string&) {}, long_text);
                                 }}};
  for (const road& each : roads) body(each);
}

/// "amity: CALL (rank R): "
std::string beginning(const std::string& call, const world& w) {
  return "amity: " + call + " (rank " + std::to_string(w.rank()) + "): ";
}

TEST(message_misuse, a_send_outside_an_epoch) {
  run_worlds(simulated("sim", {}), 2, [](world& w) {
    for_all_roads(w, [&](const road& by) {
      const auto expected =
          beginning(by.call, w) + "a message was sent outside an epoch; send inside world::epoch, or from a handler";
      EXPECT_EQ(failure_of([&] { by.send(0); }), expected);
      w.epoch([&] { by.send(0); });
      EXPECT_EQ(failure_of([&] { by.send(0); }), expected);
    });
    EXPECT_EQ(w.sum(w.counters().messages_sent), w.sum(w.counters().messages_handled));
  });
}

// A handler may catch what its send throws, and go on.
TEST(message_misuse, a_rank_that_does_not_exist) {
  run_worlds(simulated("sim", {}), 3, [](world& w) {
    const auto expect_refusal = [&](const std::string& call, rank_t wrong, const std::function<void(rank_t)>& make) {
      EXPECT_EQ(failure_of([&] { make(wrong); }),
                beginning(call, w) + "destination " + std::to_string(wrong) + " is not a rank of this job; use 0 to 2");
    };
    int caught = 0;
    auto message = w.message<int>(
        [&](int, auto& self) {
          expect_refusal("message::send", 3, [&](rank_t dest) { self.send(dest, 0); });
          ++caught;
        },
        coalesce{});
    for (const rank_t wrong : {-1, 3, 1 << 30, -(1 << 30)}) {
      for_all_roads(w, [&](const road& by) { w.epoch([&] { expect_refusal(by.call, wrong, by.send); }); });
      expect_refusal("message::flush", wrong, [&](rank_t dest) { message.flush(dest); });
    }
    EXPECT_EQ(w.counters().messages_sent, 0u);
    w.epoch([&] { message.send(testing::next_of(w), 0); });
    EXPECT_EQ(caught, 1);
  });
}

TEST(message_misuse, a_message_type_with_a_policy_that_is_refused_leaves_nothing_behind) {
  run_worlds(simulated("sim", {}), 2, [](world& w) {
    const core::handler_id next = w.message<int>([](int) {}).id();
    expect_parts(failure_of([&] { w.message<int>([](int) {}, unique{direct_mapped{0}}); }),
                 {"world::message", "a cache of 0 slots", "use 1 to"});
    int handled = 0;
    auto message = w.message<int>([&](int) { ++handled; });
    EXPECT_EQ(message.id(), next);
    w.epoch([&] { message.send(1 - w.rank(), 1); });
    EXPECT_EQ(handled, 1);
  });
}

TEST(message_misuse, a_message_type_that_the_target_has_not_made) {
  const std::string failure = failure_in_worlds(2, [](world& w) {
    if (w.rank() == 1) return w.epoch([] {});
    auto message = w.message<int>([](int) {});
    w.epoch([&] { message.send(1, 1); });
  });
  EXPECT_EQ(
      failure,
      "amity: message arrival (rank 1): rank 0 sent a message for handler #1, which does not exist here "
      "(there are: #0 async); make the same message types, or add the same handlers, in the same order on all ranks");
}

TEST(message_misuse, type_missing_on_one_rank) {
  const std::string failure = failure_in_worlds(4, [](world& w) {
    if (w.rank() == 2) return w.epoch([] {});
    auto message = w.message<int>([](int) {});
    w.epoch([] {});
  });
  expect_parts(
      failure,
      {"amity: message types (rank 3): number 1 is nothing on rank 2, and 'int, 4 bytes, handler ",
       "' on rank 3; make and destroy the same message types, with the same handlers and policies, in the same "
       "order on all ranks"});
}

// A destructor cannot throw, but what was collected must not be lost without a word.
TEST(message_misuse, a_message_type_destroyed_inside_an_epoch) {
  const std::string failure = failure_in_worlds(2, [](world& w) {
    const auto make = [&] { return w.message<int>([](int) {}, coalesce{}); };
    using type = decltype(make());
    const std::unique_ptr<type> other(new type(make()));
    std::unique_ptr<type> message(new type(make()));
    w.epoch([&] {
      message->send(1 - w.rank(), 1);
      message.reset();
    });
  });
  EXPECT_EQ(failure,
            "amity: message type (rank 0): 'int' was destroyed inside an epoch; let message types end outside epochs");
}

// The exception that leaves the epoch is the cause, not what it destroys on its way.
TEST(message_misuse, an_exception_destroys_message_types_on_its_way) {
  const std::string failure = failure_in_worlds(2, [](world& w) {
    auto message = w.message<int>([](int) {}, coalesce{});
    w.epoch([&] {
      message.send(1 - w.rank(), 1);
      if (w.rank() == 0) throw std::runtime_error("the program's own");
    });
  });
  EXPECT_EQ(failure, "the program's own");
}

TEST(message_misuse, message_types_made_in_another_order) {
  const std::string failure = failure_in_worlds(2, [](world& w) {
    const auto exchange = [&](auto first, auto second) {
      auto one = w.message<decltype(first)>([](decltype(first)) {}, coalesce{});
      auto two = w.message<decltype(second)>([](decltype(second)) {}, coalesce{});
      w.epoch([&] {
        if (w.rank() == 0) one.send(1, first);
        w.barrier();
      });
    };
    w.rank() == 0 ? exchange(1, 2.0) : exchange(1.0, 2);
  });
  EXPECT_EQ(
      failure,
      "amity: message arrival (rank 1): rank 0 sent a message for handler #1, which is of another type there "
      "than 'double' here; make the same message types, or add the same handlers, in the same order on all ranks");
}

TEST(message_misuse, type_destroyed_on_some_ranks) {
  const std::string failure = failure_in_worlds(2, [](world& w) {
    const auto use = [&](const auto&... more) {
      auto message = w.message<int>([](int) {});
      w.epoch([] {});
      (more(), ...);
    };
    const auto epoch = [&] { w.epoch([] {}); };
    if (w.rank() == 0) return use(epoch);
    use();
    epoch();
  });
  expect_parts(failure, {"amity: message types (rank 1): number 1 is 'int, 4 bytes, handler "});
}

TEST(message_misuse, making_things_inside_an_epoch) {
  run_worlds(simulated("sim", {}), 2, [](world& w) {
    const std::string problem = "called inside an epoch; make message types and shared objects before the epoch begins";
    int object = 0;
    w.epoch([&] {
      EXPECT_EQ(failure_of([&] { auto late = w.message<int>([](int) {}); }), beginning("world::message", w) + problem);
      EXPECT_EQ(failure_of([&] { w.share(object); }), beginning("world::share", w) + problem);
    });
    auto in_time = w.message<int>([](int) {});
    w.share(object);
  });
}

// What would wait inside a handler, or run a handler inside it.
TEST(message_misuse, waiting_in_a_handler) {
  run_worlds(simulated("sim", {}), 2, [](world& w) {
    int checked = 0;
    auto message = w.message<int>([&](int) {
      EXPECT_EQ(failure_of([&] { w.poll(); }),
                beginning("world::poll", w) +
                    "a handler tried to poll, which would run handlers inside a handler; "
                    "return from the handler instead; its sends go out by themselves");
      EXPECT_EQ(failure_of([&] { w.epoch([] {}); }),
                beginning("epoch", w) + "a handler tried to begin an epoch; begin epochs outside handlers");
      const std::string collective =
          beginning("collective", w) +
          "a handler called a barrier or reduction, which would wait inside the handler; call collectives outside "
          "handlers";
      EXPECT_EQ(failure_of([&] { w.barrier(); }), collective);
      EXPECT_EQ(failure_of([&] { w.sum(1.0); }), collective);
      ++checked;
    });
    w.epoch([&] { message.send(1 - w.rank(), 0); });
    EXPECT_EQ(checked, 1);
  });
}

class failing_jobs : public testing::on_jobs {};
INSTANTIATE_TEST_SUITE_P(message, failing_jobs,
                         ::testing::Combine(::testing::Values(simulated("sim", {}), testing::threads("threads")),
                                            ::testing::Values(1, 2, 4)),
                         testing::job_name);

// The others wait for the rank that has failed: they end, and say nothing of their own.
TEST_P(failing_jobs, an_exception_that_leaves_the_body_of_an_epoch) {
  const std::string failure = failure_in([](world& w) {
    auto message = w.message<int>([](int) {}, coalesce{});
    w.epoch([&] {
      for (rank_t dest = 0; dest < w.size(); ++dest) message.send(dest, 1);
      if (w.rank() == w.size() - 1) throw std::runtime_error("the last rank gives up");
    });
  });
  EXPECT_EQ(failure, "the last rank gives up");
}

TEST_P(failing_jobs, an_exception_that_leaves_a_handler) {
  const std::string failure = failure_in([](world& w) {
    auto message = w.message<int>([](int value) {
      if (value == 7) throw std::runtime_error("no sevens");
    });
    w.epoch([&] {
      for (int i = 0; i < 20; ++i) message.send((w.rank() + 1) % w.size(), w.rank() == 0 ? i : 0);
    });
  });
  EXPECT_EQ(failure, "no sevens");
}

}  // namespace
}  // namespace amity
