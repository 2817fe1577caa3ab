/// Several threads of a rank that use one engine in turn: each waits for its own events, whichever thread polls them.
///
/// Sleeps in the fabric have no end but a wake-up here, and seats have a long one: without its wake-up, a
/// sleep lasts to its end, and the tests count it.

#include "amity/core/engine_lock.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <exception>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "amity/core/memory.hpp"
#include "amity/core/prepared.hpp"
#include "amity/fabric/decorator.hpp"
#include "amity/fabric/remote_memory.hpp"
#include "tests/support/jobs.hpp"
#include "tests/support/program_threads.hpp"

namespace amity::core {
namespace {

using std::chrono::steady_clock;
using testing::failure_of;
using testing::no_failures;
using testing::program_threads;

constexpr auto serialized = engine::threading::serialized;

/// Sleeps of this fabric end by a wake-up, or are counted.
class awaited_fabric final : public fabric::decorator {
 public:
  awaited_fabric(amity::fabric::fabric& inner, const std::optional<backoff>& how)
      : decorator(inner), caps_(inner.caps()) {
    if (how) caps_.backoff = *how;
  }
  ~awaited_fabric() override {
    EXPECT_EQ(sleeps_expired, 0);
    EXPECT_EQ(arms, disarms);
  }

  const amity::fabric::capabilities& caps() const noexcept override { return caps_; }
  void publish() override {
    publishers.push_back(std::this_thread::get_id());
    decorator::publish();
  }
  bool ready() override {
    ++looks;
    return decorator::ready();
  }
  amity::fabric::alarm arm() override {
    amity::fabric::alarm by = decorator::arm();
    ++arms;
    armed = true;
    if (hides_word) by = {.sleep_ns_max = sleep_ns};
    // Shorter ones have reasons, such as a provider that has to be asked again.
    const bool has_waker = by.word != nullptr || by.descriptors[0] >= 0;
    if (has_waker && by.sleep_ns_max > 10'000'000) by.sleep_ns_max = sleep_ns;
    return by;
  }
  void sleep(const amity::fabric::alarm& by, std::uint64_t) noexcept override {
    ++sleeps;
    sleeper = std::this_thread::get_id();
    const auto begin = steady_clock::now();
    if (!on_sleep || on_sleep()) decorator::sleep(by, sleep_ns);
    sleeps_expired += steady_clock::now() - begin >= std::chrono::nanoseconds(sleep_ns);
    sleeper = std::thread::id();
  }
  void disarm() noexcept override {
    EXPECT_TRUE(armed);
    armed = false;
    ++disarms;
    decorator::disarm();
  }
  std::size_t poll(amity::fabric::sink& receiver, std::size_t events_max) override {
    EXPECT_FALSE(armed);
    return decorator::poll(receiver, events_max);
  }
  status try_send(rank_t dest, std::uint64_t header, bytes_view payload, amity::fabric::claim of) noexcept override {
    EXPECT_FALSE(armed);
    return decorator::try_send(dest, header, payload, of);
  }

  std::function<bool()> on_sleep;  ///< without the lock; false: the sleep is over
  bool hides_word = false;         ///< alarms have neither a word nor descriptors
  std::atomic<std::uint64_t> looks = 0;
  std::atomic<std::uint64_t> sleeps = 0;
  std::atomic<std::thread::id> sleeper;
  std::atomic<int> sleeps_expired = 0;
  // Read and written by the thread inside.
  std::vector<std::thread::id> publishers;
  int arms = 0;
  int disarms = 0;
  bool armed = false;

 private:
  static constexpr std::uint64_t sleep_ns = 60'000'000'000;

  amity::fabric::capabilities caps_;
};

void await(const std::function<bool()>& done) {
  while (!done()) std::this_thread::yield();
}

/// An endpoint with a serialized engine, and what tests ask of it.
struct serialized_rank {
  explicit serialized_rank(fabric::fabric& inner, const std::optional<backoff>& how = {})
      : transport(inner, how), own(transport, {}, 1, serialized) {}
  ~serialized_rank() { EXPECT_EQ(seats().expired(), 0u); }

