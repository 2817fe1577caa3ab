/// Coalescing with a limit of time: what is collected leaves in time, as far as its rank makes progress.

#include <cstdint>
#include <string>
#include <vector>

#include "amity/message/opening_order.hpp"
#include "tests/support/worlds.hpp"

namespace amity {
namespace {

using testing::idle_until;
using testing::run_worlds;
using testing::simulated;

TEST(opening_order, the_oldest_of_the_open_ones_comes_first) {
  detail::opening_order open;
  EXPECT_TRUE(open.empty());
  for (std::uint32_t packet = 0; packet < 4; ++packet)
    open.open(packet, static_cast<rank_t>(10 + packet), std::uint64_t{5} * packet);
  EXPECT_EQ(open.oldest_dest(), 10);
  open.close(1);
  open.close(0);
  EXPECT_EQ(open.oldest_dest(), 12);
  EXPECT_EQ(open.oldest_ns(), 10u);
  open.open(0, 7, 50);
  open.close(3);
  open.close(2);
  EXPECT_EQ(open.oldest_dest(), 7);
  open.close(0);
  EXPECT_TRUE(open.empty());
  open.open(3, 1, 60);
  EXPECT_EQ(open.oldest_ns(), 60u);
}

// On the simulation every moment can be foreseen. Progress alone is asked for: a poll would send off everything.
TEST(time_limit, a_message_leaves_once_it_has_waited_so_long_and_not_before) {
  run_worlds(simulated("sim", {}), 3, [](world& w) {
    auto limited = w.message<int>([](int) {}, coalesce{.microseconds = 50});
    auto text = w.message<std::string>([](const std::string&) {}, coalesce{.microseconds = 20});
    auto patient = w.message<int>([](int) {}, coalesce{});
    w.epoch([&] {
      if (w.rank() != 0) return;
      const std::uint64_t begin_ns = w.now_ns();
      const auto progress_at = [&](std::uint64_t ns) {
        idle_until(w.endpoint().transport(), begin_ns + ns);
        w.endpoint().progress();
      };
      patient.send(1, 1);
      limited.send(1, 1);
      progress_at(30'000);
      limited.send(1, 2);
      limited.send(2, 3);
      text.send(2, "four");
      progress_at(49'000);
      EXPECT_EQ(limited.counters().sent, 0u);
      progress_at(50'500);
      EXPECT_EQ(limited.counters().sent, 2u) << "both messages of the packet whose first one has waited long enough";
      EXPECT_EQ(text.counters().sent, 1u);
      limited.send(1, 5);
      progress_at(79'000);
      EXPECT_EQ(limited.counters().sent, 2u);
      progress_at(81'500);
      EXPECT_EQ(limited.counters().sent, 3u);
      progress_at(99'000);
      EXPECT_EQ(limited.counters().sent, 3u) << "the packet was opened anew";
      progress_at(102'500);
      EXPECT_EQ(limited.counters().sent, 4u);
      progress_at(1'000'000);
      EXPECT_EQ(patient.counters().sent, 0u);
    });
    EXPECT_EQ(w.sum(limited.counters().handled), 4u);
  });
}

TEST(time_limit, is_bounded_by_the_other_bounds_as_well) {
  run_worlds(simulated("sim", {}), 2, [](world& w) {
    auto limited = w.message<int>([](int) {}, coalesce{.count = 2, .microseconds = 2'000});
    auto endless = w.message<int>([](int) {}, coalesce{.microseconds = ~std::uint64_t{0}});
    w.epoch([&] {
      if (w.rank() != 0) return;
      for (int i = 0; i < 5; ++i) limited.send(1, i);
      endless.send(1, 1);
      idle_until(w.endpoint().transport(), w.now_ns() + 1'000'000);
      w.endpoint().progress();
      EXPECT_EQ(limited.counters().sent, 4u);
      EXPECT_EQ(endless.counters().sent, 0u);
    });
  });
}

class time_limits : public testing::on_jobs {};
INSTANTIATE_TEST_SUITE_P(message, time_limits, testing::every_job(), testing::job_name);

// The body never polls: it only sends messages of other types, alone or in packets, until the first one has left.
TEST_P(time_limits, are_kept_by_a_rank_that_only_sends) {
  run([](world& w) {
    std::uint64_t handled = 0;
    auto limited = w.message<int>([&](int) { ++handled; }, coalesce{.microseconds = 1});
    auto alone = w.message<int>([](int) {});
    auto few = w.message<int>([](int) {}, coalesce{.count = 4});
    const rank_t next = (w.rank() + 1) % w.size();
    w.epoch([&] {
      limited.send(next, 1);
      while (limited.counters().sent == 0) alone.send(next, 1);
      limited.send(next, 2);
      while (limited.counters().sent == 1) few.send(next, 1);
    });
    EXPECT_EQ(handled, 2u);
  });
}

}  // namespace
}  // namespace amity
