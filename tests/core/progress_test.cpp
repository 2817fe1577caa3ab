/// Who makes progress when: handlers are never interrupted, senders need not poll, and an outbox that is too deep makes
/// them wait.

#include <algorithm>
#include <vector>

#include "tests/fabric/payloads.hpp"
#include "tests/support/jobs.hpp"
#include "tests/support/trees.hpp"

namespace amity::core {
namespace {

using testing::configured;
using testing::simulate;

class progress : public testing::every_fabric {};
INSTANTIATE_TEST_SUITE_P(core, progress, testing::every_job(), testing::job_name);

TEST_P(progress, never_runs_a_handler_inside_a_handler) {
  run([](endpoint& own) {
    const testing::trees work{
        .ranks = own.size(), .seed = 3, .roots = 3, .depth = 5, .fanout = {3, 3, 3, 3, 3, 3, 3, 3}};
    const auto expected = work.walk();
    const auto me = static_cast<std::size_t>(own.rank());
    std::uint64_t handled = 0;
    std::uint64_t key_sum = 0;
    int depth = 0;
    handler_id visit = 0;
    // Short ones, packets and fragments, by the message's key.
    const auto send = [&](const testing::node& n) {
      const std::size_t bytes = n.key % 16 == 0 ? own.packet_bytes_max() + 100 : n.key % 4 == 0 ? 200 : 0;
      own.request_medium(work.home(n), visit, fabric::testing::make_payload(bytes, n.key), {n.key, n.level});
    };
    visit = own.add_handler("visit", [&](request& r) {
      EXPECT_EQ(++depth, 1);
      EXPECT_TRUE(own.in_handler());
      const testing::node n{.key = r.args()[0], .level = r.args()[1]};
      ++handled;
      key_sum += n.key;
      work.for_each_child(n, send);
      // What is being handled is still there, whatever has been sent meanwhile.
      EXPECT_EQ(r.args()[0], n.key);
      EXPECT_TRUE(fabric::testing::is_payload(r.payload(), n.key));
      --depth;
    });
    own.barrier();
    work.for_each_root(own.rank(), [&](const testing::node& n) {
      send(n);
      EXPECT_FALSE(own.in_handler());
    });
    own.wait_until("the trees", [&] { return handled == expected.handled[me]; });
    own.barrier();
    EXPECT_EQ(handled, expected.handled[me]);
    EXPECT_EQ(key_sum, expected.key_sums[me]);
  });
}

/// Holds one packet open, with one message in it.
class one_message_kept final : public flushable {
 public:
  one_message_kept(endpoint& owner, rank_t dest, handler_id handler)
      : endpoint_(owner), dest_(dest), handler_(handler) {
    while (!endpoint_.try_open(dest_, 1, "message", open_)) endpoint_.make_room(dest_);
    endpoint_.add_flushable(*this);
  }
  ~one_message_kept() { endpoint_.remove_flushable(*this); }

  void close_packet(rank_t dest) override {
    if (dest == dest_) flush_all();
  }
  bool flush_all() override {
    if (open_.data == nullptr) return false;
    endpoint_.close(dest_, handler_, open_, 0, 1);
    return true;
  }

