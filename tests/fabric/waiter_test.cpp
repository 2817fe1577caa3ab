/// The loop in which ranks wait, over a fabric that records what it is asked.

#include "amity/fabric/waiter.hpp"

#include <sched.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "amity/base/clock.hpp"
#include "amity/base/error.hpp"

namespace {

std::size_t yields = 0;

}  // namespace

/// In place of the C library's.
int sched_yield() noexcept {
  ++yields;
  return 0;
}

namespace amity::fabric {
namespace {

constexpr std::uint64_t forever = ~std::uint64_t{0};

class scripted final : public fabric {
 public:
  explicit scripted(const backoff& how) { caps_.backoff = how; }

  rank_t rank() const noexcept override { return 0; }
  rank_t size() const noexcept override { return 1; }
  const capabilities& caps() const noexcept override { return caps_; }
  rank_t node_of(rank_t) const noexcept override { return 0; }
  status try_send(rank_t, std::uint64_t, bytes_view, claim) noexcept override { return status::again; }
  status acquire(rank_t, slot&, claim) noexcept override { return status::again; }
  void commit(rank_t, std::uint64_t, const slot&, std::size_t) noexcept override {}
  void release(std::uint64_t) noexcept override {}
  std::size_t poll(sink&, std::size_t) override { return 0; }
  std::uint64_t now_ns() const noexcept override { return 0; }
  void abort() noexcept override {}

  void check() override {
    calls.emplace_back("check");
    if (on_check) on_check();
    if (ended) throw job_aborted("ended");
  }
  bool ready() override {
    calls.emplace_back("ready");
    return looks_until_event > 0 && --looks_until_event == 0;
  }
  void publish() override { calls.emplace_back("publish"); }
  alarm arm() override {
    calls.emplace_back("arm");
    if (ended) throw job_aborted("ended");
    return {};
  }
  void sleep(const alarm&, std::uint64_t timeout_ns) noexcept override {
    calls.emplace_back("sleep");
    slept_ns.push_back(timeout_ns);
    if (on_sleep) on_sleep();
  }
  void disarm() noexcept override { calls.emplace_back("disarm"); }

  std::vector<std::string> take_calls() { return std::exchange(calls, {}); }
  std::size_t count(const std::string& call) const { return static_cast<std::size_t>(std::ranges::count(calls, call)); }

  int looks_until_event = 0;  ///< 0: never
  bool ended = false;
  std::function<void()> on_sleep;
  std::function<void()> on_check;
  std::vector<std::string> calls;
  std::vector<std::uint64_t> slept_ns;

 private:
  capabilities caps_;
};

using calls = std::vector<std::string>;

TEST(waiter, spins_publishes_yields_sleeps) {
  scripted own({.looks = 2, .yields = 1});
  waiter(own).wait(5000);
  EXPECT_EQ(own.calls, (calls{"ready", "ready", "check", "publish", "ready", "arm", "ready", "sleep", "disarm", "check",
                              "ready"}));
  EXPECT_EQ(own.slept_ns, (std::vector<std::uint64_t>{5000}));
}

TEST(waiter, early_event_costs_only_looks) {
  scripted own({.looks = 5});
  own.looks_until_event = 3;
  waiter(own).wait(forever);
  EXPECT_EQ(own.calls, (calls{"ready", "ready", "ready"}));
}

TEST(waiter, event_after_arm_prevents_sleep) {
  scripted own({.looks = 1});
  own.looks_until_event = 2;
  waiter(own).wait(forever);
  EXPECT_EQ(own.calls, (calls{"ready", "check", "publish", "arm", "ready", "disarm"}));
}

TEST(waiter, wait_after_sleep_does_not_spin) {
  scripted own({.looks = 3, .yields = 3});
  waiter waits(own);
  waits.wait(1000);
  own.take_calls();
  waits.wait(1000);
  EXPECT_EQ(own.calls, (calls{"check", "publish", "arm", "ready", "sleep", "disarm", "check", "ready"}));
  waits.progressed();
  own.take_calls();
  waits.wait(1000);
  // Three looks, the yields, the looks before and after the sleep. Slow yields end the yields early.
  EXPECT_GE(own.count("ready"), 6u);
  EXPECT_LE(own.count("ready"), 8u);
}

// The caller need not have made progress: a credit has returned, and the next one is awaited soon.
TEST(waiter, wait_after_event_in_sleep_spins) {
  scripted own({.looks = 3});
  waiter waits(own);
  own.on_sleep = [&] { own.looks_until_event = 1; };
  waits.wait(1000);
  own.take_calls();
  own.on_sleep = {};
  waits.wait(1000);
  EXPECT_EQ(own.count("ready"), 5u);
}

TEST(waiter, sleeps_without_waker_double_up_to_timeout) {
  scripted own({.looks = 1, .sleep_ns_min = 10, .sleep_ns_max = 50});
  waiter waits(own);
  for (int i = 0; i < 5; ++i) waits.wait(forever);
  EXPECT_EQ(own.slept_ns, (std::vector<std::uint64_t>{10, 20, 40, 50, 50}));
  waits.progressed();
  waits.wait(forever);
  EXPECT_EQ(own.slept_ns.back(), 10u);
  waits.wait(17);
  EXPECT_EQ(own.slept_ns.back(), 17u);
}

/// Memory that a peer stores into, at some look of the waiter.
class scripted_stores final : public watched_memory {
 public:
  scripted_stores(scripted& own, int looks, bool is_outside = false)
      : own_(own), looks_(looks), is_outside_(is_outside) {}

