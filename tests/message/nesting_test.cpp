/// Handlers send again: to any rank, to any depth, and never one inside another.

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <string>

#include "tests/support/sanitizer.hpp"
#include "tests/support/worlds.hpp"

namespace amity {
namespace {

using testing::next_of;

class nested_sends : public testing::on_jobs {};
INSTANTIATE_TEST_SUITE_P(message, nested_sends, testing::every_job(), testing::job_name);

/// Watches where on the stack handlers run: the same place, however many have run before.
class stack_watch {
 public:
  /// To be held by a handler while it runs.
  class guard {
   public:
    explicit guard(stack_watch& watch) : watch_(watch) {
      const auto here = reinterpret_cast<std::uintptr_t>(this);
      watch_.lowest_ = std::min(watch_.lowest_, here);
      watch_.highest_ = std::max(watch_.highest_, here);
      EXPECT_FALSE(watch_.running_) << "a handler runs inside a handler";
      watch_.running_ = true;
    }
    ~guard() { watch_.running_ = false; }

   private:
    stack_watch& watch_;
  };

  void expect_flat() const {
    // Handlers run in sends, in waits and in polls: from a few places, but never from each other.
    constexpr std::uintptr_t places_apart_max = 16384;
    EXPECT_TRUE(highest_ == 0 || highest_ - lowest_ < places_apart_max) << highest_ - lowest_;
  }

 private:
  std::uintptr_t lowest_ = ~std::uintptr_t{0};
  std::uintptr_t highest_ = 0;
  bool running_ = false;
};

/// One message goes from rank to rank `hops` times.
template <class... Policies>
void run_chain(world& w, std::uint64_t hops, Policies... policies) {
  stack_watch watch;
  std::uint64_t handled = 0;
  auto baton = w.message<std::uint64_t>(
      [&](std::uint64_t left, auto& self) {
        const stack_watch::guard inside(watch);
        ++handled;
        if (left > 0) self.send(next_of(w), left - 1);
      },
      policies...);
  const auto total = w.epoch(
      [&] {
        if (w.rank() == 0) baton.send(0, hops);
      },
      [&] { return handled; });
  EXPECT_EQ(total, hops + 1);
  watch.expect_flat();
}

TEST(nested_send, chain_of_a_million_hops) {
  const std::uint64_t hops = 1'000'000 / testing::sanitizer_divisor;
  run_worlds(testing::simulated("sim", {}), 2, [&](world& w) { run_chain(w, hops); });
  run_worlds(testing::threads("threads"), 1, [&](world& w) { run_chain(w, hops); });
}

TEST_P(nested_sends, chain) {
  run([](world& w) {
    run_chain(w, 500);
    run_chain(w, 500, coalesce{});
  });
}

/// Each message but those of the last generation has three children, on the next ranks.
template <class... Policies>
void run_tree(world& w, std::uint32_t generations, Policies... policies) {
  stack_watch watch;
  std::uint64_t handled = 0;
  auto grow = w.message<std::uint32_t>(
      [&](std::uint32_t left, auto& self) {
        const stack_watch::guard inside(watch);
        ++handled;
        if (left == 0) return;
        for (int child = 1; child <= 3; ++child) self.send((w.rank() + child) % w.size(), left - 1);
      },
      policies...);
  const auto total = w.epoch(
      [&] {
        if (w.rank() == 0) grow.send(w.size() - 1, generations);
      },
      [&] { return handled; });
  std::uint64_t expected = 0, generation = 1;
  for (std::uint32_t i = 0; i <= generations; ++i, generation *= 3) expected += generation;
  EXPECT_EQ(total, expected);
  watch.expect_flat();
}

TEST_P(nested_sends, tree_with_fan_out_three) {
  run([](world& w) {
    run_tree(w, 6);
    run_tree(w, 8, coalesce{});
  });
}

TEST_P(nested_sends, message_types_that_send_each_other) {
  run([](world& w) {
    stack_watch watch;
    std::uint64_t pings = 0, pongs = 0;
    std::function<void(rank_t, std::uint32_t)> send_pong;
    auto ping = w.message<std::uint32_t>([&](std::uint32_t left) {
      const stack_watch::guard inside(watch);
      ++pings;
      send_pong(next_of(w), left);
    });
    auto pong = w.message<std::uint64_t>(
        [&](std::uint64_t left) {
          const stack_watch::guard inside(watch);
          ++pongs;
          if (left > 0) ping.send(next_of(w), static_cast<std::uint32_t>(left - 1));
        },
        coalesce{});
    send_pong = [&](rank_t dest, std::uint32_t left) { pong.send(dest, left); };
    w.epoch([&] {
      for (int i = 0; i < 10; ++i) ping.send(next_of(w), 20u);
    });
    const auto expected = static_cast<std::uint64_t>(w.size()) * 10 * 21;
    EXPECT_EQ(w.sum(pings), expected);
    EXPECT_EQ(w.sum(pongs), expected);
    watch.expect_flat();
  });
}

// The rank that sends most has the least time to handle: the others' messages get their turn between its own.
TEST_P(nested_sends, a_body_that_only_sends_handles_meanwhile) {
  run([](world& w) {
    bool stop = false;
    std::uint64_t sent = 0;
    auto work = w.message<std::uint32_t>([](std::uint32_t) {}, coalesce{});
    auto end = w.message<std::uint8_t>([&](std::uint8_t) { stop = true; });
    w.epoch([&] {
      if (w.rank() == 0) {
        for (rank_t dest = 0; dest < w.size(); ++dest) end.send(dest, std::uint8_t{1});
      }
      for (; !stop; ++sent) work.send(next_of(w), 1u);
    });
    EXPECT_EQ(w.counters().messages_sent, sent + (w.rank() == 0 ? static_cast<std::uint64_t>(w.size()) : 0));
  });
}

/// Sends what handlers overwrite: each value must leave as it was when `send` was called.
template <class T, class Make, class... Policies>
void send_what_handlers_overwrite(world& w, const Make& make, Policies... policies) {
  constexpr std::uint64_t sends = 3000 / testing::sanitizer_divisor + 100;
  const T overwritten = make(sends);
  T shared = overwritten;
  std::uint64_t wrong = 0;
  std::uint64_t handled = 0;
  auto message = w.message<T>(
      [&](const T& value) {
        ++handled;
        if (value == overwritten) ++wrong;
        shared = overwritten;
      },
      policies...);
  w.epoch([&] {
    for (std::uint64_t i = 0; i < sends; ++i) {
      shared = make(i);
      message.send(next_of(w), shared);
    }
  });
  EXPECT_EQ(handled, sends);
  EXPECT_EQ(wrong, 0u);
}

TEST_P(nested_sends, what_is_sent_may_belong_to_handlers) {
  run([](world& w) {
    const auto number = [](std::uint64_t i) { return i; };
    const auto text = [](std::uint64_t i) { return std::string(20 + i % 50, 'a') + std::to_string(i); };
    const auto block = [](std::uint64_t i) {
      std::array<std::uint64_t, 200> words;
      words.fill(i);
      return words;
    };
    send_what_handlers_overwrite<std::uint64_t>(w, number);
    send_what_handlers_overwrite<std::uint64_t>(w, number, coalesce{.count = 3});
    send_what_handlers_overwrite<std::string>(w, text);
    send_what_handlers_overwrite<std::string>(w, text, coalesce{.bytes = 200});
    send_what_handlers_overwrite<std::array<std::uint64_t, 200>>(w, block);
    send_what_handlers_overwrite<std::array<std::uint64_t, 200>>(w, block, coalesce{});
  });
}

}  // namespace
}  // namespace amity
