/// Several worlds of one rank at once: made, used apart and together, destroyed.

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "amity/core/memory.hpp"
#include "tests/support/places.hpp"
#include "tests/support/sanitizer.hpp"
#include "tests/support/texts.hpp"
#include "tests/support/worlds.hpp"

namespace amity {
namespace {

using testing::failure_in_worlds;
using testing::failure_of;

class several_worlds : public testing::on_places {};
INSTANTIATE_TEST_SUITE_P(world, several_worlds, ::testing::ValuesIn(testing::every_place()), testing::place_name);

/// Each rank of `w` sends one message to each other one; returns how many of those in `w` were handled.
std::uint64_t all_to_all(world& w) {
  std::uint64_t handled = 0;
  auto message = w.message<rank_t>(
      [&](rank_t dest) {
        EXPECT_EQ(dest, w.rank());
        ++handled;
      },
      coalesce{});
  return w.epoch(
      [&] {
        for (rank_t dest = 0; dest < w.size(); ++dest) message.send(dest, dest);
      },
      [&] { return handled; });
}

std::uint64_t square(rank_t n) { return static_cast<std::uint64_t>(n) * static_cast<std::uint64_t>(n); }

TEST_P(several_worlds, a_duplicate_has_the_same_ranks) {
  run([](world& w) {
    const auto other = w.duplicate();
    EXPECT_EQ(other->rank(), w.rank());
    EXPECT_EQ(other->size(), w.size());
    EXPECT_EQ(all_to_all(*other), square(w.size()));
    EXPECT_EQ(all_to_all(w), square(w.size()));
    EXPECT_EQ(other->sum(std::int64_t{w.rank()}), w.sum(std::int64_t{w.rank()}));
  });
}

TEST_P(several_worlds, are_made_whatever_depth_is_declared) {
  run([](world& w) {
    const auto depth = w.request_depth(0);
    const auto other = w.duplicate();
    EXPECT_EQ(all_to_all(*other), square(w.size()));
    EXPECT_EQ(w.epochs().depth(), 0);
  });
}

TEST_P(several_worlds, a_split_by_color) {
  run([](world& w) {
    const auto half = w.split({.color = w.rank() % 2});
    EXPECT_EQ(half->size(), (w.size() + 1 - w.rank() % 2) / 2);
    EXPECT_EQ(half->rank(), w.rank() / 2);
    EXPECT_EQ(half->min(std::int64_t{w.rank()}), w.rank() % 2);
    EXPECT_EQ(half->sum(std::int64_t{1}), half->size());
    EXPECT_EQ(all_to_all(*half), square(half->size()));
  });
}

TEST_P(several_worlds, a_key_gives_the_order) {
  run([](world& w) {
    const auto reversed = w.split({.color = 7, .key = -w.rank()});
    EXPECT_EQ(reversed->rank(), w.size() - 1 - w.rank());
    EXPECT_EQ(all_to_all(*reversed), square(w.size()));
    // Where keys are equal, the old order.
    const auto back = reversed->split({.key = reversed->rank() / 2});
    EXPECT_EQ(back->rank(), reversed->rank());
  });
}

TEST_P(several_worlds, some_ranks_are_members_of_none) {
  run([](world& w) {
    const auto rest = w.split({.color = w.rank() == 0 ? no_world : 0});
    EXPECT_EQ(rest == nullptr, w.rank() == 0);
    if (rest) {
      EXPECT_EQ(rest->size(), w.size() - 1);
      EXPECT_EQ(rest->rank(), w.rank() - 1);
      EXPECT_EQ(all_to_all(*rest), square(rest->size()));
    }
    EXPECT_EQ(w.split({.color = no_world}), nullptr);
  });
}

TEST_P(several_worlds, of_worlds) {
  run([](world& w) {
    auto half = w.split({.color = w.rank() / 2 % 2, .key = -w.rank()});
    const auto quarter = half->split({.color = half->rank() % 2});
    const auto same = quarter->duplicate();
    EXPECT_EQ(all_to_all(*quarter), square(quarter->size()));
    half.reset();  // those made of it live on
    EXPECT_EQ(all_to_all(*same), square(quarter->size()));
    EXPECT_EQ(all_to_all(w), square(w.size()));
  });
}

TEST_P(several_worlds, each_has_what_a_world_has) {
  run([](world& w) {
    const auto half = w.split({.color = w.rank() % 2});
    const auto before = half->counters().messages_sent;
    auto in_job = w.message<int>([](int) {});
    auto first = half->message<double>([](double) {});
    auto second = half->message<int>([](int) {});
    EXPECT_EQ(in_job.id(), first.id());
    w.epoch([&] { in_job.send(0, 1); });
    EXPECT_EQ(half->counters().messages_sent, before);
    half->epoch([&] { second.send(half->size() - 1, 1); });
    EXPECT_EQ(half->counters().messages_sent, before + 1);

    struct seen_by {
      rank_t rank = no_rank, size = no_rank;
    } seen;
    const auto shared_seen = half->share(seen);
    half->epoch([&] {
      half->async((half->rank() + 1) % half->size(),
                  [](world& its, seen_by& here) {
                    here = {its.rank(), its.size()};
                  },
                  shared_seen);
    });
    EXPECT_EQ(seen.rank, half->rank());
    EXPECT_EQ(seen.size, half->size());
  });
}

// Inner or outer, begun here or there: an epoch ends when its own messages have been handled.
TEST_P(several_worlds, epochs_overlap) {
  run([](world& w) {
    const auto other = w.duplicate();
    std::uint64_t inner = 0, outer = 0;
    const auto next = (w.rank() + 1) % w.size();
    auto to_inner = other->message<int>([&](int) { ++inner; }, coalesce{});
    auto to_outer = w.message<int>([&](int) { ++outer; }, coalesce{});
    for (std::uint64_t round = 1; round <= 3; ++round) {
      w.epoch([&] {
        to_outer.send(next, 1);
        other->epoch([&] {
          for (int i = 0; i < 100; ++i) to_inner.send(next, 1);
          to_outer.send(next, 1);
        });
        EXPECT_EQ(inner, 100 * round);
        to_outer.send(next, 1);
      });
      EXPECT_EQ(outer, 3 * round);
    }
  });
}

// Messages of one world's handlers in another world, whose epoch encloses theirs.
TEST_P(several_worlds, handlers_send_in_an_enclosing_epoch) {
  run([](world& w) {
    const auto other = w.duplicate();
    std::uint64_t questions = 0, answers = 0;
    auto answer = w.message<rank_t>([&](rank_t) { ++answers; }, coalesce{.count = 3});
    auto question = other->message<rank_t>([&](rank_t from) {
      ++questions;
      answer.send(from, w.rank());
    });
    const auto all = 20 * static_cast<std::uint64_t>(w.size());
    const auto answered = w.epoch(
        [&] {
          const auto asked = other->epoch(
              [&] {
                for (rank_t i = 0; i < 20 * w.size(); ++i) question.send(i % w.size(), w.rank());
              },
              [&] { return questions; });
          EXPECT_EQ(asked, all * static_cast<std::uint64_t>(w.size()));
          EXPECT_EQ(questions, all);
        },
        [&] { return answers; });
    EXPECT_EQ(answers, all);
    EXPECT_EQ(answered, all * static_cast<std::uint64_t>(w.size()));
  });
}

// What is collected, queued or kept in one world makes progress while its rank waits in another world.
TEST_P(several_worlds, waiting_in_one_is_progress_in_all) {
  run([](world& w) {
    const auto other = w.duplicate();
    const rank_t next = (w.rank() + 1) % w.size();
    constexpr std::uint64_t flood = 300;
    std::uint64_t collected = 0, queued = 0;
    auto few = other->message<int>([&](int) { ++collected; }, coalesce{});
    auto many = other->message<int>([&](int) { ++queued; });
    auto start = other->message<int>([&](int) {
      for (std::uint64_t i = 0; i < flood; ++i) many.send(next, 1);
    });
    other->epoch([&] {
      few.send(next, 1);
      if (w.rank() % 2 == 0) {
        while (collected == 0) w.poll();
      }
      w.barrier();
      start.send(w.rank(), 1);
      if (w.rank() % 2 == 0) {
        while (queued < flood) w.poll();
      }
      w.barrier();
    });
    EXPECT_EQ(collected, 1u);
    EXPECT_EQ(queued, flood);
  });
}

TEST_P(several_worlds, early_messages_of_one_are_handled_while_waiting_in_another) {
  run([](world& w) {
    const auto other = w.duplicate();
    bool asked = false, answered = false;
    auto answer = other->message<int>([&](int) { answered = true; });
    auto ask = other->message<rank_t>([&](rank_t from) {
      asked = true;
      answer.send(from, 1);
    });
    if (w.rank() == 0) {
      other->epoch([&] {
        ask.send(w.size() - 1, 0);
        while (!answered) w.poll();
        w.barrier();
      });
    } else {
      while (w.rank() == w.size() - 1 && testing::held_back(other->endpoint()) == 0) w.poll();
      other->epoch([&] { w.barrier(); });
    }
    EXPECT_EQ(asked, w.rank() == w.size() - 1);
  });
}

/// An epoch that does not end would send without end.
constexpr int sends_max = 2'000'000;

TEST_P(several_worlds, try_end_beside_sender) {
  run([](world& w) {
    const auto other = w.duplicate();
    std::uint64_t handled = 0;
    auto numbers = other->message<int>([&](int) { ++handled; }, coalesce{});
    std::uint64_t sent = 0;
    auto period = w.begin_epoch();
    other->epoch([&] {
      while (!period.try_end()) {
        numbers.send(testing::next_of(w), 1);
        if (++sent > sends_max) throw std::runtime_error("the epoch does not end");
      }
    });
    EXPECT_EQ(w.sum(handled), w.sum(sent));
  });
}

/// Messages of another world that send one another until the epoch of `w` has ended.
template <class... Policies>
void end_beside_messages(world& w, rank_t dest, int messages, Policies... policies) {
  const auto other = w.duplicate();
  bool has_ended = false;
  int hops = 0;
  auto hop = other->message<int>(
      [&](int, auto& self) {
        if (++hops > sends_max) throw std::runtime_error("the epoch does not end");
        if (!has_ended) self.send(dest, 1);
      },
      policies...);
  auto period = w.begin_epoch();
  other->epoch([&] {
    for (int i = 0; i < messages; ++i) hop.send(dest, 1);
    period.end();
    has_ended = true;
  });
  EXPECT_GT(hops, 0);
}

TEST_P(several_worlds, end_beside_busy_world) {
  constexpr int messages = 24;  // a rank is never idle, and credits are left for messages outside handlers
  run([](world& w) { end_beside_messages(w, testing::next_of(w), messages); });
}

TEST_P(several_worlds, end_beside_local_messages) {
  run([](world& w) { end_beside_messages(w, w.rank(), 1, deliver_locally{}); });
}

/// Nothing is collected. Counts who asks for it while `is_over` holds.
class asked_for_nothing final : public core::flushable {
 public:
  asked_for_nothing(core::endpoint& owner, const bool& is_over) : endpoint_(owner), is_over_(is_over) {
    endpoint_.add_flushable(*this);
  }
  ~asked_for_nothing() { endpoint_.remove_flushable(*this); }

