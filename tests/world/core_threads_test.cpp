/// The floor below typed messages on ranks with several threads: handlers of each, Longs of each, a progress thread.

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "amity/core/memory.hpp"
#include "amity/core/prepared.hpp"
#include "tests/fabric/payloads.hpp"
#include "tests/support/programs.hpp"
#include "tests/support/sanitizer.hpp"
#include "tests/support/texts.hpp"

namespace amity {
namespace {

using core::endpoint;
using core::handler_id;
using core::request;
using fabric::testing::fill;
using fabric::testing::is_payload;
using testing::run_job;
using testing::shape;

struct form {
  std::string fabric;
  rank_t ranks;
  rank_t threads;
  bool helped;  ///< by a progress thread
};
void PrintTo(const form& f, std::ostream* out) { *out << f.fabric << ' ' << f.ranks << " x " << f.threads; }

std::vector<form> forms() {
  std::vector<form> all;
  std::vector<std::string> fabrics = testing::fabrics_with_threads();
  if (!testing::sanitized && fabric::ofi::available()) fabrics.emplace_back("ofi");
  for (const std::string& fabric : fabrics) {
    for (const rank_t ranks : {1, 2, 3}) {
      for (const bool helped : {false, true}) {
        for (const rank_t threads : {1, 3}) all.push_back({fabric, ranks, threads, helped});
      }
    }
  }
  return all;
}

std::string form_name(const ::testing::TestParamInfo<form>& tested) {
  const form& f = tested.param;
  return f.fabric + "_" + std::to_string(f.ranks) + "x" + std::to_string(f.threads) + (f.helped ? "_helped" : "");
}

class core_threads : public ::testing::TestWithParam<form> {
 protected:
  void run_program(const testing::program& body) const {
    const form& f = GetParam();
    run_job(shape(f.fabric, f.ranks, f.threads, {f.helped ? "AMITY_PROGRESS_THREAD=1" : "AMITY_PROGRESS_THREAD=0"}),
            body);
  }
};
INSTANTIATE_TEST_SUITE_P(all, core_threads, ::testing::ValuesIn(forms()), form_name);

class progress_thread : public core_threads {};
// Under the simulator nothing runs beside the program.
std::vector<form> helped_forms() {
  std::vector<form> all = forms();
  std::erase_if(all, [](const form& f) { return !f.helped || f.fabric == "sim"; });
  return all;
}
INSTANTIATE_TEST_SUITE_P(all, progress_thread, ::testing::ValuesIn(helped_forms()), form_name);

/// The segments of the threads that are home to handlers, opened on each thread.
class memories {
 public:
  explicit memories(world& of, std::size_t bytes) : world_(of), opened_(index(of.team().size())) {
    core::team& threads = of.team();
    threads.run_on(of.endpoint().home_thread(), [&] { own = on(of.endpoint().home_thread()).allocate(bytes); });
    const auto descriptors = exchange_descriptors(of.endpoint(), own.descriptor);
    threads.run([&](rank_t thread) {
      for (const core::segment_descriptor& each : descriptors) opened_[index(thread)].push_back(on(thread).open(each));
    });
  }

  core::memory& on(rank_t thread) { return world_.team().lane(thread).memory(); }
  const core::remote_segment& of(rank_t rank, rank_t thread) { return opened_[index(thread)][index(rank)]; }

  core::local_segment own;

 private:
  static std::size_t index(rank_t number) { return static_cast<std::size_t>(number); }

