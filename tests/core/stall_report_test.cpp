/// A rank that waits in vain says so, and what it knows: where it waits, for whom, and what is under way.

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "amity/core/busy_wait.hpp"
#include "amity/core/engine.hpp"
#include "amity/core/record_stream.hpp"
#include "amity/core/tree.hpp"
#include "amity/fabric/decorator.hpp"
#include "amity/fabric/shm/shm.hpp"
#include "amity/fabric/waiter.hpp"
#include "tests/support/jobs.hpp"
#include "tests/support/texts.hpp"
#include "tests/support/worlds.hpp"

namespace amity::core {
namespace {

using testing::configured;
using testing::simulate;

/// Time that passes when the test says so, and in each sleep.
class hand_clock final : public fabric::decorator {
 public:
  explicit hand_clock(::amity::fabric::fabric& inner) : decorator(inner) {}
  void sleep(const ::amity::fabric::alarm& by, std::uint64_t timeout_ns) noexcept override {
    decorator::sleep(by, std::min(timeout_ns, sleep_ns_max));
    now = now + step_ns;
    if (sleeps != nullptr) ++*sleeps;
  }
  std::uint64_t now_ns() const noexcept override { return now; }

  std::uint64_t now = 0;
  std::uint64_t step_ns = 1'000'000;
  std::uint64_t sleep_ns_max = ~std::uint64_t{0};
  std::atomic<int>* sleeps = nullptr;  ///< counts them
};

/// What rank 0 prints while it waits in a collective for rank 1, which comes only after rank 0 has slept 20 times.
std::string printed_while_waiting(const std::string& stall_seconds, reduction where = reduction::none) {
  ::testing::internal::CaptureStderr();
  std::atomic<int> sleeps = 0;
  fabric::shm::run_threads({}, 2, [&](fabric::fabric& transport) {
    const bool waits = transport.rank() == 0;
    hand_clock clock(transport);
    clock.step_ns = 500'000'000;  // so that nobody has to wait for it
    clock.sleep_ns_max = 1000;
    if (waits) clock.sleeps = &sleeps;
    endpoint own(clock, configured({{"AMITY_CORE_STALL_SECONDS", waits ? stall_seconds : "0"}}));
    own.add_handler("unused", [](request&) {});
    int taken = 0;
    const handler_id visit = own.add_handler("visit", [&](request&) { ++taken; });
    own.barrier();
    for (int i = 0; i < 3; ++i) own.request_short(own.rank(), visit);
    own.wait_until("own messages", [&] { return taken == 3; });
    if (!waits) {
      for (const int before = sleeps; sleeps < before + 20;) ::sched_yield();
    }
    own.reduce(where, 0);
    return 0;
  });
  return ::testing::internal::GetCapturedStderr();
}

TEST(stall_report, tells_the_end_of_a_program_from_a_barrier) {
  testing::expect_parts(printed_while_waiting("1", reduction::ending),
                        {"amity: rank 0: no progress for 1 s in the ends of the other ranks' programs"});
}

TEST(stall_report, says_where_the_rank_waits_and_what_was_sent_once_per_second) {
  const std::string text = printed_while_waiting("1");
  testing::expect_parts(
      text, {"amity: rank 0: no progress for 1 s in a barrier or reduction", "no progress for 2 s", "epoch 0",
             "messages of epochs: 0 sent, 0 handled", "waiting to be sent: none",
             "held back for the next epoch: 0 packets", "incomplete large messages: 0",
             "likely cause: other ranks have not reached it: compare the places in their reports",
             "polls: ", "#0 unused: sent/handled by peer: 0:0/0 1:0/0", "#1 visit: sent/handled by peer: 0:3/3 1:0/0"});
  // A wait reports 1 s, 2 s, and so on, with the whole time; the next wait begins again at 1 s.
  const std::string begin = "no progress for ";
  std::vector<int> seconds;
  for (std::size_t at = text.find(begin); at != std::string::npos; at = text.find(begin, at + 1)) {
    seconds.push_back(std::stoi(text.substr(at + begin.size())));
  }
  ASSERT_GE(seconds.size(), 5u) << text;
  for (std::size_t i = 0; i < seconds.size(); ++i) {
    EXPECT_TRUE(seconds[i] == 1 || (i > 0 && seconds[i] == seconds[i - 1] + 1)) << text;
  }
  // The cause comes first, and lines are those of a terminal.
  std::istringstream report(text);
  std::string line;
  std::getline(report, line);
  EXPECT_TRUE(line.starts_with("amity: rank 0: no progress for 1 s in a barrier")) << line;
  std::getline(report, line);
  EXPECT_TRUE(line.starts_with("  likely cause: ")) << line;
  do {
    EXPECT_LE(line.size(), 140u) << line;
  } while (std::getline(report, line));
}

// A rank whose handler does not return says nothing itself: the ranks that wait for it name it, also if they have sent
// messages to more ranks than they ask.
TEST(stall_report, silent_peer_is_named) {
  constexpr rank_t silent = peer_questions::peers_max + 3, ranks = silent + 1;
  std::atomic<bool> named = false;
  ::testing::internal::CaptureStderr();
  testing::threads("threads").run(ranks, {}, [&](fabric::fabric& whole) {
    hand_clock clock(whole);
    const bool waits = whole.rank() == 0;
    clock.step_ns = waits ? 1'000'000 : peer_answers::period_ns;
    if (!waits) clock.sleep_ns_max = 1'000'000;
    endpoint own(clock, configured({{"AMITY_CORE_STALL_SECONDS", waits ? "1" : "0"}}));
    rank_t replies = 0;
    const handler_id reply = own.add_handler("reply", [&](request&) { ++replies; });
    const handler_id ask = own.add_handler("ask", [&](request& r) { r.reply_short(reply); });
    const handler_id block = own.add_handler("block", [&](request& r) {
      while (!named) std::this_thread::yield();
      r.reply_short(reply);
    });
    own.barrier();
    if (own.rank() == 0) {
      for (rank_t dest = 1; dest < silent; ++dest) own.request_short(dest, ask);
      own.wait_until("first replies", [&] { return replies == silent - 1; });
      own.request_short(silent, block);
      clock.step_ns = 100'000'000;
      clock.sleep_ns_max = 10'000'000;
      own.wait_until("the last reply", [&] {
        if (clock.now > 4'500'000'000) named = true;
        return replies == silent;
      });
    }
    own.barrier();
  });
  const std::string text = ::testing::internal::GetCapturedStderr();
  testing::expect_parts(text, {"amity: rank 0: no progress for 1 s in the last reply",
                               "amity: rank 0: no progress for 3 s in the last reply"});
  // Ranks that answer may be late once, on two cores, but not each time.
  const std::string begin = "amity: rank 0: no answer for 1 s from ", expected = fmt::format("rank {}: ", silent);
  std::size_t reports = 0, of_the_silent_alone = 0;
  for (std::size_t at = text.find(begin); at != std::string::npos; at = text.find(begin, at + 1)) {
    ++reports;
    if (text.compare(at + begin.size(), expected.size(), expected) == 0) ++of_the_silent_alone;
  }
  EXPECT_GE(of_the_silent_alone, 1u) << text;
  EXPECT_LE(reports, 4u) << text;
}

TEST(peer_answers, once_per_period) {
  constexpr std::uint64_t begin_ns = 5;
  peer_answers own;
  EXPECT_FALSE(own.is_due(begin_ns));
  own.on_question(3);
  EXPECT_TRUE(own.is_due(begin_ns));
  EXPECT_EQ(own.take(begin_ns), (std::vector<rank_t>{3}));
  EXPECT_FALSE(own.any());
  EXPECT_FALSE(own.is_due(begin_ns + peer_answers::period_ns));
  for (const rank_t lane : {3, 4, 3}) own.on_question(lane);
  EXPECT_FALSE(own.is_due(begin_ns + peer_answers::period_ns - 1));
  EXPECT_TRUE(own.is_due(begin_ns + peer_answers::period_ns));
  EXPECT_EQ(own.take(begin_ns + peer_answers::period_ns), (std::vector<rank_t>{3, 4}));
  EXPECT_FALSE(own.any());
}

/// Counts the answers to questions that leave.
class answer_counter final : public fabric::decorator {
 public:
  explicit answer_counter(::amity::fabric::fabric& inner) : decorator(inner) {}
  ::amity::status try_send(rank_t dest, std::uint64_t header, bytes_view payload,
                           ::amity::fabric::claim of) noexcept override {
    const status result = decorator::try_send(dest, header, payload, of);
    if (result == status::ok && header == service_header(service::wake).word() && payload.size() == 1 &&
        payload[0] == static_cast<std::byte>(peer_questions::content::answer))
      ++answers;
    return result;
  }
  int answers = 0;
};

// A rank that comes back from a long handler finds many questions of the same ranks.
TEST(stall_report, repeated_questions_get_one_answer) {
  fabric::sim::run(3, {}, [&](fabric::fabric& whole) {
    answer_counter counter(whole);
    endpoint own(counter, {});
    const auto ask = [&](int times) {
      constexpr auto question = static_cast<std::byte>(peer_questions::content::question);
      for (int i = 0; i < times; ++i) own.own_engine().send(0, service::wake, {&question, 1});
    };
    own.barrier();
    if (own.rank() > 0) ask(20);
    own.barrier();
    EXPECT_EQ(counter.answers, own.rank() == 0 ? 2 : 0);
    // Another question waits for the end of the period.
    if (own.rank() > 0) ask(1);
    own.barrier();
    own.barrier();
    EXPECT_EQ(counter.answers, own.rank() == 0 ? 2 : 0);
    while (own.transport().now_ns() < 2 * peer_answers::period_ns) {
      testing::idle_until(own.transport(), own.transport().now_ns() + peer_answers::period_ns / 4);
      own.progress();
    }
    own.barrier();
    EXPECT_EQ(counter.answers, own.rank() == 0 ? 4 : 0);
    return 0;
  });
}

/// What an endpoint sees of itself whose handlers take 70 ns and which looks around once after 500 and once after 200
/// ns.
attentiveness seen_of_itself(const settings& config) {
  attentiveness seen;
  fabric::sim::run(1, {}, [&](fabric::fabric& whole) {
    hand_clock clock(whole);
    endpoint own(clock, config);
    int taken = 0;
    const handler_id take = own.add_handler("take", [&](request&) {
      clock.now += 70;
      ++taken;
    });
    own.progress();
    const std::uint64_t polls = own.own_engine().attention().seen().polls;
    EXPECT_EQ(own.own_engine().attention().seen().polls_with_news, 0u);
    for (const std::uint64_t gap_ns : {500, 200}) {
      own.request_short(0, take);
      clock.now += gap_ns;
      const int before = taken;
      own.wait_until("a message", [&] { return taken > before; });
    }
    seen = own.own_engine().attention().seen();
    EXPECT_EQ(seen.polls_with_news, 2u);
    EXPECT_GT(seen.polls, polls + 2);  // some found nothing
    const std::string report = own.stall_report("a test", 1);
    EXPECT_NE(report.find(fmt::format("polls: {}, 2 of them found something", seen.polls)), std::string::npos);
    EXPECT_EQ(report.find("longest handler: 70 ns") != std::string::npos, seen.timed);
    return 0;
  });
  return seen;
}

TEST(attentiveness, counts_polls_and_takes_times_on_request) {
  const attentiveness counted = seen_of_itself({});
  EXPECT_EQ(counted.gap_ns_max + counted.gap_ns_total + counted.handler_ns_max, 0u);
  const attentiveness timed = seen_of_itself(configured({{"AMITY_CORE_ATTENTIVENESS", "1"}}));
  EXPECT_EQ(timed.gap_ns_max, 500u);
  EXPECT_EQ(timed.gap_ns_total, 700u);
  EXPECT_EQ(timed.handler_ns_max, 70u);
}

TEST(stall_report, comes_only_after_the_time_that_was_set) {
  EXPECT_EQ(printed_while_waiting("0"), "");
  const std::string text = printed_while_waiting("5");
  EXPECT_EQ(text.find("no progress for 1 s"), std::string::npos) << text;
  EXPECT_NE(text.find("no progress for 5 s"), std::string::npos) << text;
}

/// Time that passes by 400 ms whenever it is asked for.
class fast_clock final : public fabric::decorator {
 public:
  explicit fast_clock(::amity::fabric::fabric& inner) : decorator(inner) {}
  std::uint64_t now_ns() const noexcept override { return now_ns_ += 400'000'000; }

 private:
  mutable std::uint64_t now_ns_ = 0;
};

/// What the only rank of a job prints while it runs `act`.
template <class Act>
std::string printed_by(Act act) {
  ::testing::internal::CaptureStderr();
  fabric::shm::run_threads({}, 1, [&](fabric::fabric& transport) {
    fast_clock clock(transport);
    endpoint own(clock, configured({{"AMITY_CORE_STALL_SECONDS", "1"}}));
    act(own);
    return 0;
  });
  return ::testing::internal::GetCapturedStderr();
}

TEST(stall_report, endless_epoch_reports_rates) {
  const std::string text = printed_by([](endpoint& own) {
    constexpr int rounds = 600'000;  // a poll handles 64
    int handled = 0;
    handler_id again = 0;
    again = own.add_handler("again", [&](request&) {
      ++handled;
      if (handled < rounds) own.request_short(0, again);
    });
    own.add_handler("unused", [](request&) {});
    own.request_short(0, again);
    own.wait_until("the end of it", [&] { return handled == rounds; });
  });
  testing::expect_parts(text, {"amity: rank 0: the end of it has lasted for 1 s, and messages are still being handled: "
                               "'again': ",
                               "/s sent, ", "/s handled;", "has lasted for 2 s", "handlers send without end"});
  EXPECT_EQ(text.find("has lasted for 3 s"), std::string::npos) << text;
  EXPECT_EQ(text.find("unused"), std::string::npos) << text;
}

TEST(stall_report, endless_polls_report_rates) {
  const std::string text = printed_by([](endpoint& own) {
    constexpr int rounds = 400'000;
    int handled = 0;
    handler_id again = 0;
    again = own.add_handler("again", [&](request&) {
      ++handled;
      if (handled < rounds) own.request_short(0, again);
    });
    own.request_short(0, again);
    while (handled < rounds)
      own.own_engine().polled(own, "my loop", own.progress() ? engine::poll_round::eventful : engine::poll_round::idle);
    own.own_engine().polled(own, "my loop", engine::poll_round::last);
    // Another loop begins: what the one before has handled does not count.
    for (int i = 0; i < 1000; ++i) own.own_engine().polled(own, "my second loop", engine::poll_round::eventful);
  });
  testing::expect_parts(text,
                        {"amity: rank 0: my loop has lasted for 1 s, and messages are still being handled: 'again'"});
  EXPECT_EQ(text.find("my second loop"), std::string::npos) << text;
}

// Its packets may have the credits that this rank's own messages need: docs/contracts/core.md, caller rule 7.
TEST(stall_report, epoch_of_other_world_is_named) {
  testing::run_worlds(testing::simulated("sim", {}), 2, [](world& w) {
    const auto other = w.duplicate();
    int taken = 0;
    auto message = other->message<int>([&](int) { ++taken; });
    if (w.rank() == 0) {
      const auto report = [&] { return w.endpoint().stall_report("a test", 0); };
      while (report().find("likely cause: a peer has begun an epoch of world 1 that") == std::string::npos) {
        w.poll();
        fabric::wait(w.endpoint().transport(), 1000);
      }
      testing::expect_parts(report(), {"its packets may have the credits", "call a barrier before that epoch"});
    }
    other->epoch([&] { message.send(0, 7); });
    EXPECT_EQ(taken, w.rank() == 0 ? 2 : 0);
  });
}

// A report asks at most 16 peers, however many could be meant.
TEST(stall_report, asks_some_of_many_peers) {
  simulate(20, {}, [](endpoint& own) {
    int taken = 0;
    const handler_id take = own.add_handler("take", [&](request&) { ++taken; });
    own.barrier();
    for (rank_t rank = 0; rank < own.size(); ++rank) own.request_short(rank, take);
    const std::vector<rank_t> peers = own.peers_to_ask();
    EXPECT_EQ(peers.size(), 16u);
    own.wait_until("messages", [&] { return taken == own.size(); });
    own.barrier();
  });
}

// Ranks that the wait is for come before ranks whose answers to messages are missing.
TEST(stall_report, asks_peers_of_wait_first) {
  constexpr rank_t ranks = 20, last = ranks - 1;
  simulate(ranks, {}, [&](endpoint& own) {
    int taken = 0;
    std::vector<rank_t> asked_in_barrier;
    const handler_id take = own.add_handler("take", [&](request&) { ++taken; });
    const handler_id look = own.add_handler("look", [&](request&) { asked_in_barrier = own.peers_to_ask(); });
    own.barrier();
    if (own.rank() == 0) {
      for (rank_t rank = last - 1; rank >= 5; --rank) own.request_short(rank, take);
      EXPECT_NE(own.peers_to_ask().front(), last);

      static_cast<void>(own.memory());  // uses records
      record_stream& records = own.own_engine().served().records();
      event told;
      static_cast<void>(records.tail(last));
      const auto question = records.try_expect(last, {}, told);
      EXPECT_EQ(own.peers_to_ask().front(), last) << "an answer";
      records.withdraw(question.value());
      EXPECT_NE(own.peers_to_ask().front(), last);

      own.own_engine().unsent().push_control(last, 0, service_header(service::wake), {});
      EXPECT_EQ(own.peers_to_ask().front(), last) << "a packet";
    }
    if (own.rank() == last) {
      testing::idle_until(own.transport(), 1'000'000);  // rank 0 is in the barrier
      own.request_short(0, look);
    }
    own.barrier();
    if (own.rank() != 0) return;
    std::vector<rank_t> children;
    for_each_tree_child(0, ranks, [&](rank_t child) { children.push_back(child); });
    ASSERT_GT(asked_in_barrier.size(), children.size());
    asked_in_barrier.resize(children.size());
    EXPECT_EQ(asked_in_barrier, children) << "ranks of a barrier";
  });
}

TEST(stall_report, poll_loop_is_reported) {
  const std::string text = printed_by([](endpoint& own) {
    for (int polls = 0; polls < 5000; ++polls) {
      if (!own.progress()) own.own_engine().polled(own, "my loop", engine::poll_round::idle);
    }
  });
  testing::expect_parts(text, {"amity: rank 0: no progress for 1 s in my loop"});
}

/// What the only rank of a simulated job prints while it polls in a loop, with a pause in virtual time after each poll.
std::string printed_by_simulated_polls(int polls, std::uint64_t pause_ns, const std::string& stall_seconds) {
  ::testing::internal::CaptureStderr();
  simulate(
      1, {},
      [&](endpoint& own) {
        for (int i = 0; i < polls; ++i) {
          own.progress();
          if (pause_ns > 0) testing::idle_until(own.transport(), own.transport().now_ns() + pause_ns);
          own.own_engine().polled(own, "my loop", engine::poll_round::idle);
        }
      },
      configured({{"AMITY_CORE_STALL_SECONDS", stall_seconds}}));
  return ::testing::internal::GetCapturedStderr();
}

// Virtual time counts: 2 s pass between the first look at the clock, at poll 1024, and the third.
TEST(stall_report, simulated_polls_stall_in_virtual_time) {
  const std::string text = printed_by_simulated_polls(3 * 1024, 1'000'000, "2");
  testing::expect_parts(text, {"amity: rank 0: no progress for 2 s in my loop"});
  EXPECT_EQ(printed_by_simulated_polls(3 * 1024 - 1, 1'000'000, "2"), "");
}

// A program that polls without a pause is reported although hardly any virtual time passes.
TEST(stall_report, simulated_poll_loop_is_reported) {
  constexpr int polls = 1 << 22;
  testing::expect_parts(printed_by_simulated_polls(polls, 0, "86400"),
                        {"amity: rank 0: no progress for ", "in my loop"});
  EXPECT_EQ(printed_by_simulated_polls(polls - 1, 0, "86400"), "");
}

TEST(stall_report, tells_what_waits_to_be_sent_and_for_whom) {
  simulate(2, {.credits = 2}, [](endpoint& own) {
    int taken = 0;
    std::string text;
    const handler_id take = own.add_handler("take", [&](request&) { ++taken; });
    const handler_id burst = own.add_handler("burst", [&](request&) {
      for (int i = 0; i < 10; ++i) own.request_short(1, take);
      text = own.stall_report("a test", 7.4);
    });
    own.barrier();
    if (own.rank() == 0) {
      testing::idle_until(own.transport(), 50'000);  // all credits are back
      own.request_short(0, burst);
      own.wait_until("the burst", [&] { return !text.empty(); });
      EXPECT_NE(text.find("no progress for 7 s in a test"), std::string::npos) << text;
      EXPECT_NE(text.find("waiting to be sent: 7 packets to rank 1"), std::string::npos) << text;
      EXPECT_EQ(text.find("other ranks"), std::string::npos) << "one peer ends it: " << text;
    } else {
      own.wait_until("the burst", [&] { return taken == 10; });
    }
    own.barrier();
  });
}

// A sender that waits for one credit after the other makes progress, although nothing arrives.
TEST(stall_report, is_no_false_alarm_of_a_sender_on_a_slow_network) {
  ::testing::internal::CaptureStderr();
  constexpr int sent = 9;
  simulate(
      2, {.latency_ns = 300'000'000, .credits = 1},
      [](endpoint& own) {
        int taken = 0;
        const handler_id take = own.add_handler("take", [&](request&) { ++taken; });
        if (own.rank() == 0) {
          for (int i = 0; i < sent; ++i) own.request_short(1, take);
          EXPECT_GT(own.transport().now_ns(), 2'000'000'000u);
        } else {
          own.wait_until("all messages", [&] { return taken == sent; });
        }
        own.barrier();
      },
      configured({{"AMITY_CORE_STALL_SECONDS", "1"}}));
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

// Bytes of windows and of large messages come to an end.
TEST(busy_wait, is_one_if_messages_are_handled) {
  const registry handlers;
  const ledger counts(2);
  busy_wait wait(1000);
  while (!wait.round()) continue;
  EXPECT_FALSE(wait.is_due(1, handlers, counts, 5)) << "the first look";
  static_cast<void>(wait.round());
  EXPECT_FALSE(wait.is_due(5000, handlers, counts, 5)) << "no message was handled";
  EXPECT_TRUE(wait.is_due(20'000, handlers, counts, 6));
}

}  // namespace
}  // namespace amity::core