  engine& runs() { return own.own_engine(); }
  const guard& seats() { return runs().lock()->seats(); }
  bool fabric_has_sleeper() const { return transport.sleeper.load() != std::thread::id(); }
  void wait(const bool& done) {
    inside([&] { own.wait_until("a flag", [&] { return done; }); });
  }
  void inside(const std::function<void()>& act) {
    const engine::entry entered(runs());
    act();
  }
  void set(bool& flag) {
    inside([&] { flag = true; });
  }
  /// A thread sleeps in the fabric, and this many others are on seats: without entering, which would wake them.
  void await_waits(std::uint64_t threads_on_seats) {
    await([&] { return seats().asleep() == threads_on_seats && fabric_has_sleeper(); });
  }

  awaited_fabric transport;
  endpoint own;
};

/// A job of one rank, in this thread.
void run_alone(const std::function<void(serialized_rank&)>& body, const std::optional<backoff>& how = {}) {
  testing::threads("threads").run(1, {}, [&](fabric::fabric& inner) {
    serialized_rank rank(inner, how);
    body(rank);
  });
}

// --- Several threads that send and wait. ---

class serialized_job : public ::testing::TestWithParam<testing::job_kind> {
 protected:
  void run(const std::function<void(fabric::fabric&)>& body) const { GetParam().run(2, {}, body); }
};
INSTANTIATE_TEST_SUITE_P(core, serialized_job,
                         ::testing::Values(testing::threads("threads"), testing::processes("processes")),
                         [](const auto& kind) { return kind.param.name; });

/// Rank 1 answers when as many requests have arrived: until then, this many threads of rank 0 wait together.
void answer_together(fabric::fabric& transport, std::size_t requests) {
  endpoint own(transport, {});
  handler_id reply = 0;
  std::vector<std::array<std::uint64_t, 2>> arrived;
  static_cast<void>(own.add_handler("request", [&](request& r) {
    arrived.push_back({r.args()[0], r.args()[1]});
    if (arrived.size() < requests) return;
    for (const auto& each : arrived) own.request_short(0, reply, each);
    arrived.clear();
  }));
  reply = own.add_handler("reply", [](request&) {});
  own.barrier();
  own.barrier();
}

TEST_P(serialized_job, each_thread_gets_its_replies) {
  constexpr std::size_t threads = 4;
  constexpr std::uint64_t rounds = 300;
  run([](fabric::fabric& transport) {
    if (transport.rank() == 1) return answer_together(transport, threads);
    serialized_rank rank(transport);
    endpoint& own = rank.own;
    std::array<std::uint64_t, threads> replies{};
    handler_id ask = 0;
    const auto enter_and_send = [&](std::uint64_t thread, std::uint64_t round) {
      const engine::entry inside(own.own_engine());
      own.request_short(1, ask, {thread, round});
    };
    {
      const engine::entry inside(own.own_engine());
      ask = own.add_handler("request", [](request&) {});
      static_cast<void>(own.add_handler("reply", [&](request& r) {
        const auto thread = r.args()[0];
        // Every second one is sent by the handler of the first, which enters again.
        if (++replies[thread] % 2 == 1) enter_and_send(thread, r.args()[1]);
      }));
      own.barrier();
    }
    program_threads program;
    for (std::size_t thread = 0; thread < threads; ++thread) {
      program.start([&, thread] {
        for (std::uint64_t round = 1; round <= rounds; ++round) {
          const engine::entry inside(own.own_engine());
          enter_and_send(thread, round);
          own.wait_until("my replies", [&] { return replies[thread] == 2 * round; });
        }
      });
    }
    EXPECT_EQ(program.join(), no_failures(threads));
    rank.inside([&] { own.barrier(); });
    EXPECT_EQ(replies, (std::array<std::uint64_t, threads>{2 * rounds, 2 * rounds, 2 * rounds, 2 * rounds}));
    EXPECT_GT(rank.seats().sat(), 0u);
  });
}

// The outbox, credits and fragments of one engine serve all threads.
TEST_P(serialized_job, threads_send_large_payloads) {
  constexpr std::size_t threads = 4;
  constexpr std::uint64_t rounds = 20;
  run([](fabric::fabric& transport) {
    const auto bytes = 5 * transport.caps().packet_bytes_max;
    std::array<std::uint64_t, threads> echoed{};
    const auto add_handlers = [&](endpoint& own, handler_id& echo) {
      const handler_id answer = own.add_handler("answer", [&](request& r) {
        const auto thread = r.args()[0];
        EXPECT_EQ(r.payload().size(), bytes);
        EXPECT_TRUE(std::ranges::all_of(r.payload(), [&](std::byte each) { return each == std::byte(thread); }));
        ++echoed[thread];
      });
      echo = own.add_handler("echo", [answer](request& r) { r.reply_medium(answer, r.payload(), r.args()); });
      own.barrier();
    };
    handler_id echo = 0;
    if (transport.rank() == 1) {
      endpoint own(transport, {});
      add_handlers(own, echo);
      own.barrier();
      return;
    }
    serialized_rank rank(transport);
    endpoint& own = rank.own;
    rank.inside([&] { add_handlers(own, echo); });
    program_threads program;
    for (std::size_t thread = 0; thread < threads; ++thread) {
      program.start([&, thread] {
        const std::vector<std::byte> payload(bytes, std::byte(thread));
        for (std::uint64_t round = 1; round <= rounds; ++round) {
          const engine::entry inside(rank.runs());
          own.request_medium(1, echo, payload, {thread});
          own.wait_until("my echo", [&] { return echoed[thread] == round; });
        }
      });
    }
    EXPECT_EQ(program.join(), no_failures(threads));
    rank.inside([&] { own.barrier(); });
  });
}

// The simulator is used by one thread, and checks each call against the contract of fabrics.
TEST(serialized_engine, one_thread_serves_simulated_rank) {
  testing::simulated("sim", {.delay_ns_max = 4000, .credits = 2}).run(3, {}, [](fabric::fabric& transport) {
    endpoint own(transport, {}, 1, serialized);
    const engine::entry inside(own.own_engine());
    std::uint64_t answers = 0;
    const handler_id answer = own.add_handler("answer", [&](request&) { ++answers; });
    const handler_id ask = own.add_handler("ask", [&](request& r) { r.reply_short(answer); });
    own.barrier();
    for (std::uint64_t round = 1; round <= 20; ++round) {
      for (rank_t rank = 0; rank < own.size(); ++rank) own.request_short(rank, ask);
      own.wait_until("answers", [&] { return answers == 3 * round; });
    }
    own.barrier();
  });
}

// --- Wake-ups, one at a time. ---

TEST(serialized_engine, entry_ends_sleep_in_fabric) {
  run_alone([](serialized_rank& rank) {
    bool done = false;
    program_threads program;
    program.start([&] { rank.wait(done); });
    await([&] { return rank.fabric_has_sleeper(); });
    rank.set(done);
    EXPECT_EQ(program.join(), no_failures(1));
    EXPECT_EQ(rank.runs().lock()->sleeps_ended(), 1u);
  });
}

// Each sleep ends by an entry, and by nothing else.
TEST(serialized_engine, entry_ends_sleep_without_word) {
  run_alone([](serialized_rank& rank) {
    rank.transport.hides_word = true;
    bool done = false;
    program_threads program;
    program.start([&] { rank.wait(done); });
    for (std::uint64_t entries = 1; entries <= 5; ++entries) {
      await([&] { return rank.transport.sleeps >= entries && rank.fabric_has_sleeper(); });
      const engine::entry inside(rank.runs());
      done = entries == 5;
    }
    EXPECT_EQ(program.join(), no_failures(1));
    EXPECT_EQ(rank.runs().lock()->sleeps_ended(), 5u);
    EXPECT_EQ(rank.transport.sleeps, 5u);
  });
}

// The announcement is withdrawn before the thread that entered uses the fabric, also if the sleep has not begun.
TEST(serialized_engine, entry_before_sleep_ends_it) {
  run_alone([](serialized_rank& rank) {
    bool done = false;
    rank.transport.on_sleep = [&] {
      std::thread([&] { rank.set(done); }).join();
      return true;
    };
    program_threads program;
    program.start([&] { rank.wait(done); });
    EXPECT_EQ(program.join(), no_failures(1));
    EXPECT_EQ(rank.runs().lock()->sleeps_ended(), 1u);
  });
}

TEST(serialized_engine, leaving_thread_wakes_seats) {
  run_alone([](serialized_rank& rank) {
    std::array<bool, 3> done{};
    program_threads program;
    for (bool& each : done) program.start([&] { rank.wait(each); });
    rank.await_waits(2);
    rank.inside([&] { done.fill(true); });
    EXPECT_EQ(program.join(), no_failures(3));
    EXPECT_GE(rank.seats().sat(), 2u);
  });
}

// Its sleep ends early, when what it waits for is there: nothing has been polled when it leaves.
TEST(serialized_engine, sleeper_hands_over_and_publishes) {
  run_alone([](serialized_rank& rank) {
    std::atomic<bool> first_done = false;
    bool second_done = false;
    std::atomic<std::thread::id> first;
    std::size_t published = 0;
    rank.transport.on_sleep = [&] {
      if (std::this_thread::get_id() != first.load() || first_done || rank.seats().asleep() == 0) return true;
      published = rank.transport.publishers.size();
      first_done = true;
      return false;
    };
    program_threads program;
    program.start([&] {
      first = std::this_thread::get_id();
      const engine::entry inside(rank.runs());
      rank.own.wait_until("its flag", [&] { return first_done.load(); });
    });
    await([&] { return rank.fabric_has_sleeper(); });
    program.start([&] { rank.wait(second_done); });
    // The second thread has ended the first one's sleep when it came in. The next one waits for its seat.
    await([&] { return first_done && rank.fabric_has_sleeper() && rank.transport.sleeper.load() != first.load(); });
    rank.set(second_done);
    EXPECT_EQ(program.join(), no_failures(2));
    const std::vector<std::thread::id>& publishers = rank.transport.publishers;
    ASSERT_LT(published, publishers.size());
    EXPECT_EQ(publishers[published], first.load());
  });
}

// The event of the thread that polls has not arrived: it sleeps again.
TEST(serialized_engine, polled_event_wakes_seat) {
  std::atomic<bool> wanted = false;
  testing::threads("threads").run(2, {}, [&](fabric::fabric& inner) {
    bool sleeper_done = false;
    bool event = false;
    const auto add_handler = [&](endpoint& own) {
      const handler_id added = own.add_handler("event", [&](request&) { event = true; });
      own.barrier();
      return added;
    };
    if (inner.rank() == 1) {
      endpoint own(inner, {});
      const handler_id handler = add_handler(own);
      await([&] { return wanted.load(); });
      own.request_short(0, handler);
      own.barrier();
      return;
    }
    serialized_rank rank(inner);
    rank.inside([&] { static_cast<void>(add_handler(rank.own)); });
    program_threads program;
    program.start([&] { rank.wait(sleeper_done); });
    await([&] { return rank.fabric_has_sleeper(); });
    program.start([&] {
      const engine::entry inside(rank.runs());
      rank.own.wait_until("the event", [&] { return event; });
      sleeper_done = true;
    });
    rank.await_waits(1);
    wanted = true;
    EXPECT_EQ(program.join(), no_failures(2));
    rank.inside([&] { rank.own.barrier(); });
  });
}

// No other event follows a reply until its wait has ended, and no sleep ends by time: a wait that its reply does not
// end is counted as an expired one. What a reply costs is counted too: the thread that polled it wakes the
// threads on seats, and so does the one that leaves; each of them ends a sleep in the fabric at most once per wake-up.
TEST(serialized_engine, each_reply_ends_one_wait) {
  constexpr std::size_t threads = 4;
  std::atomic<std::size_t> wanted = 0;
  testing::threads("threads").run(2, {}, [&](fabric::fabric& inner) {
    constexpr std::array<std::size_t, threads> order{2, 0, 3, 1};
    std::array<bool, threads> arrived{};
    const auto add_handler = [&](endpoint& own) {
      const handler_id added = own.add_handler("reply", [&](request& r) { arrived[r.args()[0]] = true; });
      own.barrier();
      return added;
    };
    if (inner.rank() == 1) {
      endpoint own(inner, {});
      const handler_id reply = add_handler(own);
      for (std::size_t round = 0; round < threads; ++round) {
        await([&] { return wanted == round + 1; });
        own.request_short(0, reply, {order[round]});
      }
      own.barrier();
      return;
    }
    serialized_rank rank(inner);
    rank.inside([&] { static_cast<void>(add_handler(rank.own)); });
    std::array<std::atomic<bool>, threads> ended{};
    program_threads program;
    for (std::size_t thread = 0; thread < threads; ++thread) {
      program.start([&, thread] {
        rank.wait(arrived[thread]);
        ended[thread] = true;
      });
    }
    for (std::size_t round = 0; round < threads; ++round) {
      rank.await_waits(threads - round - 1);
      const std::uint64_t before = rank.transport.sleeps;
      wanted = round + 1;
      await([&] { return ended[order[round]].load(); });
      if (round + 1 == threads) break;
      rank.await_waits(threads - round - 2);
      EXPECT_LE(rank.transport.sleeps - before, 1 + 2 * threads);
    }
    EXPECT_EQ(program.join(), no_failures(threads));
    rank.inside([&] { rank.own.barrier(); });
  });
}

// --- The lock is given up. ---

TEST(serialized_engine, spinning_thread_lets_others_in) {
  constexpr std::uint64_t minute_ns = 60'000'000'000;
  const auto wait_beside = [](serialized_rank& rank) {
    bool done = false;
    program_threads program;
    program.start([&] { rank.wait(done); });
    await([&] { return rank.transport.looks > 2; });
    rank.set(done);
    EXPECT_EQ(program.join(), no_failures(1));
    EXPECT_EQ(rank.transport.arms, 0);
  };
  run_alone(wait_beside, backoff{.looks = 1, .pauses = 1, .spin_ns = minute_ns});
}

TEST(serialized_engine, polling_thread_lets_others_in) {
  run_alone([](serialized_rank& rank) {
    bool done = false;
    program_threads program;
    program.start([&] {
      const engine::entry inside(rank.runs());
      for (int i = 0; i < 3'000'000 && !done; ++i) {
        static_cast<void>(rank.own.progress());
        rank.runs().polled(rank.own, "a loop of the program", engine::poll_round::idle);
      }
      EXPECT_TRUE(done);
    });
    // It begins to sleep while the other one rests, which polls afterwards.
    program.start([&] { rank.wait(done); });
    await([&] { return rank.transport.sleeps > 0; });
    rank.set(done);
    EXPECT_EQ(program.join(), no_failures(2));
  });
}

// --- Failures. ---

TEST(serialized_engine, handler_exception_reaches_all_threads) {
  run_alone([](serialized_rank& rank) {
    const bool never = false;
    handler_id fails = 0;
    rank.inside(
        [&] { fails = rank.own.add_handler("fails", [](request&) { throw std::runtime_error("a broken handler"); }); });
    program_threads program;
    for (int i = 0; i < 3; ++i) program.start([&] { rank.wait(never); });
    rank.await_waits(2);
    const std::string here = failure_of([&] {
      const engine::entry inside(rank.runs());
      rank.own.request_short(0, fails);
      rank.own.wait_until("the failure", [] { return false; });
    });
    EXPECT_EQ(here, "a broken handler");
    EXPECT_EQ(program.join(), std::vector<std::string>(3, "a broken handler"));
  });
}

TEST(serialized_engine, end_of_job_reaches_all_threads) {
  run_alone([](serialized_rank& rank) {
    const bool never = false;
    program_threads program;
    for (int i = 0; i < 3; ++i) program.start([&] { rank.wait(never); });
    rank.await_waits(2);
    rank.inside([&] { rank.transport.abort(); });
    for (const std::string& failure : program.join()) EXPECT_NE(failure, "");
  });
}

// The thread that waits for the fabric finds a credit that a thread on a seat needs.
TEST(serialized_engine, credits_reach_threads_on_seats) {
  std::atomic<bool> is_refused = false;
  testing::threads("threads").run(2, {}, [&](fabric::fabric& inner) {
    constexpr int requests = 1000;
    if (inner.rank() == 0) {
      serialized_rank rank(inner);
      handler_id handler = 0;
      rank.inside([&] {
        handler = rank.own.add_handler("request", [](request&) {});
        rank.own.barrier();
      });
      bool done = false;
      program_threads program;
      program.start([&] { rank.wait(done); });
      await([&] { return rank.fabric_has_sleeper(); });
      program.start([&] {
        for (int i = 0; i < requests; ++i) {
          const engine::entry inside(rank.runs());
          rank.own.request_short(1, handler);
        }
        rank.set(done);
      });
      await([&] { return rank.seats().asleep() == 1 && rank.fabric_has_sleeper(); });
      is_refused = true;
      EXPECT_EQ(program.join(), no_failures(2));
      rank.inside([&] { rank.own.barrier(); });
    } else {
      endpoint own(inner, {});
      int handled = 0;
      static_cast<void>(own.add_handler("request", [&](request&) { ++handled; }));
      own.barrier();
      await([&] { return is_refused.load(); });
      own.wait_until("requests", [&] { return handled == requests; });
      own.barrier();
    }
  });
}

// --- Entries. ---

TEST(serialized_engine, try_entry_refuses_beside_others) {
  run_alone([](serialized_rank& rank) {
    const auto enters = [&] {
      bool entered = false;
      std::thread([&] { entered = engine::entry(rank.runs(), std::try_to_lock).entered(); }).join();
      return entered;
    };
    EXPECT_TRUE(enters());
    {
      const engine::entry inside(rank.runs());
      EXPECT_FALSE(enters());
      const engine::entry again(rank.runs(), std::try_to_lock);
      EXPECT_TRUE(again.entered());
      rank.own.progress();
    }
    EXPECT_TRUE(enters());
    // A thread that waits makes progress itself.
    bool done = false;
    program_threads program;
    program.start([&] { rank.wait(done); });
    await([&] { return rank.fabric_has_sleeper(); });
    EXPECT_FALSE(enters());
    EXPECT_EQ(rank.runs().lock()->sleeps_ended(), 0u);
    rank.set(done);
    EXPECT_EQ(program.join(), no_failures(1));
    EXPECT_TRUE(enters());
  });
}

TEST(serialized_engine, calls_outside_name_remedy) {
  run_alone([](serialized_rank& rank) {
    endpoint& own = rank.own;
    handler_id handler = 0;
    rank.inside([&] { handler = own.add_handler("handler", [](request&) {}); });
    const std::vector<std::function<void()>> calls = {
        [&] { own.request_short(0, handler); },
        [&] { static_cast<void>(own.prepare_medium(0, 0, 8)); },
        [&] { static_cast<void>(own.add_handler("another", [](request&) {})); },
        [&] { static_cast<void>(own.progress()); },
        [&] { own.wait_until("nothing", [] { return true; }); },
        [&] { own.barrier(); },
        [&] { static_cast<void>(own.memory().allocate(64)); },
    };
    const auto expect_errors = [&] {
      for (const auto& call : calls) {
        const std::string failure = failure_of(call);
        EXPECT_NE(failure.find("not inside the engine"), std::string::npos) << failure;
        EXPECT_NE(failure.find("make a core::engine::entry"), std::string::npos) << failure;
      }
    };
    expect_errors();
    const engine::entry inside(rank.runs());
    std::thread(expect_errors).join();
  });
}

// Another thread has the lock when the process forks: no thread of the child gives it back.
TEST(serialized_engine, children_do_not_wait_for_lock) {
  run_alone([](serialized_rank& rank) {
    std::atomic<bool> is_inside = false, is_over = false;
    program_threads program;
    program.start([&] {
      rank.inside([&] {
        is_inside = true;
        await([&] { return is_over.load(); });
      });
    });
    await([&] { return is_inside.load(); });
    const pid_t child = ::fork();
    if (child == 0) {
      ::alarm(10);
      const engine::entry inside(rank.runs(), "a call");  // prints, and ends the child with 1
      ::_exit(7);
    }
    int how = 0;
    ::waitpid(child, &how, 0);
    EXPECT_TRUE(WIFEXITED(how) && WEXITSTATUS(how) == 1) << how;
    is_over = true;
    EXPECT_EQ(program.join(), no_failures(1));
  });
}

TEST(owned_engine, entry_checks_thread) {
  testing::threads("threads").run(2, {}, [](fabric::fabric& inner) {
    endpoint own(inner, {}, 2);
    const engine::entry inside(own.own_engine());
    const engine::entry again(own.own_engine(), std::try_to_lock);
    EXPECT_TRUE(again.entered());
    std::thread([&] {
      const std::string failure = failure_of([&] { const engine::entry wrong(own.own_engine()); });
      EXPECT_NE(failure.find("called by another thread"), std::string::npos) << failure;
      EXPECT_FALSE(engine::entry(own.own_engine(), std::try_to_lock).entered());
    }).join();
    own.barrier();
  });
}

}  // namespace
}  // namespace amity::core
