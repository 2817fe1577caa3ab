/// Messages of a rank to itself that do not travel: when they are handled, and that nothing else changes.

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "amity/base/random.hpp"
#include "spreading.hpp"
#include "tests/support/programs.hpp"
#include "tests/support/texts.hpp"
#include "tests/support/worlds.hpp"

namespace amity {
namespace {

using testing::configured;
using testing::failure_in_worlds;
using testing::key_of;
using testing::offer;
using testing::run_worlds;
using testing::simulated;
using testing::smaller;

class local : public testing::on_jobs {};
INSTANTIATE_TEST_SUITE_P(message, local, testing::every_job(), testing::job_name);

/// Trees of messages: each node sends one child to its own rank and one to another. Their number is known.
void grow_trees(world& w, auto... policies) {
  constexpr std::uint32_t depth = 7;
  bool inside = false;
  std::uint64_t handled = 0;
  auto node = w.message<std::uint32_t>(
      [&](std::uint32_t left, auto& self) {
        EXPECT_FALSE(inside) << "a handler ran inside a handler";
        inside = true;
        ++handled;
        if (left > 0) {
          self.send(w.rank(), left - 1);
          self.send(
              static_cast<rank_t>((static_cast<std::uint32_t>(w.rank()) + left) % static_cast<std::uint32_t>(w.size())),
              left - 1);
        }
        inside = false;
      },
      policies...);
  constexpr std::uint64_t nodes = (1u << (depth + 1)) - 1;
  for (std::uint64_t epoch = 1; epoch <= 3; ++epoch) {
    const std::uint64_t all = w.epoch([&] { node.send(w.rank(), depth); }, [&] { return handled; });
    EXPECT_EQ(all, epoch * nodes * static_cast<std::uint64_t>(w.size())) << "at the end of epoch " << epoch;
  }
  EXPECT_EQ(node.counters().handled, handled);
  EXPECT_EQ(w.sum(node.counters().sent), w.sum(handled));
}

TEST_P(local, no_epoch_ends_before_all_are_handled) {
  for (const char* const detector : {"colored", "four_counter"}) {
    run(
        [](world& w) {
          grow_trees(w, deliver_locally{});
          grow_trees(w, deliver_locally{.count = 3}, coalesce{.count = 4});
        },
        configured({{"AMITY_EPOCH_DETECTOR", detector}}));
  }
}

TEST_P(local, chains_of_any_length_neither_nest_nor_travel) {
  run([](world& w) {
    constexpr std::uint32_t length = 20'000;
    std::uint64_t handled = 0;
    auto step = w.message<std::uint32_t>(
        [&](std::uint32_t left, auto& self) {
          ++handled;
          if (left > 0) self.send(w.rank(), left - 1);
        },
        deliver_locally{});
    const std::uint64_t before = w.counters().packets_sent;
    w.epoch([&] { step.send(w.rank(), length); });
    EXPECT_EQ(w.counters().packets_sent, before);
    EXPECT_EQ(handled, length + 1);
  });
}

// With each other policy before and behind it; all orders of all others are in policies_test.cpp.
TEST_P(local, with_any_other_policy_gives_the_same_result) {
  run([](world& w) {
    const address to_owner{
        [owners = cyclic_map(testing::spreading::keys, w.size())](const offer& o) { return owners.owner(o.key); }};
    const unique once{direct_mapped{16}};
    const combine best_of{key_of, smaller, direct_mapped{16}};
    const deliver_locally here{.count = 4};
    const coalesce few{.count = 3};
    const auto run_with = [&](const auto&... chosen) { testing::run_spreading(w, 4, chosen...); };
    run_with(here);
    run_with(to_owner, here);
    run_with(once, here);
    run_with(best_of, here);
    run_with(here, few);
    run_with(to_owner, once, best_of, here, few);
  });
}

// The moments at which handlers run can be foreseen on the simulation.
TEST(deliver_locally, a_send_beyond_the_bound_runs_the_handler_of_those_before) {
  run_worlds(simulated("sim", {}), 2, [](world& w) {
    std::vector<std::size_t> batches;
    auto note = w.message<int>([&](std::span<const int> values) { batches.push_back(values.size()); },
                               deliver_locally{.count = 4}, coalesce{});
    w.epoch([&] {
      for (int i = 0; i < 4; ++i) note.send(w.rank(), i);
      EXPECT_TRUE(batches.empty());
      note.send(w.rank(), 4);
      EXPECT_EQ(batches, (std::vector<std::size_t>{4}));
      note.flush(1 - w.rank());
      EXPECT_EQ(batches.size(), 1u) << "that is another rank";
      note.flush(w.rank());
      EXPECT_EQ(batches, (std::vector<std::size_t>{4, 1}));
      note.send(w.rank(), 5);
      w.endpoint().progress();
      EXPECT_EQ(batches.size(), 3u);
      note.send(w.rank(), 6);
      note.flush();
      EXPECT_EQ(batches.size(), 4u);
    });
    EXPECT_EQ(w.counters().packets_sent, 0u);
    EXPECT_EQ(note.counters().sent, 7u);
  });
}

// Simulated ranks have small stacks.
TEST(deliver_locally, takes_messages_that_no_stack_holds) {
  struct large {
    std::array<std::uint64_t, 40'000> words;
  };
  run_worlds(simulated("sim", {}), 2, [](world& w) {
    const auto sent = std::make_unique<large>();
    sent->words.back() = 7;
    std::uint64_t sum = 0;
    auto add = w.message<large>([&](const large& value) { sum += value.words.back(); }, deliver_locally{.count = 2});
    w.epoch([&] {
      for (int i = 0; i < 5; ++i) add.send(w.rank(), *sent);
    });
    EXPECT_EQ(sum, 35u);
  });
}

TEST(deliver_locally, what_handlers_send_beyond_the_bound_takes_the_usual_road) {
  run_worlds(simulated("sim", {}), 1, [](world& w) {
    int handled = 0;
    auto leaf = w.message<int>([&](int) { ++handled; }, deliver_locally{.count = 3});
    auto root = w.message<int>([&](int) {
      for (int i = 0; i < 10; ++i) leaf.send(0, i);
      leaf.flush();
      EXPECT_EQ(handled, 0) << "never inside a handler";
    });
    w.epoch([&] { root.send(0, 1); });
    EXPECT_EQ(handled, 10);
    EXPECT_EQ(w.counters().packets_sent, 1u + 7u);
  });
}

TEST(deliver_locally, what_is_sent_may_be_what_the_handler_changes) {
  run_worlds(simulated("sim", {}), 1, [](world& w) {
    std::vector<std::string> texts;
    auto add =
        w.message<std::string>([&](const std::string& text) { texts.push_back(text); }, deliver_locally{.count = 1});
    w.epoch([&] {
      add.send(0, "first");
      add.send(0, "second");
      for (int i = 0; i < 100; ++i) add.send(0, texts.front());
    });
    EXPECT_EQ(texts.size(), 102u);
    EXPECT_EQ(texts.back(), "first");
  });
}

TEST(deliver_locally, takes_any_type_of_message) {
  run_worlds(simulated("sim", {}), 2, [](world& w) {
    int trues = 0;
    std::size_t characters = 0;
    auto flag = w.message<bool>(
        [&](std::span<const bool> flags) {
          for (const bool each : flags) trues += each;
        },
        deliver_locally{});
    auto text = w.message<std::vector<std::string>>(
        [&](const std::vector<std::string>& all) { characters += all.back().size(); }, deliver_locally{}, coalesce{});
    w.epoch([&] {
      for (rank_t dest = 0; dest < 2; ++dest) {
        for (const bool each : {true, false, true}) flag.send(dest, each);
        text.send(dest, {"a", "four"});
      }
    });
    EXPECT_EQ(trues, 4);
    EXPECT_EQ(characters, 8u);
  });
}

// On which thread a handler runs does not depend on the policy, and a message to no rank is still an error.
TEST(deliver_locally, messages_of_other_threads_are_handled_where_they_belong) {
  for (const char* const fabric : {"sim", "threads"}) {
    testing::run_job(testing::shape(fabric, 2, 2), [](world& w) {
      constexpr std::uint32_t messages = 100;
      std::atomic<std::uint32_t> handled = 0;
      const auto at_home = [&](std::uint32_t, auto& self) {
        EXPECT_EQ(self.thread_index(), 0);
        ++handled;
      };
      const auto at_key = [&](std::uint32_t key, auto& self) {
        EXPECT_EQ(self.thread_index(), static_cast<rank_t>(key % 2));
        ++handled;
      };
      const auto anywhere = [&](std::uint32_t, auto&) { ++handled; };
      auto home = w.message<std::uint32_t>(at_home, deliver_locally{.count = 8});
      auto keyed = w.message<std::uint32_t>(at_key, deliver_locally{.count = 8}, parallel{std::identity{}}, coalesce{});
      auto any = w.message<std::uint32_t>(anywhere, deliver_locally{.count = 8}, parallel{});
      w.epoch([&](amity::thread& t) {
        for (std::uint32_t i = 0; i < messages; ++i) {
          for (rank_t dest = 0; dest < 2; ++dest) {
            home.on(t).send(dest, i);
            keyed.on(t).send(dest, i);
            any.on(t).send(dest, i);
          }
        }
        if (t.thread_index() == 1) {
          EXPECT_THROW(home.on(t).send(no_rank, 1), error);
        }
      });
      EXPECT_EQ(handled, 3 * 2 * 2 * messages);
    });
  }
}

TEST(deliver_locally, mistakes_are_reported_as_without_it) {
  const auto expect_failure = [](auto handler, std::initializer_list<std::string_view> parts) {
    testing::expect_parts(failure_in_worlds(2,
                                            [&](world& w) {
                                              auto add = w.message<int>([&](int) { handler(w); }, deliver_locally{});
                                              w.epoch([&] { add.send(w.rank(), 1); });
                                            }),
                          parts);
  };
  expect_failure([](world&) { throw std::runtime_error("no more"); }, {"no more"});
  expect_failure([](world& w) { w.poll(); }, {"world::poll", "handler"});
  testing::expect_parts(
      failure_in_worlds(2,
                        [](world& w) { w.message<int>([](int) {}, deliver_locally{.count = std::size_t{1} << 31}); }),
      {"world::message", "deliver_locally of 2147483648 messages", "1 to 2^30"});
}

}  // namespace
}  // namespace amity