  bool is_ready() const override {
    own_.calls.emplace_back("stores");
    return looks_ > 0 && --looks_ == 0;
  }
  bool is_outside() const noexcept override { return is_outside_; }
  void announce() noexcept override { own_.calls.emplace_back("announce"); }
  void cancel() noexcept override { own_.calls.emplace_back("cancel"); }
  std::uint64_t sleep_ns_max() const noexcept override { return forever; }

 private:
  scripted& own_;
  mutable int looks_;  ///< until they are ready; 0: never
  bool is_outside_;
};

TEST(waiter, stores_end_looks) {
  scripted own({.looks = 5});
  scripted_stores stores(own, 2);
  waiter(own).wait(forever, nullptr, &stores);
  EXPECT_EQ(own.calls, (calls{"stores", "ready", "stores"}));
}

TEST(waiter, sleep_is_announced_to_those_who_store) {
  scripted own({.looks = 1});
  scripted_stores stores(own, 0);
  waiter(own).wait(5000, nullptr, &stores);
  EXPECT_EQ(own.calls, (calls{"stores", "ready", "check", "publish", "arm", "announce", "stores", "ready", "sleep",
                              "cancel", "disarm", "check", "stores", "ready"}));
}

TEST(waiter, stores_after_announcement_prevent_sleep) {
  scripted own({.looks = 1});
  scripted_stores stores(own, 2);
  waiter(own).wait(forever, nullptr, &stores);
  EXPECT_EQ(own.calls, (calls{"stores", "ready", "check", "publish", "arm", "announce", "stores", "cancel", "disarm"}));
}

// It may use the fabric, so the fabric is not armed.
TEST(waiter, outside_question_is_asked_before_arm) {
  scripted own({.looks = 1});
  scripted_stores question(own, 0, true);
  waiter(own).wait(5000, nullptr, &question);
  EXPECT_EQ(own.calls, (calls{"stores", "ready", "check", "publish", "stores", "ready", "arm", "ready", "sleep",
                              "disarm", "check", "stores", "ready"}));
}

// Packets come soon after one another.
TEST(waiter, outside_question_is_asked_rarely_after_packets) {
  scripted own({.looks = 100});
  own.looks_until_event = 80;
  scripted_stores question(own, 0, true);
  waiter waits(own);
  waits.pass_busy_round(nullptr, question);
  waits.wait(forever, nullptr, &question);
  EXPECT_EQ(own.count("ready"), 80u);
  EXPECT_EQ(own.count("stores"), 64u / 8 + 16);
}

TEST(waiter, outside_question_is_asked_before_sleep_after_packets) {
  scripted own({.looks = 1});
  scripted_stores question(own, 1, true);
  waiter waits(own);
  waits.pass_busy_round(nullptr, question);
  waits.wait(forever, nullptr, &question);
  EXPECT_EQ(own.count("sleep"), 0u);
}

TEST(waiter, virtual_time_only_sleeps) {
  scripted own({});
  waiter(own).wait(forever);
  EXPECT_EQ(own.calls, (calls{"arm", "ready", "sleep", "disarm", "check"}));
  EXPECT_EQ(own.slept_ns, (std::vector<std::uint64_t>{forever}));
}

TEST(waiter, end_of_job_during_sleep_disarms) {
  scripted own({.looks = 1});
  own.on_sleep = [&] { own.ended = true; };
  EXPECT_THROW(waiter(own).wait(forever), job_aborted);
  EXPECT_EQ(own.count("arm"), own.count("disarm"));
}

TEST(waiter, refused_arm_is_not_disarmed) {
  scripted own({});
  own.ended = true;
  EXPECT_THROW(waiter(own).wait(forever), job_aborted);
  EXPECT_EQ(own.count("disarm"), 0u);
}

TEST(waiter, early_events_do_not_hide_end) {
  scripted own({.looks = 1});
  waiter waits(own);
  own.ended = true;
  int early = 0;
  EXPECT_THROW(
      for (; early < 1000; ++early) {
        own.looks_until_event = 1;
        waits.wait(forever);
      },
      job_aborted);
  EXPECT_LT(early, 100);
}

TEST(waiter, long_spin_checks) {
  scripted own({.looks = 1, .spin_ns = 60'000'000'000});
  own.on_check = [&] { own.looks_until_event = 1; };
  waiter(own).wait(forever);
  EXPECT_EQ(own.count("check"), 1u);
  EXPECT_EQ(own.calls.back(), "ready");
  EXPECT_EQ(own.count("publish"), 0u);  // it is the spin that has ended
}

// The job is asked each millisecond, not at each look.
TEST(waiter, checks_are_rare) {
  scripted own({.looks = 1, .spin_ns = 5'000'000, .yields = 5000});
  const std::uint64_t begin_ns = steady_now_ns();
  std::uint64_t waits = 0;
  // On a busy machine, a wait may end its spin after few looks, and its yields after a slow one.
  while (own.count("ready") <= 5000) {
    for (const std::uint64_t timeout_ns : {std::uint64_t{1}, forever}) waiter(own).wait(timeout_ns);
    waits += 2;
  }
  const std::uint64_t waited_ms = (steady_now_ns() - begin_ns) / 1'000'000;
  EXPECT_LE(own.count("check"), waited_ms + 3 * waits);  // of each wait: one before it yields, and one after its sleep
}

TEST(waiter, long_yields_check) {
  scripted own({.looks = 1, .yields = ~std::uint32_t{0}});
  bool ended_in_yields = false;
  own.on_check = [&] {
    if (own.count("publish") == 0 || own.count("arm") > 0) return;
    ended_in_yields = true;
    own.ended = true;
  };
  waiter waits(own);
  // Slow yields end the yields early.
  while (!ended_in_yields) {
    waits.progressed();
    own.take_calls();
    try {
      waits.wait(forever);
    } catch (const job_aborted&) {
    }
  }
  EXPECT_EQ(own.count("check"), 2u);
}

TEST(waiter, polls_publish_once_and_yield_after_as_many_as_looks) {
  scripted own({.looks = 3});
  waiter waits(own);
  const std::size_t before = yields;
  for (int i = 0; i < 2; ++i) waits.rest_between_polls();
  EXPECT_EQ(own.calls, calls{});
  EXPECT_EQ(yields, before);
  for (int i = 0; i < 10; ++i) waits.rest_between_polls();
  EXPECT_EQ(own.calls, calls{"publish"});
  EXPECT_EQ(yields, before + 10);
  EXPECT_EQ(waits.polls(), 12u);
  waits.progressed();
  EXPECT_EQ(waits.polls(), 0u);
}

// Threads that use the fabric in turn

/// Reports that another thread came in, after a number of rests.
class scripted_lock final : public turn_lock {
 public:
  explicit scripted_lock(scripted& own) : own_(own) {}
  bool let_in() override { return note("let in"); }
  bool without(function_ref<void()> rest) override {
    rest();
    return note("outside");
  }
  bool ask(function_ref<void()> question) override {
    question();
    return note("asked");
  }
  bool sleep(fabric& on, const alarm& by, std::uint64_t timeout_ns) noexcept override {
    on.sleep(by, timeout_ns);
    return note("outside");
  }

  int rests_until_entry = 0;  ///< 0: no other thread comes in

 private:
  bool note(const char* what) {
    own_.calls.emplace_back(what);
    return rests_until_entry > 0 && --rests_until_entry == 0;
  }
  scripted& own_;
};

TEST(waiter, lock_is_given_up_in_each_rest) {
  scripted own({.looks = 2, .yields = 1});
  scripted_lock others(own);
  waiter(own).wait(5000, &others);
  EXPECT_EQ(own.calls, (calls{"ready", "let in", "ready", "let in", "check", "publish", "ready", "outside", "arm",
                              "ready", "sleep", "outside", "disarm", "check", "ready"}));
}

TEST(waiter, lock_is_given_up_in_spin) {
  scripted own({.looks = 1, .spin_ns = 60'000'000'000});
  scripted_lock others(own);
  others.rests_until_entry = 3;
  waiter(own).wait(forever, &others);
  EXPECT_EQ(own.calls, (calls{"ready", "let in", "ready", "let in", "ready", "let in"}));
}

TEST(waiter, entry_of_another_ends_wait) {
  scripted own({.looks = 2, .yields = 1});
  scripted_lock others(own);
  others.rests_until_entry = 2;
  waiter(own).wait(forever, &others);
  EXPECT_EQ(own.take_calls(), (calls{"ready", "let in", "ready", "let in"}));
  others.rests_until_entry = 3;
  waiter(own).wait(forever, &others);
  EXPECT_EQ(own.take_calls(), (calls{"ready", "let in", "ready", "let in", "check", "publish", "ready", "outside"}));
}

// The thread that came in during the sleep has called it.
TEST(waiter, ended_sleep_is_not_disarmed) {
  scripted own({});
  scripted_lock others(own);
  others.rests_until_entry = 1;
  waiter(own).wait(forever, &others);
  EXPECT_EQ(own.calls, (calls{"arm", "ready", "sleep", "outside", "check"}));
}

TEST(waiter, question_gives_up_lock_and_entry_ends_wait) {
  scripted own({.looks = 1});
  scripted_stores question(own, 0, true);
  scripted_lock others(own);
  others.rests_until_entry = 3;
  waiter(own).wait(forever, &others, &question);
  EXPECT_EQ(own.calls, (calls{"stores", "asked", "ready", "let in", "check", "publish", "stores", "asked"}));
}

TEST(waiter, polls_give_up_lock) {
  scripted own({.looks = 1});
  scripted_lock others(own);
  waiter(own).rest_between_polls(&others);
  EXPECT_EQ(own.calls, (calls{"publish", "outside"}));
}

}  // namespace
}  // namespace amity::fabric
