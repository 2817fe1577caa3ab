/// Epochs on every fabric, with each detector: empty ones, trees of messages, hundreds in a row, ranks that are ahead,
/// and what a user may get wrong.

#include "amity/epoch/epoch.hpp"

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "amity/epoch/detector.hpp"
#include "tests/support/jobs.hpp"
#include "tests/support/texts.hpp"
#include "tests/support/trees.hpp"

namespace amity::epoch {
namespace {

using amity::testing::expect_error;
using amity::testing::expect_parts;
using amity::testing::failure_in_simulation;
using amity::testing::held_back;
using amity::testing::simulate;
using core::endpoint;
using core::handler_id;
using core::request;

/// The choices of the setting, from the table.
std::vector<std::string> detector_names() {
  std::vector<std::string> names;
  for (std::string_view left = find_setting("AMITY_EPOCH_DETECTOR")->choices; !left.empty();) {
    const std::size_t end = std::min(left.find('|'), left.size());
    names.emplace_back(left.substr(0, end));
    left.remove_prefix(std::min(end + 1, left.size()));
  }
  return names;
}

using epochs_body = std::function<void(endpoint&, epochs&)>;

class every_epoch : public amity::testing::every_fabric {
 protected:
  /// Runs `body` once with each detector.
  void run_epochs(const epochs_body& body) const {
    for (const std::string& name : detector_names()) {
      SCOPED_TRACE(name);
      run([&](endpoint& own) {
        epochs periods(own, make_detector(name, own));
        body(own, periods);
        own.barrier();
      });
    }
  }
};
INSTANTIATE_TEST_SUITE_P(epoch, every_epoch, amity::testing::every_job(), amity::testing::job_name);

std::uint64_t size_of(const endpoint& own) { return static_cast<std::uint64_t>(own.size()); }
rank_t next_of(const endpoint& own) { return (own.rank() + 1) % own.size(); }

/// A handler of messages that say which epoch they belong to.
handler_id add_counter(endpoint& own, const epochs& periods, std::uint64_t& handled) {
  return own.add_handler("take", [&](request& r) {
    EXPECT_EQ(r.args()[0], periods.count());
    ++handled;
  });
}

TEST_P(every_epoch, may_be_empty) {
  run_epochs([](endpoint& own, epochs& periods) {
    for (std::uint64_t count = 1; count <= 20; ++count) {
      periods.begin();
      EXPECT_TRUE(periods.inside());
      EXPECT_EQ(periods.count(), count);
      EXPECT_EQ(periods.end([&] { return count; }), count * size_of(own));
      EXPECT_FALSE(periods.inside());
    }
  });
}

TEST_P(every_epoch, ends_after_all_messages_that_messages_caused) {
  run_epochs([](endpoint& own, epochs& periods) {
    const amity::testing::trees work{
        .ranks = own.size(), .seed = 11, .roots = 2, .depth = 6, .fanout = {0, 1, 1, 2, 2, 2, 3, 3}};
    const auto expected = work.walk();
    const auto me = static_cast<std::size_t>(own.rank());
    std::uint64_t handled = 0;
    std::uint64_t key_sum = 0;
    handler_id visit = 0;
    const auto send = [&](const amity::testing::node& n) { own.request_short(work.home(n), visit, {n.key, n.level}); };
    visit = own.add_handler("visit", [&](request& r) {
      const amity::testing::node n{.key = r.args()[0], .level = r.args()[1]};
      ++handled;
      key_sum += n.key;
      work.for_each_child(n, send);
    });
    periods.begin();
    work.for_each_root(own.rank(), send);
    // The value is that of the end, although it is asked for earlier, too.
    EXPECT_EQ(periods.end([&] { return key_sum; }), expected.key_sum());
    EXPECT_EQ(handled, expected.handled[me]);
    EXPECT_EQ(key_sum, expected.key_sums[me]);
    EXPECT_EQ(own.counts().epochs().handled, handled);
    EXPECT_TRUE(own.quiet());
  });
}

// Tags go round after 255, colors after 256.
TEST_P(every_epoch, keeps_its_messages_to_itself_when_hundreds_follow_one_another) {
  run_epochs([](endpoint& own, epochs& periods) {
    std::uint64_t handled = 0;
    const handler_id take = add_counter(own, periods, handled);
    constexpr std::uint64_t rounds = 600;
    for (std::uint64_t round = 1; round <= rounds; ++round) {
      periods.begin();
      own.request_short(next_of(own), take, {periods.count()});
      ASSERT_EQ(periods.end([&] { return handled; }), round * size_of(own));
    }
    EXPECT_GT(periods.how().waves(), rounds);
  });
}

TEST_P(every_epoch, may_be_begun_before_others_have) {
  run_epochs([](endpoint& own, epochs& periods) {
    std::uint64_t handled = 0;
    const handler_id take = add_counter(own, periods, handled);
    for (rank_t first = 0; first < own.size(); ++first) {
      if (own.rank() != first) {
        own.wait_until("an early message", [&] { return held_back(own) > 0; });
        EXPECT_EQ(handled, static_cast<std::uint64_t>(first));
      }
      periods.begin();
      if (own.rank() == first) {
        for (rank_t dest = 0; dest < own.size(); ++dest) own.request_short(dest, take, {periods.count()});
      }
      EXPECT_EQ(periods.end([&] { return handled; }), size_of(own) * static_cast<std::uint64_t>(first + 1));
    }
  });
}

TEST_P(every_epoch, allows_collectives_in_its_body) {
  run_epochs([](endpoint& own, epochs& periods) {
    std::uint64_t handled = 0;
    const handler_id take = own.add_handler("take", [&](request&) { ++handled; });
    for (std::uint64_t round = 1; round <= 5; ++round) {
      periods.begin();
      own.request_short(next_of(own), take);
      EXPECT_EQ(own.reduce(core::reduction::sum_u64, 2), 2 * size_of(own));
      own.request_short(next_of(own), take);
      own.barrier();
      EXPECT_EQ(periods.end([&] { return handled; }), 2 * round * size_of(own));
    }
  });
}

// Ranks that are late in turn: nobody leaves an epoch that somebody has not entered.
TEST(epochs, end_after_all_ranks_have_entered_them) {
  for (const std::string& name : detector_names()) {
    simulate(9, {.delay_ns_max = 3000}, [&](endpoint& own) {
      epochs periods(own, make_detector(name, own));
      for (int round = 0; round < 20; ++round) {
        if (round % own.size() == own.rank()) {
          amity::testing::idle_until(own.transport(), own.transport().now_ns() + 50'000);
        }
        const std::uint64_t entered_ns = own.transport().now_ns();
        periods.begin();
        periods.end([] { return 0; });
        const std::uint64_t left_ns = own.transport().now_ns();
        EXPECT_GE(left_ns, own.reduce(core::reduction::max_u64, entered_ns));
      }
    });
  }
}

TEST(epochs, wait_for_queued_messages) {
  for (const std::string& name : detector_names()) {
    simulate(3, {.credits = 1}, [&](endpoint& own) {
      epochs periods(own, make_detector(name, own));
      std::uint64_t taken = 0;
      const handler_id take = own.add_handler("take", [&](request&) { ++taken; });
      const handler_id burst = own.add_handler("burst", [&](request&) {
        for (int i = 0; i < 100; ++i) own.request_short(2, take);
      });
      periods.begin();
      if (own.rank() == 0) own.request_short(1, burst);
      EXPECT_EQ(periods.end([&] { return taken; }), 100u);
      EXPECT_EQ(own.own_engine().bound().bytes_peak() > 0, own.rank() == 1);
      own.barrier();
    });
  }
}

// Rank 0, which decides, learns of the late summand from the wave alone.
TEST(epochs, late_summand_of_any_rank_counts) {
  for (const std::string& name : detector_names()) {
    simulate(5, {}, [&](endpoint& own) {
      epochs periods(own, make_detector(name, own));
      std::uint64_t handled = 0;
      const handler_id take = add_counter(own, periods, handled);
      for (rank_t late = 0; late < own.size(); ++late) {
        const std::uint64_t expected = handled + 1;
        periods.begin();
        own.request_short(next_of(own), take, {periods.count()});
        const auto when = own.rank() == late ? summand::late : summand::passive;
        EXPECT_EQ(periods.end([&] { return handled; }, when), size_of(own) * expected) << name << ", rank " << late;
      }
      own.barrier();
    });
  }
}

// The end of an epoch is an agreement to stop: a rank that has left it owes nothing to the others, even if messages of
// no epoch held both credits that the verdict could take.
TEST(epochs, end_so_that_every_rank_may_leave_the_job) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    simulate(2, {.seed = seed, .delay_ns_max = 20'000, .credits = 1}, [](endpoint& own) {
      epochs periods(own, make_detector("colored", own));
      const handler_id take = own.add_handler("take", [](request&) {});
      for (int i = 0; i < 2; ++i) own.request_short(next_of(own), take);
      periods.begin();
      periods.end([] { return 0; });
    });
  }
}

TEST(epochs, rethrow_what_a_handler_threw) {
  const std::string failure = failure_in_simulation(4, {}, [](endpoint& own) {
    epochs periods(own, make_detector("colored", own));
    const handler_id fail =
        own.add_handler("fail", [](request&) { throw std::runtime_error("a handler's own problem"); });
    periods.begin();
    if (own.rank() == 0) own.request_short(3, fail);
    periods.end([] { return 0; });
    ADD_FAILURE() << "the epoch has ended, and its message was not handled";
  });
  EXPECT_EQ(failure, "a handler's own problem");
}

TEST(epoch_misuse, begin_twice) {
  simulate(2, {}, [](endpoint& own) {
    epochs periods(own, make_detector("colored", own));
    periods.begin();
    periods.end([] { return 0; });
    periods.begin();
    const std::string call = "epoch (rank " + std::to_string(own.rank()) + "): epoch 2 has not ended yet";
    expect_error([&] { periods.begin(); }, {call, "epochs do not nest"});
    EXPECT_EQ(periods.count(), 2u);
    EXPECT_EQ(periods.end([] { return 1; }), 2u);
  });
}

TEST(epoch_misuse, end_without_begin) {
  simulate(1, {}, [](endpoint& own) {
    epochs periods(own, make_detector("colored", own));
    const auto end = [&] { periods.end([] { return 0; }); };
    expect_error(end, {"epoch (rank 0)", "there is no epoch to end", "begin an epoch first"});
    periods.begin();
    end();
    expect_error(end, {"there is no epoch to end"});
  });
}

TEST(epoch_misuse, begin_and_end_in_a_handler) {
  simulate(2, {}, [](endpoint& own) {
    epochs periods(own, make_detector("colored", own));
    int ran = 0;
    const handler_id take = own.add_handler("take", [&](request&) {
      ++ran;
      expect_error([&] { periods.begin(); }, {"epoch (rank ", "a handler tried to begin an epoch", "outside handlers"});
      expect_error([&] { periods.end([] { return 0; }); },
                   {"epoch (rank ", "a handler tried to end the epoch", "outside handlers"});
    });
    own.barrier();
    own.request_short(next_of(own), take);  // in no epoch
    own.wait_until("a message outside epochs", [&] { return ran == 1; });
    periods.begin();
    own.request_short(next_of(own), take);
    EXPECT_EQ(periods.end([&] { return static_cast<std::uint64_t>(ran); }), 4u);
    EXPECT_EQ(periods.count(), 1u);
  });
}

TEST(epoch_misuse, handlers_that_differ_between_ranks) {
  for (const std::string& name : detector_names()) {
    for (rank_t odd = 0; odd < 4; ++odd) {
      const std::string text = failure_in_simulation(4, {}, [&](endpoint& own) {
        epochs periods(own, make_detector(name, own));
        own.add_handler("visit", [](request&) {});
        own.add_handler(own.rank() == odd ? "relax" : "settle", [](request&) {});
        periods.begin();
        periods.end([] { return 0; });
        ADD_FAILURE() << "the epoch has ended on rank " << own.rank();
      });
      expect_parts(text, {"message types (rank ", "number 1 is '", "'relax' on rank ", "'settle' on rank ",
                          "in the same order on all ranks"});
    }
  }
}

TEST(detectors, are_made_by_the_names_of_the_setting) {
  EXPECT_EQ(detector_names(), (std::vector<std::string>{"colored", "four_counter"}));
  simulate(1, {}, [](endpoint& own) {
    for (const std::string& name : detector_names()) EXPECT_NE(make_detector(name, own), nullptr);
    expect_error([&] { make_detector("guess", own); },
                 {"settings (rank 0)", "AMITY_EPOCH_DETECTOR=guess is not a detector", "use colored or four_counter"});
  });
}

/// Waves of 10 epochs, each with one message a rank.
std::uint32_t waves_with(std::string_view name) {
  std::uint32_t waves = 0;
  simulate(4, {}, [&](endpoint& own) {
    epochs periods(own, make_detector(name, own));
    const handler_id take = own.add_handler("take", [](request&) {});
    for (int round = 0; round < 10; ++round) {
      periods.begin();
      own.request_short(next_of(own), take);
      periods.end([] { return 0; });
    }
    waves = periods.how().waves();
  });
  return waves;
}

TEST(detectors, need_fewer_waves_with_colors) { EXPECT_LT(waves_with("colored"), waves_with("four_counter")); }

}  // namespace
}  // namespace amity::epoch
