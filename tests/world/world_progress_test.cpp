/// A rank that waits in one world makes progress in its other worlds: local messages, retained packets, credits and the
/// epochs of routed messages.

#include <cstdint>

#include "tests/support/jobs.hpp"
#include "tests/support/worlds.hpp"

namespace amity {
namespace {

TEST(waiting_in_one_world, handles_local_messages_of_another) {
  testing::run_worlds(testing::simulated("sim", {}), 2, [](world& w) {
    const auto other = w.duplicate();
    int handled = 0;
    auto local = other->message<int>([&](int) { ++handled; }, deliver_locally{});
    other->epoch([&] {
      local.send(w.rank(), 1);
      w.endpoint().wait_until("the message", [&] { return handled == 1; });
    });
  });
}

TEST(waiting_in_one_world, handles_kept_messages_of_another) {
  testing::run_worlds(testing::simulated("sim", {.credits = 8}), 2, [](world& w) {
    const auto other = w.duplicate();
    int handled = 0;
    auto low = other->message<int>([&](int) { ++handled; }, priority{-1});
    auto ordinary = other->message<int>([](int) {});
    other->epoch([&] {
      w.barrier();
      for (int i = 0; w.rank() == 0 && i < 3; ++i) low.send(1, i);
      w.endpoint().wait_until("the messages", [&] { return w.rank() == 0 || handled == 3; });
      w.barrier();
    });
  });
}

// More messages than a peer has credits.
TEST(waiting_in_one_world, returns_credits_of_another) {
  constexpr int messages = 20;
  testing::run_worlds(testing::simulated("sim", {.credits = 8}), 2, [](world& w) {
    const auto other = w.duplicate();
    int low = 0, ordinary = 0;
    auto of_low_priority = other->message<int>([&](int) { ++low; }, priority{-1});
    auto of_none = other->message<int>([&](int) { ++ordinary; });
    other->epoch([&] {
      for (int i = 0; w.rank() == 0 && i < messages; ++i) {
        of_low_priority.send(1, i);
        of_none.send(1, i);
      }
      for (int i = 0; i < 10; ++i) w.barrier();
    });
    EXPECT_EQ(low, w.rank() == 1 ? messages : 0);
    EXPECT_EQ(ordinary, w.rank() == 1 ? messages : 0);
  });
}

// Rank 0 sends messages to itself without end, until rank 1 has got what rank 0 collected in the other world.
TEST(waiting_in_one_world, sends_what_another_collected) {
  int hops = 0;
  testing::run_worlds(testing::simulated("sim", {}), 2, [&](world& w) {
    const auto other = w.duplicate();
    bool end = false;
    core::endpoint& own = w.endpoint();
    const auto stop = own.add_handler("stop", [&](core::request&) { end = true; });
    auto collected = other->message<int>(
        [&](int) {
          for (rank_t rank = 0; rank < 2; ++rank) own.request_short(rank, stop);
        },
        coalesce{});
    core::handler_id hop = 0;
    hop = own.add_handler("hop", [&](core::request&) {
      if (++hops == 50) collected.send(1, 1);
      if (!end) own.request_short(0, hop);
    });
    w.barrier();
    other->epoch([&] {
      for (int i = 0; w.rank() == 0 && i < 4; ++i) own.request_short(0, hop);
      own.wait_until("the end", [&] { return end; });
    });
  });
  EXPECT_LT(hops, 1000);  // about 300; 16,000 if only a rank that is idle, or has been busy for long, sends it
}

// Each hop on rank 0 collects a message of the other world. The hops never pause.
TEST(waiting_in_one_world, leaves_packets_of_another_to_fill) {
  constexpr int hops = 4000, at_once = 50;
  testing::run_worlds(testing::simulated("sim", {}), 2, [&](world& w) {
    const auto other = w.duplicate();
    core::endpoint& own = w.endpoint();
    int hopped = 0, taken = 0;
    auto collected = other->message<int>([&](int) { ++taken; }, coalesce{});
    core::handler_id hop = 0;
    hop = own.add_handler("hop", [&](core::request&) {
      collected.send(1, ++hopped);
      if (hopped + at_once <= hops) own.request_short(0, hop);
    });
    w.barrier();
    other->epoch([&] {
      if (w.rank() != 0) return;
      for (int i = 0; i < at_once; ++i) own.request_short(0, hop);
      own.wait_until("the end", [&] { return hopped >= hops; });
      EXPECT_LE(other->endpoint().counts().total().packets_sent, 20u);  // about 7, of which 4 are full
    });
    EXPECT_EQ(taken, w.rank() == 1 ? hops : 0);
  });
}

// Rank 1 forwards a routed message of a world whose body has ended there, and a handler of another world flushes it at
// once: the message still belongs to the epoch in which it was sent.
TEST(flush_by_another_world, keeps_epoch_of_routed_message) {
  constexpr std::uint64_t stop_ns = 100'000, send_ns = 150'000, resume_ns = 300'000;
  const fabric::sim::sim_options one_stops{.stopped_ranks = {{.rank = 1, .from_ns = stop_ns, .until_ns = resume_ns}}};
  testing::run_worlds(testing::simulated("one_stops", one_stops), 4, [](world& w) {
    const auto other = w.duplicate();
    std::uint64_t handled = 0, flushed = 0;
    auto routed = other->message<int>([&](int) { ++handled; }, route{hypercube{}}, coalesce{});
    auto flush = w.message<int>([&](int) {
      flushed = routed.counters().forwarded;
      routed.flush();
    });
    w.epoch([&] {
      other->epoch([&] {
        if (w.rank() != 0) return;
        // Both messages are at rank 1 when it resumes.
        testing::idle_until(w.endpoint().transport(), send_ns);
        routed.send(3, 1);
        routed.flush();
        flush.send(1, 1);
        testing::idle_until(w.endpoint().transport(), resume_ns);
      });
      EXPECT_EQ(w.rank() == 3, handled == 1);
    });
    const auto& counts = other->endpoint().counts().epochs();
    EXPECT_EQ(other->sum(counts.sent), other->sum(counts.handled));
    EXPECT_EQ(w.sum(flushed), 1u);
  });
}

}  // namespace
}  // namespace amity