  world& world_;
  std::vector<std::vector<core::remote_segment>> opened_;
};

TEST_P(core_threads, send_longs_of_their_own) {
  run_program([](world& w) {
    constexpr std::size_t bytes = 3000, rounds = 20;
    core::team& threads = w.team();
    const rank_t count = w.threads();
    memories memory(w, bytes * static_cast<std::size_t>(w.size() * count));
    std::atomic<std::uint64_t> taken = 0, wrong = 0;
    std::vector<std::size_t> replies(static_cast<std::size_t>(count));
    handler_id back = 0;
    const handler_id take = threads.add_handler("take", [&](request& from) {
      if (!is_payload(from.payload(), from.args()[0])) ++wrong;
      ++taken;
      from.reply_short(back, from.args());
    });
    back = threads.add_handler("back", [&](request& from) { ++replies[from.args()[1]]; });
    w.barrier();
    threads.run([&](rank_t thread) {
      if (thread >= count) return;
      endpoint& own = threads.lane(thread);
      const auto place = static_cast<std::size_t>(w.rank() * count + thread) * bytes;
      std::vector<std::byte> payload(bytes);
      for (std::size_t round = 0; round < rounds; ++round) {
        const rank_t peer = static_cast<rank_t>(round) % w.size();
        fill(payload, round);
        threads.lane(thread).request_long({memory.of(peer, thread), place}, take, payload,
                                          {round, static_cast<std::uint64_t>(thread)});
        threads.wait_until(own, "a reply", [&] { return replies[static_cast<std::size_t>(thread)] == round + 1; });
      }
    });
    w.barrier();
    EXPECT_EQ(w.sum(taken.load()), rounds * static_cast<std::uint64_t>(w.size() * count));
    EXPECT_EQ(wrong, 0u);
    w.barrier();
    threads.remove_handler(back);
    threads.remove_handler(take);
  });
}

// Without a progress thread, a rank whose program computes would never answer.
TEST_P(progress_thread, handles_while_the_program_computes) {
  run_program([](world& w) {
    core::team& threads = w.team();
    memories memory(w, 4000);
    std::atomic<int> handled = 0, elsewhere = 0;
    const auto program = std::this_thread::get_id();
    const auto note = [&](request& from) {
      if (from.payload().size() == 4000 && from.args().empty() && from.payload().data() != memory.own.data) ++elsewhere;
      if (std::this_thread::get_id() == program) ++elsewhere;
      ++handled;
    };
    const handler_id take = threads.add_handler("take", note);
    w.barrier();
    const rank_t next = (w.rank() + 1) % w.size();
    const std::vector<std::byte> payload(4000);
    w.endpoint().request_short(next, take);
    w.endpoint().request_medium(next, take, payload, {1, 2});
    threads.lane(0).request_long({memory.of(next, 0), 0}, take, payload);
    {
      core::prepared_medium made = w.endpoint().prepare_medium(next, 8, 8);
      fill(made.payload(), 1);
      made.commit(take, 8);
    }
    w.barrier();                                           // all is on its way
    while (handled.load() < 4) std::this_thread::yield();  // no call of amity
    EXPECT_EQ(elsewhere, 0);
    w.barrier();
    threads.remove_handler(take);
  });
}

// Under virtual time whoever sleeps does so until it is woken.
TEST_P(core_threads, wake_one_that_waits_for_what_a_handler_of_another_does) {
  run_program([](world& w) {
    core::team& threads = w.team();
    std::atomic<std::uint64_t> taken = 0;
    const handler_id take = threads.add_handler("take", [&](request&) { ++taken; });
    w.barrier();
    const auto all = static_cast<std::uint64_t>(w.threads());
    for (std::uint64_t round = 1; round <= 50; ++round) {
      threads.run([&](rank_t thread) {
        if (thread >= w.threads()) return;
        endpoint& own = threads.lane(thread);
        own.request_short((w.rank() + 1) % w.size(), take);
        threads.wait_until(own, "the requests of a round", [&] { return taken.load() >= round * all; });
      });
      w.barrier();
    }
    EXPECT_EQ(taken, 50 * all);
    w.barrier();
    threads.remove_handler(take);
  });
}

// Whatever makes progress wakes them, a collective as well: rank 0 ends its barrier after the others have begun theirs,
// and they do so after one of its threads has seen what its thread 0 has handled.
TEST_P(core_threads, wake_one_that_waits_while_another_is_in_a_barrier) {
  if (GetParam().threads == 1) return;
  run_program([](world& w) {
    core::team& threads = w.team();
    std::atomic<int> asked = 0, taken = 0, gone = 0;
    const handler_id ask = threads.add_handler("ask", [&](request&) { ++asked; });
    const handler_id take = threads.add_handler("take", [&](request&) { ++taken; });
    const handler_id go = threads.add_handler("go", [&](request&) { ++gone; });
    w.barrier();
    threads.run([&](rank_t thread) {
      endpoint& own = threads.lane(thread);
      const auto send_to_others = [&](handler_id what) {
        for (rank_t peer = 1; peer < w.size(); ++peer) own.request_short(peer, what);
      };
      if (w.rank() == 0 && thread == 1) {
        send_to_others(ask);
        threads.wait_until(own, "what thread 0 handles", [&] { return taken.load() == w.size() - 1; });
        send_to_others(go);
      }
      if (thread != 0) return;
      if (w.rank() != 0) {
        threads.wait_until(own, "a question", [&] { return asked.load() > 0; });
        own.request_short(0, take);
        threads.wait_until(own, "leave to go on", [&] { return gone.load() > 0; });
      }
      own.barrier();
    });
    w.barrier();
    for (const handler_id each : {go, take, ask}) threads.remove_handler(each);
  });
}

TEST(core_threads_misuse, names_itself) {
  run_job(shape("threads", 2, 2), [](world& w) {
    core::team& threads = w.team();
    memories memory(w, 64);
    bool handled = false;
    const handler_id misuse = threads.add_handler("misuse", [&](request& from) {
      EXPECT_EQ(&from.owner(), &w.endpoint());
      testing::expect_error([&] { threads.add_handler("x", [](request&) {}); }, {"team::add_handler", "in a handler"});
      testing::expect_error([&] { threads.remove_handler(0); }, {"team::remove_handler", "in a handler"});
      handled = true;
    });
    w.barrier();
    w.endpoint().request_short(1 - w.rank(), misuse);
    w.endpoint().wait_until("the handler", [&] { return handled; });
    // What one thread has opened, another may not use.
    const std::vector<std::byte> payload(8);
    threads.run([&](rank_t thread) {
      testing::expect_error(
          [&] {
            memory.on(thread).put({memory.of(0, 1 - thread), 0}, payload);
          },
          {"thread " + std::to_string(thread) + " uses what thread " + std::to_string(1 - thread)});
    });
    testing::expect_error([&] { memory.on(1).open(memory.own.descriptor); },
                          {"memory::open", "called by another thread than thread 1"});
    core::remote_segment opened = memory.of(0, 1);
    testing::expect_error([&] { memory.on(1).close(opened); }, {"memory::close", "another thread"});
    testing::expect_error([&] { memory.on(0).close(opened); },
                          {"memory::close", "thread 0 uses what thread 1 has opened"});
    testing::expect_error([&] { memory.on(1).release(memory.own); }, {"memory::release", "another thread"});
    testing::expect_error([&] { exchange_descriptors(threads.lane(1), memory.own.descriptor); },
                          {"exchange", "another thread"});
    threads.run_on(1, [&] {
      const std::string_view problem = "thread 1 uses a segment that thread 0 has made";
      testing::expect_error([&] { memory.on(1).release(memory.own); }, {"memory::release", problem});
      testing::expect_error([&] { exchange(threads.lane(1), memory.own); }, {"exchange", problem});
      testing::expect_error([&] { memory.on(1).release({}); }, {"memory::release", "does not belong to this rank"});
    });
    // A lambda that knows the endpoint of thread 0 may run on another.
    endpoint& main = w.endpoint();
    const std::vector<std::function<void()>> calls{[&] { main.request_short(0, misuse); },
                                                   [&] { main.prepare_medium(0, 0, 8); },
                                                   [&] { main.add_handler("x", [](request&) {}); },
                                                   [&] { main.set_priority(misuse, 1); },
                                                   [&] { main.progress(); },
                                                   [&] { main.make_room(0); },
                                                   [&] { main.barrier(); }};
    for (const auto& call : calls) {
      threads.run_on(1, [&] { testing::expect_error(call, {"called by another thread than thread 0", "team::lane"}); });
    }
    handler_id odd = 0;
    threads.run_on(1, [&] { odd = threads.lane(1).add_handler("odd", [](request&) {}); });
    testing::expect_error([&] { threads.add_handler("x", [](request&) {}); },
                          {"team::add_handler", "on thread 0 and number", "on thread 1"});
    threads.run_on(1, [&] { threads.lane(1).remove_handler(odd); });
    threads.remove_handler(threads.add_handler("x", [](request&) {}));
    testing::expect_error([&] { threads.run_on(1, [] { throw error("this", 0, "that", "so"); }); }, {"this", "that"});
    core::segment_descriptor other = memory.own.descriptor;
    other.lane += 2 * w.size();
    testing::expect_error([&] { memory.on(0).open(other); }, {"memory::open", "without a change"});
    w.barrier();
    threads.remove_handler(misuse);
  });
}

}  // namespace
}  // namespace amity