 private:
  endpoint& endpoint_;
  rank_t dest_;
  handler_id handler_;
  outgoing open_;
};

TEST(busy_rank, sends_off_what_is_collected_on_a_rank_that_is_never_idle) {
  simulate(2, {}, [](endpoint& own) {
    bool stop = false;
    int rounds = 0;
    const handler_id stop_all = own.add_handler("stop", [&](request&) { stop = true; });
    const handler_id answer = own.add_handler("answer", [&](request& r) {
      stop = true;
      r.reply_short(stop_all);
    });
    handler_id again = 0;
    again = own.add_handler("again", [&](request&) {
      if (!stop && ++rounds < 100'000) own.request_short(0, again);
    });
    own.barrier();
    if (own.rank() == 0) {
      one_message_kept kept(own, 1, answer);
      for (int i = 0; i < 20; ++i) own.request_short(0, again);
      own.wait_until("the answer", [&] { return stop; });
      EXPECT_LT(rounds, 100'000);
    } else {
      own.wait_until("the message", [&] { return stop; });
    }
    own.barrier();
  });
}

/// Rank 1 sends 40 packets to rank 0; when all have arrived, rank 0 sends 8 packets to rank 1. Returns how many rank 0
/// has handled behind each of them. Its handler sends `replies` packets a message.
std::vector<int> handled_behind_each_packet(int replies) {
  std::vector<int> handled;
  simulate(2, {.credits = 64}, [&](endpoint& own) {
    constexpr int arrivals = 40;
    constexpr int sent = 8;
    int taken = 0;
    handler_id take = 0;
    take = own.add_handler("take", [&](request&) {
      ++taken;
      for (int i = 0; own.rank() == 0 && i < replies; ++i) own.request_short(1, take);
    });
    own.barrier();
    if (own.rank() == 0) {
      testing::idle_until(own.transport(), 1'000'000);
      for (int i = 0; i < sent; ++i) {
        outgoing packet;
        ASSERT_TRUE(own.try_open(1, 1, "take", packet));
        own.close(1, take, packet, 0, 1);
        own.own_engine().give_way(own);
        handled.push_back(taken);
      }
    } else {
      for (int i = 0; i < arrivals; ++i) own.request_short(0, take);
    }
    const int expected = own.rank() == 0 ? arrivals : sent + arrivals * replies;
    own.wait_until("what is due", [&] { return taken == expected; });
    own.barrier();
  });
  return handled;
}

TEST(senders, take_as_many_packets_as_they_send) {
  EXPECT_EQ(handled_behind_each_packet(0), (std::vector<int>{1, 2, 3, 4, 5, 6, 7, 8}));
  // What handlers send counts as well, from the next time on.
  EXPECT_EQ(handled_behind_each_packet(1), (std::vector<int>{1, 3, 6, 10, 15, 21, 28, 36}));
}

/// Rank 0's handler sends `queued` messages to rank 2, far more than it has credits; then its body sends 400 messages
/// to rank 1, which takes them all. Returns how many of these were on their way before rank 2, stopped until then, went
/// on.
int sent_before_rank_2_goes_on(const settings& config, int queued) {
  constexpr std::uint64_t resume_ns = 5'000'000;
  int early = 0;
  simulate(
      3, {.credits = 4, .stopped_ranks = {{.rank = 2, .from_ns = 50'000, .until_ns = resume_ns}}},
      [&](endpoint& own) {
        int taken = 0;
        const handler_id take = own.add_handler("take", [&](request&) { ++taken; });
        const handler_id burst = own.add_handler("burst", [&](request&) {
          for (int i = 0; i < queued; ++i) own.request_short(2, take);
          ++taken;
        });
        own.barrier();
        testing::idle_until(own.transport(), 60'000);
        if (own.rank() == 0) {
          own.request_short(0, burst);
          own.wait_until("the burst", [&] { return taken == 1; });
          for (int i = 0; i < 400; ++i) {
            own.request_short(1, take);
            if (own.transport().now_ns() < resume_ns) ++early;
          }
        }
        const int expected = own.rank() == 0 ? 1 : own.rank() == 1 ? 400 : queued;
        own.wait_until("what is due", [&] { return taken == expected; });
        own.barrier();
      },
      config);
  return early;
}

TEST(queued_messages, make_senders_wait_above_the_high_water_mark) {
  EXPECT_EQ(sent_before_rank_2_goes_on(configured({}), 100), 400);
  EXPECT_EQ(sent_before_rank_2_goes_on(configured({{"AMITY_CORE_SPILL_BYTES_HIGH_WATER", "64k"}}), 100), 400);
  // A sender looks every 16 messages.
  EXPECT_LT(sent_before_rank_2_goes_on(configured({{"AMITY_CORE_SPILL_BYTES_HIGH_WATER", "4k"}}), 100), 16);
  EXPECT_LT(sent_before_rank_2_goes_on(configured({{"AMITY_CORE_SPILL_BYTES_HIGH_WATER", "0"}}), 10), 16);
}

TEST(queued_messages, leave_while_the_body_only_sends) {
  int taken_by_2 = 0;
  simulate(3, {.credits = 4}, [&](endpoint& own) {
    int taken = 0;
    const handler_id take = own.add_handler("take", [&](request&) {
      ++taken;
      if (own.rank() == 2) ++taken_by_2;
    });
    const handler_id burst = own.add_handler("burst", [&](request&) {
      ++taken;
      for (int i = 0; i < 20; ++i) own.request_short(2, take);
    });
    own.barrier();
    if (own.rank() == 0) {
      own.request_short(0, burst);
      own.wait_until("the burst", [&] { return taken == 1; });
      // To itself, so that no credit is ever missing.
      for (int i = 0; i < 1000 && taken_by_2 < 20; ++i) {
        own.request_short(0, take);
        testing::idle_until(own.transport(), own.transport().now_ns() + 3000);
      }
      EXPECT_EQ(taken_by_2, 20);
    }
    own.wait_until("what is due", [&] { return own.rank() != 2 || taken == 20; });
    own.barrier();
  });
}

// Packets of services arrive in each round, and nothing of the world that waits: it is idle all the same.
TEST(waits, services_leave_world_idle) {
  testing::threads("threads").run(1, {}, [](fabric::fabric& whole) {
    endpoint own(whole, {});
    static_cast<void>(own.memory());
    bool was_asked = false;
    int rounds = 0;
    own.wait_until(
        "a test",
        [&] {
          own.own_engine().send(own.lane(), service::wake, {});
          return was_asked || ++rounds == 1000;
        },
        [&] {
          was_asked = true;
          return false;
        });
    EXPECT_TRUE(was_asked);
    EXPECT_LT(rounds, 100);
  });
}

/// Counts its rounds, and ends them after the first one.
class counted_client final : public progress_client {
 public:
  counted_client(engine& own, bool ends) : own_(own), ends_(ends) { own_.attach(*this); }
  ~counted_client() { own_.detach(*this); }

  bool on_progress() override {
    ++rounds_;
    if (ends_) own_.detach(*this);
    return false;
  }
  int rounds() const noexcept { return rounds_; }

 private:
  engine& own_;
  bool ends_;
  int rounds_ = 0;
};

// The rank would sleep after a round in which only the second client had something to do.
TEST(progress_clients, end_of_one_does_not_skip_next) {
  simulate(1, {}, [](endpoint& own) {
    counted_client first(own.own_engine(), true), second(own.own_engine(), false), third(own.own_engine(), true),
        fourth(own.own_engine(), false);
    static_cast<void>(own.progress());
    EXPECT_EQ(second.rounds(), 1);
    EXPECT_EQ(fourth.rounds(), 1);
    static_cast<void>(own.progress());
    EXPECT_EQ(first.rounds(), 1);
    EXPECT_EQ(second.rounds(), 2);
    EXPECT_EQ(third.rounds(), 1);
    EXPECT_EQ(fourth.rounds(), 2);
  });
}

}  // namespace
}  // namespace amity::core