  void close_packet(rank_t) override {}
  bool flush_all() override {
    times_ += is_over_ ? 1 : 0;
    return false;
  }
  int times() const { return times_; }

 private:
  core::endpoint& endpoint_;
  const bool& is_over_;
  int times_ = 0;
};

// Worlds without events are asked from time to time: not at the end of each wait.
TEST_P(several_worlds, ended_wait_sends_nothing_off) {
  run([](world& w) {
    const auto other = w.duplicate();
    bool is_over = false;
    auto ends = other->message<int>([&](int) { is_over = true; });
    int waits = 0, asked = 0;
    for (int i = 0; i < 20; ++i) {
      is_over = false;
      w.barrier();
      other->epoch([&] {
        ends.send(testing::next_of(w), 1);
        const asked_for_nothing collected(w.endpoint(), is_over);
        waits += is_over ? 0 : 1;
        w.endpoint().wait_until("a message of another world", [&] { return is_over; });
        asked += std::min(collected.times(), 1);
      });
    }
    EXPECT_TRUE(waits == 0 || asked < waits) << asked << " of " << waits;
  });
}

TEST_P(several_worlds, numbers_are_used_again) {
  // Processes that share few cores take their time for each.
  const int rounds = (GetParam().simulated ? 1000 : 60) / static_cast<int>(testing::sanitizer_divisor);
  run([rounds](world& w) {
    const auto kept = w.split({.color = w.rank() == 0 ? 0 : no_world});  // its number is in use on one rank only
    for (int i = 0; i < rounds; ++i) {
      const auto part = w.split({.color = (w.rank() + i) % 3});
      if (i % 50 == 0) {
        EXPECT_EQ(all_to_all(*part), square(part->size()));
      }
      EXPECT_LE(w.endpoint().own_engine().numbers_used()[0], 7u);
    }
    EXPECT_EQ(w.endpoint().own_engine().worlds(), w.rank() == 0 ? 2u : 1u);
  });
}

TEST(many_worlds, up_to_255_at_once) {
  testing::run_worlds(testing::simulated("sim", {}), 2, [](world& w) {
    std::vector<std::unique_ptr<world>> many;
    for (int i = 0; i < 255; ++i) many.push_back(w.split({.color = w.rank()}));
    const auto again = [&] { many.push_back(w.duplicate()); };
    EXPECT_EQ(failure_of(again), "amity: world::split (rank " + std::to_string(w.rank()) +
                                     "): all 255 numbers of worlds are in use on ranks of this world; destroy worlds "
                                     "that are no longer used");
    EXPECT_EQ(all_to_all(*many.back()), 1u);
    many.erase(many.begin() + 100);
    again();
    EXPECT_EQ(all_to_all(*many.back()), 4u);
  });
}

// --- Misuse ---

TEST(worlds_misuse, are_made_outside_epochs_and_handlers) {
  testing::run_worlds(testing::simulated("sim", {}), 2, [](world& w) {
    const std::string begin = "amity: world::split (rank " + std::to_string(w.rank()) + "): ";
    auto message = w.message<int>([&](int) {
      EXPECT_EQ(failure_of([&] { w.split({}); }), begin +
                                                      "a handler tried to make a world, which would wait inside the "
                                                      "handler; make worlds outside handlers");
    });
    w.epoch([&] {
      message.send(1 - w.rank(), 1);
      EXPECT_EQ(failure_of([&] { w.duplicate(); }),
                begin + "called inside an epoch; make worlds before the epoch begins");
    });
    EXPECT_NE(w.split({}), nullptr);
  });
}

// It could end before the message is handled: nobody knows of it.
TEST(worlds_misuse, handlers_do_not_send_where_the_epoch_may_end) {
  testing::run_worlds(testing::simulated("sim", {}), 3, [](world& w) {
    const auto other = w.duplicate();
    const std::string begin = "amity: message::send (rank " + std::to_string(w.rank()) + "): ";
    const std::string remedy = "; send it while this rank is in the body of an epoch of the message's own world";
    for (const bool collected : {false, true}) {
      std::uint64_t tried = 0;
      std::string expected = begin + "a handler of another world sent a message outside an epoch of this one" + remedy;
      const auto check = [&](auto& victim) {
        auto attack = w.message<int>([&](int) {
          EXPECT_EQ(failure_of([&] { victim.send(0, 1); }), expected);
          ++tried;
        });
        const auto next = (w.rank() + 1) % w.size();
        w.epoch([&] { attack.send(next, 1); });
        expected = begin + "a handler of another world sent a message in an epoch whose body has ended here" + remedy;
        w.epoch([&] {
          // The handler runs in the end of the inner epoch: nobody gets out of that before all have asked for it.
          other->epoch([&] { attack.send(next, 1); });
        });
        EXPECT_EQ(tried, 2u);
      };
      if (collected) {
        auto victim = other->message<int>([](int) {}, coalesce{});
        check(victim);
      } else {
        auto victim = other->message<int>([](int) {});
        check(victim);
      }
    }
  });
}

TEST(worlds_misuse, handlers_of_one_are_handlers_for_all) {
  testing::run_worlds(testing::simulated("sim", {}), 2, [](world& w) {
    const auto other = w.duplicate();
    auto message = w.message<int>([&](int) {
      testing::expect_error([&] { other->poll(); }, {"world::poll", "a handler tried to poll"});
      testing::expect_error([&] { other->barrier(); }, {"a handler called a barrier"});
      testing::expect_error([&] { other->epoch([] {}); }, {"a handler tried to begin an epoch"});
    });
    w.epoch([&] { message.send(1 - w.rank(), 1); });
  });
}

TEST(worlds_misuse, a_handler_that_throws_ends_the_job_wherever_its_rank_waits) {
  const std::string failure = failure_in_worlds(2, [](world& w) {
    const auto other = w.duplicate(), third = w.duplicate();
    auto message = other->message<int>([&](int) { throw std::runtime_error("no sevens"); });
    other->epoch([&] {
      if (w.rank() == 0) message.send(1, 7);
      third->barrier();
    });
  });
  EXPECT_EQ(failure, "no sevens");
}

TEST(worlds_misuse, a_message_in_a_world_that_its_target_has_destroyed) {
  const std::string failure = failure_in_worlds(2, [](world& w) {
    auto other = w.duplicate();
    const auto handler = other->endpoint().add_handler("late", [](core::request&) {});
    if (w.rank() == 1) other.reset();
    w.barrier();
    if (w.rank() == 0) other->endpoint().request_short(1, handler);
    w.barrier();
  });
  EXPECT_EQ(failure,
            "amity: message arrival (rank 1): rank 0 sent a message in world 1, which this rank has destroyed, or "
            "never made; destroy a world on all its ranks, after the last message that was sent in it has been "
            "handled");
}

TEST(worlds_misuse, a_world_destroyed_inside_its_epoch) {
  const std::string failure = failure_in_worlds(2, [](world& w) {
    auto other = w.duplicate();
    const_cast<epoch::epochs&>(other->epochs()).begin();
    other.reset();
    w.barrier();
  });
  EXPECT_EQ(failure, "amity: world (rank 0): a world was destroyed inside its epoch; end the epoch before its world");
}

TEST(worlds_misuse, a_world_destroyed_before_its_message_type) {
  const auto destroy = [] {
    failure_in_worlds(1, [](world& w) {
      auto other = w.duplicate();
      auto message = other->message<int>([](int) {});
      other.reset();
    });
  };
  EXPECT_DEATH(destroy(),
               "amity: world .rank 0.: a world was destroyed before its message type 'int'; destroy message types "
               "before the world that has made them");
}

TEST(worlds_misuse, a_wrong_rank_of_a_part) {
  const std::string failure = failure_in_worlds(3, [](world& w) {
    const auto part = w.split({.color = w.rank() / 2});
    auto message = part->message<int>([](int) {});
    part->epoch([&] { message.send(2, 1); });
  });
  EXPECT_EQ(failure, "amity: message::send (rank 0): destination 2 is not a rank of this world; use 0 to 1");
}

// A world that outlives the job's own no longer has memory.
TEST(segments_of_worlds, end_with_their_job) {
  for (const char* const fabric : {"threads", "sim"}) {
    std::vector<std::unique_ptr<world>> kept(2);
    const auto [status, errors] = testing::outcome_of(testing::shape(fabric, 2, 1), [&](world& w) {
      auto& mine = kept[static_cast<std::size_t>(w.rank())];
      mine = w.duplicate();
      core::endpoint& own = mine->endpoint();
      static_cast<void>(exchange(own, own.memory().allocate(64)));
      own.barrier();
    });
    testing::expect_parts(errors, {"amity: amity::run (rank ",
                                   "): the program has ended before the worlds that it has made; there are still 1; "
                                   "let every world end inside the program, at the latest with it\n"});
    EXPECT_EQ(status, 1);
  }
}

// What is still open when a job ends is closed with it: else each would leave its mappings behind.
TEST(segments_of_worlds, leave_no_mappings_behind) {
  const auto mappings = [] {
    std::ifstream maps("/proc/self/maps");
    int found = 0;
    for (std::string line; std::getline(maps, line);) found += line.find("memfd:amity") != std::string::npos;
    return found;
  };
  const int before = mappings();
  testing::run_job(testing::shape("threads", 2, 1), [&](world& w) {
    const auto part = w.duplicate();
    core::endpoint& own = part->endpoint();
    for (int i = 0; i < 20; ++i) EXPECT_EQ(exchange(own, own.memory().allocate(4096)).size(), 2u);
    EXPECT_GT(mappings(), before);
    w.barrier();
  });
  EXPECT_EQ(mappings(), before);
}

// Jobs of one process know nothing of one another.
TEST(several_jobs, at_once_in_one_process) {
  const auto rounds = 20 / static_cast<int>(testing::sanitizer_divisor) + 1;
  std::vector<std::thread> jobs;
  for (const char* const fabric : {"threads", "sim", "threads", "sim"}) {
    jobs.emplace_back([&, fabric, ranks = static_cast<int>(jobs.size()) % 4 + 1] {
      for (int round = 0; round < rounds; ++round) {
        testing::run_job(testing::shape(fabric, ranks, 1), [&](world& w) {
          EXPECT_EQ(w.size(), ranks);
          EXPECT_EQ(all_to_all(w), square(ranks));
          const auto part = w.split({.color = w.rank() % 2});
          EXPECT_EQ(all_to_all(*part), square(part->size()));
        });
      }
    });
  }
  for (std::thread& each : jobs) each.join();
}

}  // namespace
}  // namespace amity
