/// Epochs with a declared depth, on every fabric: requests and their scopes, results, and what a user may get wrong.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/sanitizer.hpp"
#include "tests/support/texts.hpp"
#include "tests/support/trees.hpp"
#include "tests/support/worlds.hpp"

namespace amity {
namespace {

using testing::expect_parts;
using testing::failure_in_worlds;
using testing::failure_of;
using testing::node;

class declared_depth : public testing::on_jobs {};
INSTANTIATE_TEST_SUITE_P(epoch, declared_depth, testing::every_job(), testing::job_name);

// Packets of several generations, alone, collected and combined; epochs of any depth between those with a declared one.
TEST_P(declared_depth, changes_no_result) {
  run([](world& w) {
    std::uint64_t key_sum = 0;
    std::uint64_t handled = 0;
    testing::trees work{.ranks = w.size(), .seed = 3, .roots = 3, .depth = 0, .fanout = {0, 1, 1, 2, 2, 2, 3, 3}};
    const auto visit = [&](const node& n, auto& self) {
      ++handled;
      key_sum += n.key;
      work.for_each_child(n, [&](const node& child) { self.send(work.home(child), child); });
    };
    const auto nothing_equal =
        combine{[](const node& n) { return n.key; }, [](const node& a, const node&) { return a; }};
    auto alone = w.message<node>(visit);
    auto coalesced = w.message<node>(visit, coalesce{.count = 3});
    auto combined = w.message<node>(visit, nothing_equal, coalesce{.count = 3});
    const auto send_roots = [&](auto& message) {
      work.for_each_root(w.rank(), [&](const node& n) { message.send(work.home(n), n); });
    };
    for (const int depth : {0, 1, 2, 3, 6, any_depth}) {
      work.depth = depth == any_depth ? 5 : static_cast<std::uint64_t>(depth);
      const auto expected = work.walk();
      const auto declared = w.request_depth(depth);
      for (int kind = 0; kind < 3; ++kind) {
        key_sum = handled = 0;
        const std::uint64_t sum = w.epoch(
            [&] {
              if (kind == 0) send_roots(alone);
              if (kind == 1) send_roots(coalesced);
              if (kind == 2) send_roots(combined);
            },
            [&] { return key_sum; });
        EXPECT_EQ(sum, expected.key_sum());
        EXPECT_EQ(handled, expected.handled[static_cast<std::size_t>(w.rank())]);
      }
    }
  });
}

TEST_P(declared_depth, is_the_largest_of_all_ranks_and_requests) {
  run([](world& w) {
    EXPECT_EQ(w.epochs().depth(), any_depth);
    {
      const auto outer = w.request_depth(static_cast<int>(w.rank()));
      EXPECT_EQ(w.epochs().depth(), w.size() - 1);
      {
        const auto larger = w.request_depth(20);
        const auto smaller = w.request_depth(10);
        EXPECT_EQ(w.epochs().depth(), 20);
        const auto none = w.request_depth(any_depth);
        EXPECT_EQ(w.epochs().depth(), any_depth);
      }
      EXPECT_EQ(w.epochs().depth(), w.size() - 1);
      const auto too_many_rounds = w.request_depth(1000);
      EXPECT_EQ(w.epochs().depth(), any_depth);
    }
    EXPECT_EQ(w.epochs().depth(), any_depth);
  });
}

// Tags, colors and generations share bytes.
TEST_P(declared_depth, comes_and_goes_for_hundreds_of_epochs) {
  run([](world& w) {
    std::uint64_t handled = 0;
    auto message = w.message<int>([&](int lives, auto& self) {
      ++handled;
      if (lives > 0) self.send((w.rank() + 1) % w.size(), lives - 1);
    });
    std::uint64_t expected = 0;
    for (int round = 0; round < 300; ++round) {
      const int depth = round % 3;
      const auto declared = w.request_depth(round % 2 == 0 ? depth : any_depth);
      expected += static_cast<std::uint64_t>(depth + 1) * static_cast<std::uint64_t>(w.size());
      ASSERT_EQ(w.epoch([&] { message.send((w.rank() + 1) % w.size(), depth); }, [&] { return handled; }), expected);
    }
  });
}

/// Waves of an epoch in which a message is passed on to the depth that is declared, on ranks that begin together.
std::uint32_t waves_of(int depth) {
  std::uint32_t waves = 0;
  testing::run_worlds(testing::simulated("sim", {}), 4, [&](world& w) {
    int handled = 0;
    auto message = w.message<int>([&](int lives, auto& self) {
      ++handled;
      if (lives > 0) self.send(w.rank(), lives - 1);
    });
    const auto declared = w.request_depth(depth);
    w.epoch([] {});
    const std::uint32_t before = w.epochs().how().waves();
    w.epoch([&] {
      message.send(w.rank(), depth);
      while (handled <= depth) w.poll();
    });
    waves = w.epochs().how().waves() - before;
  });
  return waves;
}

// All is handled before the first wave, which must say so however many generations there were.
TEST(declared_depth_waves, are_not_more_than_needed) {
  for (const int depth : {0, 1, 8}) EXPECT_EQ(waves_of(depth), 1u) << depth;
}

/// An item of which a packet of 512 bytes holds a part.
struct large_node {
  node n;
  std::byte filling[1200];
};

/// An epoch of the depth of its trees, in which each message is one lent item. Credits are few, so that a rank handles
/// messages of other generations between two fragments of one item.
void lend_trees(std::uint64_t seed) {
  const testing::trees work{.ranks = static_cast<rank_t>(3 + seed % 6),
                            .seed = seed,
                            .roots = 2,
                            .depth = 6,
                            .fanout = {0, 1, 1, 1, 1, 2, 2, 2}};
  const fabric::sim::sim_options network{.seed = seed,
                                         .delay_ns_max = 20'000,
                                         .reorder_percent = 20,
                                         .credits = static_cast<std::uint32_t>(1 + seed % 2),
                                         .packet_bytes = 528};
  testing::run_worlds(testing::simulated("few_credits", network), work.ranks, [&](world& w) {
    std::uint64_t key_sum = 0;
    const auto lend = [&](auto& message, const node& n) {
      auto item = std::make_unique<std::vector<large_node>>(1, large_node{.n = n, .filling = {}});
      const std::span<const large_node> whole(*item);
      message.send_buffer(work.home(n), whole, std::move(item));
    };
    auto visit = w.message<large_node>([&](const large_node& visited, auto& self) {
      key_sum += visited.n.key;
      work.for_each_child(visited.n, [&](const node& child) { lend(self, child); });
    });
    const auto declared = w.request_depth(static_cast<int>(work.depth));
    const auto send_roots = [&] { work.for_each_root(w.rank(), [&](const node& n) { lend(visit, n); }); };
    EXPECT_EQ(w.epoch(send_roots, [&] { return key_sum; }), work.walk().key_sum());
  });
}

// All fragments of an item belong to the generation in which the item was counted as sent.
TEST(declared_depth_lending, items_in_fragments_are_counted_once) {
  for (std::uint64_t seed = 1; seed <= 40 / testing::sanitizer_divisor + 8; ++seed) {
    ASSERT_EQ(failure_of([&] { lend_trees(seed); }), "") << "seed " << seed;
  }
}

// The packet belongs to the epoch of the body that has filled it, although the handler must not send.
TEST(declared_depth_flushing, handler_closes_packet_of_body) {
  testing::run_worlds(testing::simulated("sim", {}), 2, [](world& w) {
    std::uint64_t handled = 0;
    auto collected = w.message<int>([&](int) { ++handled; }, coalesce{});
    auto flush = w.message<int>([&](int) { collected.flush(); });
    const auto declared = w.request_depth(0);
    for (std::uint64_t round = 1; round <= 5; ++round) {
      w.epoch([&] {
        flush.send(1 - w.rank(), 1);
        collected.send(1 - w.rank(), 1);
        testing::idle_until(w.endpoint().transport(), w.now_ns() + 100'000);
        w.poll();
      });
      EXPECT_EQ(handled, round);
      const auto& counts = w.endpoint().counts().epochs();
      EXPECT_EQ(w.sum(counts.sent), 4 * round);
      EXPECT_EQ(w.sum(counts.handled), 4 * round);
    }
  });
}

TEST(declared_depth_misuse, a_handler_that_sends_although_none_should) {
  testing::run_worlds(testing::simulated("sim", {}), 2, [](world& w) {
    const std::string problem =
        "a handler sent a message, which makes messages deeper than the depth 0 that was declared; request a greater "
        "depth with world::request_depth, or amity::any_depth";
    int ran = 0;
    const auto first_handler = w.endpoint().add_handler("none", [](core::request&) {});
    auto alone = w.message<int>([](int) {});
    auto collected = w.message<int>([](int) {}, coalesce{});
    auto text = w.message<std::string>([](const std::string&) {}, coalesce{});
    auto unrepeated = w.message<int>([](int) {}, unique{});
    auto combined = w.message<int>([](int) {}, combine{[](int i) { return i; }, [](int a, int) { return a; }});
    auto message = w.message<int>([&](int) {
      ++ran;
      for (const auto& failed : {failure_of([&] { alone.send(0, 1); }), failure_of([&] { collected.send(0, 1); }),
                                 failure_of([&] { text.send(0, "x"); }), failure_of([&] { unrepeated.send(0, 1); }),
                                 failure_of([&] { combined.send(0, 1); }), failure_of([&] { w.async(0, [] {}); }),
                                 failure_of([&] { w.endpoint().request_short(0, first_handler); })}) {
        EXPECT_NE(failed.find(problem), std::string::npos) << failed;
      }
    });
    {
      const auto declared = w.request_depth(0);
      w.epoch([&] { message.send(1 - w.rank(), 1); });
    }
    EXPECT_EQ(ran, 1);
    EXPECT_EQ(w.counters().messages_sent, 1u);
    w.barrier();
    w.endpoint().remove_handler(first_handler);
  });
}

TEST(declared_depth_misuse, a_chain_that_is_longer) {
  for (const int depth : {1, 2, 5}) {
    const auto failure = failure_in_worlds(3, [&](world& w) {
      auto message = w.message<int>(
          [&](int lives, auto& self) {
            if (lives > 0) self.send((w.rank() + 1) % w.size(), lives - 1);
          },
          coalesce{});
      const auto declared = w.request_depth(depth);
      w.epoch([&] {
        if (w.rank() == 0) message.send(1, depth + 1);
      });
      ADD_FAILURE() << "the epoch has ended, with messages of depth " << depth + 1;
    });
    expect_parts(failure, {"message::send (rank ", "deeper than the depth " + std::to_string(depth) + " that was"});
  }
}

TEST(declared_depth_misuse, no_depth) {
  testing::run_worlds(testing::simulated("sim", {}), 1, [](world& w) {
    expect_parts(failure_of([&] { auto wrong = w.request_depth(-1); }),
                 {"epoch depth (rank 0): -1 is not a depth", "use 0 if handlers do not send"});
    EXPECT_EQ(w.epochs().depth(), any_depth);
  });
}

TEST(declared_depth_misuse, requests_inside_an_epoch) {
  const auto failure = failure_in_worlds(2, [](world& w) {
    auto declared = std::unique_ptr<epoch::depth_request>(new auto(w.request_depth(1)));
    w.epoch([&] {
      expect_parts(failure_of([&] { auto late = w.request_depth(2); }),
                   {"epoch depth (rank ", "epoch 1 has begun already", "before the epoch begins"});
    });
    w.epoch([&] { declared.reset(); });
  });
  EXPECT_EQ(
      failure,
      "amity: epoch depth (rank 0): the request of depth 1 has ended in epoch 2; let requests end outside epochs");
}

TEST(declared_depth_misuse, ranks_that_disagree) {
  for (rank_t odd = 0; odd < 4; ++odd) {
    const auto failure = failure_in_worlds(4, [&](world& w) {
      auto declared = std::unique_ptr<epoch::depth_request>(new auto(w.request_depth(3)));
      w.epoch([] {});
      if (w.rank() == odd) declared.reset();
      w.epoch([] {});
      ADD_FAILURE() << "the epoch has ended on rank " << w.rank();
    });
    expect_parts(failure, {"end of an epoch (rank ", " has declared a depth of ", "for this epoch, this rank "});
  }
}

}  // namespace
}  // namespace amity
