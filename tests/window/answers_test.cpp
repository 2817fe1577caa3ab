/// Operations whose answers find no credit: the target keeps their records, and carries each out once.

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "amity/core/service.hpp"
#include "amity/window/window.hpp"
#include "tests/core/poorer.hpp"
#include "tests/support/worlds.hpp"
#include "tests/window/paths.hpp"

namespace amity {
namespace {

using testing::idle_until;
using enum accumulate_op;

using word_window = window<std::uint64_t>;

/// Sends packets that are taken without effect until there is no credit left; returns their number.
int use_up_credits(fabric::fabric& transport, rank_t peer) {
  const std::uint64_t header = core::service_header(core::service::wake).word();
  int sent = 0;
  while (transport.try_send(peer, header, {}, fabric::claim::answer) == status::ok) ++sent;
  return sent;
}

/// An operation of rank 0 on words of rank 1, which are 100 to 107.
struct asking_operation {
  const char* name;
  std::function<void(word_window&, std::vector<std::uint64_t>& got)> begin;
  std::vector<std::uint64_t> expected_got;
  std::vector<std::uint64_t> expected_words;  ///< the first ones of rank 1 afterwards
};

std::vector<asking_operation> asking_operations() {
  const auto every_other = std::make_shared<const layout>(layout::strided(2, 8, 16));
  static const std::vector<std::uint64_t> operands{10, 20};
  return {
      {"get", [](word_window& words, auto& got) { words.get(1, 0, got); }, {100, 101}, {100, 101, 102}},
      {"get_of_blocks",
       [=](word_window& words, auto& got) { words.get(1, 0, every_other, got); },
       {100, 102},
       {100, 101, 102}},
      {"fetch_and_op",
       [](word_window& words, auto& got) { words.fetch_and_op(sum, 1, 0, 5, got[0]); },
       {100, 0},
       {105, 101, 102}},
      {"get_accumulate",
       [](word_window& words, auto& got) { words.get_accumulate(sum, 1, 0, operands, got); },
       {100, 101},
       {110, 121, 102}},
      {"get_accumulate_of_blocks",
       [=](word_window& words, auto& got) { words.get_accumulate(sum, 1, 0, every_other, operands, got); },
       {100, 102},
       {110, 101, 122}},
      {"compare_and_swap",
       [](word_window& words, auto& got) { words.compare_and_swap(1, 0, 100, 7, got[0]); },
       {100, 0},
       {7, 101, 102}},
  };
}

struct limited_answers : ::testing::TestWithParam<std::uint32_t> {};
INSTANTIATE_TEST_SUITE_P(window, limited_answers, ::testing::Values(1u, 4u),
                         [](const auto& of) { return "credits_" + std::to_string(of.param); });

// Each rank makes progress at its own moments: rank 1 finds the operation while it has no credit, and again later.
TEST_P(limited_answers, operation_without_credit_for_answer_waits) {
  constexpr std::uint64_t step_ns = 1'000'000;
  for (const asking_operation& tested : asking_operations()) {
    SCOPED_TRACE(tested.name);
    fabric::sim::run(2, {.credits = GetParam()}, [&](fabric::fabric& whole) {
      fabric::testing::poorer transport(whole, false);
      world w(transport, testing::configured({{"AMITY_WINDOW_PROTOCOL", "buffered"}}));
      auto words = w.allocate_window<std::uint64_t>(8);
      std::iota(words.local().begin(), words.local().end(), 100);
      words.fence(window_assert::no_precede);
      words.put(1 - w.rank(), 6, 106);  // the first operation asks where the memory is
      words.fence(window_assert::no_succeed);
      w.barrier();
      std::uint64_t now_ns = w.now_ns();
      const auto next_step = [&] { idle_until(transport, now_ns += step_ns); };
      const auto poll_often = [&] {
        for (int i = 0; i < 10; ++i) w.poll();
      };
      const auto first_words = [&] { return std::vector(words.local().begin(), words.local().begin() + 3); };
      if (w.rank() == 0) {
        next_step();
        std::vector<std::uint64_t> got(2);
        words.lock_all(window_assert::no_check);
        tested.begin(words, got);
        words.put(1, 7, 1);
        poll_often();  // sends both
        next_step();
        next_step();
        poll_often();  // takes what rank 1 has sent
        const int left = use_up_credits(transport, 1);
        next_step();
        next_step();
        words.unlock_all();
        EXPECT_EQ(got, tested.expected_got);
        EXPECT_LT(left, use_up_credits(transport, 1)) << "the record has been kept without its credit";
      } else {
        next_step();
        next_step();
        EXPECT_GT(use_up_credits(transport, 0), 0);
        poll_often();
        EXPECT_EQ(first_words(), (std::vector<std::uint64_t>{100, 101, 102})) << "carried out without its answer";
        EXPECT_EQ(words.local()[7], 107u) << "the put has overtaken the operation";
        next_step();
        next_step();
        poll_often();  // there are credits again
        EXPECT_EQ(first_words(), tested.expected_words);
        EXPECT_EQ(words.local()[7], 1u);
      }
      w.barrier();
      return 0;
    });
  }
}

// The answers of each origin find few credits, which the target's own operations on that origin use, too.
TEST_P(limited_answers, operations_in_both_directions_are_exact) {
  constexpr std::size_t times = 60, many = 300;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const fabric::sim::sim_options rough{
        .seed = seed, .delay_ns_max = 5000, .reorder_percent = 40, .credits = GetParam(), .packet_bytes = 528};
    testing::run_worlds(testing::records_only("records", rough), 3, [](world& w) {
      const auto ranks = static_cast<std::size_t>(w.size());
      auto counters = w.allocate_window<std::uint64_t>(2);
      auto data = w.allocate_window<std::uint64_t>(many);
      std::iota(data.local().begin(), data.local().end(), 1000u * static_cast<std::uint64_t>(w.rank()));
      counters.fence(window_assert::no_succeed);
      std::vector<std::uint64_t> tickets(times * ranks);
      std::vector<std::vector<std::uint64_t>> got(times * ranks, std::vector<std::uint64_t>(many));
      counters.lock_all();
      data.lock_all();
      for (std::size_t i = 0; i < tickets.size(); ++i) {
        const auto target = static_cast<rank_t>(i % ranks);
        counters.fetch_and_op(sum, target, 0, 1, tickets[i]);
        data.get(target, 0, got[i]);
      }
      counters.unlock_all();
      data.unlock_all();
      // Each ticket has been given once: their sums are known.
      for (std::size_t i = 0; i < tickets.size(); ++i) {
        const auto target = static_cast<rank_t>(i % ranks);
        counters.lock(lock_kind::shared, target);
        counters.accumulate(sum, target, 1, tickets[i]);
        counters.unlock(target);
        EXPECT_EQ(got[i].front(), 1000u * static_cast<std::uint64_t>(target));
        EXPECT_EQ(got[i].back(), 1000u * static_cast<std::uint64_t>(target) + many - 1);
      }
      w.barrier();
      const std::uint64_t all = times * ranks;
      EXPECT_EQ(counters.local()[0], all);
      EXPECT_EQ(counters.local()[1], all * (all - 1) / 2);
      w.barrier();
    });
  }
}

}  // namespace
}  // namespace amity
