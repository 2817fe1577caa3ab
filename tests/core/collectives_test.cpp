/// Barrier and reductions: every operation on every fabric, many in a row, delayed ranks, ranks that disagree, and
/// packets that no rank sends.

#include "amity/core/collectives.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "amity/base/error.hpp"
#include "amity/core/memory.hpp"
#include "tests/support/jobs.hpp"
#include "tests/support/texts.hpp"

namespace amity::core {
namespace {

using testing::failure_in_simulation;
using testing::simulate;

constexpr reduction operations[] = {reduction::sum_u64, reduction::min_u64, reduction::max_u64,
                                    reduction::sum_i64, reduction::min_i64, reduction::max_i64,
                                    reduction::sum_f64, reduction::min_f64, reduction::max_f64};

template <class T>
std::uint64_t word(T value) {
  return std::bit_cast<std::uint64_t>(value);
}

/// What a rank gives: around 0, so that taking one type for another shows.
std::uint64_t value_of(reduction operation, rank_t rank, int round) {
  const int value = (rank * 7 + round * 5) % 13 - 6;
  switch (operation) {
    case reduction::sum_f64:
    case reduction::min_f64:
    case reduction::max_f64:
      return word(value * 0.25);
    default:
      return word(std::int64_t{value});
  }
}

std::uint64_t expected_of(reduction operation, rank_t ranks, int round) {
  const auto fold = [&]<class T>(T, auto step) {
    T result = std::bit_cast<T>(value_of(operation, 0, round));
    for (rank_t rank = 1; rank < ranks; ++rank) {
      result = step(result, std::bit_cast<T>(value_of(operation, rank, round)));
    }
    return word(result);
  };
  const auto plus = [](auto a, auto b) { return a + b; };
  const auto min = [](auto a, auto b) { return a < b ? a : b; };
  const auto max = [](auto a, auto b) { return a > b ? a : b; };
  switch (operation) {
    case reduction::none:
    case reduction::exchange:
    case reduction::ending:
    case reduction::scatter_sum_u64:
      return 0;
    case reduction::sum_u64:
      return fold(std::uint64_t{}, plus);
    case reduction::min_u64:
      return fold(std::uint64_t{}, min);
    case reduction::max_u64:
      return fold(std::uint64_t{}, max);
    case reduction::sum_i64:
      return fold(std::int64_t{}, plus);
    case reduction::min_i64:
      return fold(std::int64_t{}, min);
    case reduction::max_i64:
      return fold(std::int64_t{}, max);
    case reduction::sum_f64:
      return fold(double{}, plus);
    case reduction::min_f64:
      return fold(double{}, min);
    case reduction::max_f64:
      return fold(double{}, max);
  }
  return 0;
}

void reduce_everything(endpoint& own, int rounds) {
  for (int round = 0; round < rounds; ++round) {
    for (const reduction operation : operations) {
      EXPECT_EQ(own.reduce(operation, value_of(operation, own.rank(), round)),
                expected_of(operation, own.size(), round))
          << "operation " << static_cast<int>(operation) << ", round " << round;
    }
    own.barrier();
  }
}

class collective_calls : public testing::every_fabric {};
INSTANTIATE_TEST_SUITE_P(core, collective_calls, testing::every_job(), testing::job_name);

TEST_P(collective_calls, give_the_result_to_every_rank) {
  run([](endpoint& own) { reduce_everything(own, 10); });
}

TEST(collectives, work_with_any_number_of_ranks_and_delayed_ones) {
  for (rank_t ranks = 1; ranks <= 9; ++ranks) {
    simulate(ranks,
             {.seed = static_cast<std::uint64_t>(ranks),
              .delay_ns_max = 5000,
              .reorder_percent = 30,
              .credits = 1,
              .slow_ranks = {{.rank = ranks / 2, .factor = 30}},
              .stopped_ranks = {{.rank = ranks - 1, .from_ns = 10'000, .until_ns = 200'000}}},
             [](endpoint& own) { reduce_everything(own, 15); });
  }
}

TEST(collectives, nobody_leaves_a_barrier_before_all_have_entered) {
  simulate(9, {.delay_ns_max = 3000}, [](endpoint& own) {
    for (int round = 0; round < 20; ++round) {
      // Another rank is late each time.
      if (round % own.size() == own.rank()) {
        testing::idle_until(own.transport(), own.transport().now_ns() + 50'000);
      }
      const std::uint64_t entered_ns = own.transport().now_ns();
      own.barrier();
      const std::uint64_t left_ns = own.transport().now_ns();
      EXPECT_GE(left_ns, own.reduce(reduction::max_u64, entered_ns));
    }
  });
}

// Large summands of both signs cancel: in each order of the additions, other small ones are lost.
TEST(collectives, sum_of_doubles_is_reproducible) {
  const double summands[] = {1e16, 0.7, -1e16, 2.1, 1e16, 3.5, -1e16, 4.9};
  std::vector<std::uint64_t> sums;
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    simulate(8, {.seed = seed, .delay_ns_max = 9000, .reorder_percent = 50}, [&](endpoint& own) {
      sums.push_back(own.reduce(reduction::sum_f64, word(summands[own.rank()])));
      own.barrier();
    });
  }
  EXPECT_EQ(sums, std::vector<std::uint64_t>(sums.size(), sums.front()));
}

TEST(collectives, minima_and_maxima_of_doubles_do_not_depend_on_who_gave_what) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  constexpr double infinity = std::numeric_limits<double>::infinity();
  for (rank_t odd = 0; odd < 4; ++odd) {
    simulate(4, {}, [&](endpoint& own) {
      const auto reduced = [&](reduction operation, double usual, double other) {
        return std::bit_cast<double>(own.reduce(operation, word(own.rank() == odd ? other : usual)));
      };
      EXPECT_TRUE(std::isnan(reduced(reduction::min_f64, 1.0, nan)));
      EXPECT_TRUE(std::isnan(reduced(reduction::max_f64, 1.0, nan)));
      EXPECT_TRUE(std::isnan(reduced(reduction::sum_f64, 1.0, nan)));
      EXPECT_TRUE(std::signbit(reduced(reduction::min_f64, 0.0, -0.0)));
      EXPECT_FALSE(std::signbit(reduced(reduction::max_f64, -0.0, 0.0)));
      EXPECT_EQ(reduced(reduction::min_f64, 1.0, -infinity), -infinity);
      EXPECT_EQ(reduced(reduction::max_f64, 1.0, infinity), infinity);
      EXPECT_EQ(reduced(reduction::max_f64, 1.0, -infinity), 1.0);
    });
  }
}

TEST(collectives, integers_wrap_and_keep_their_sign) {
  simulate(3, {}, [](endpoint& own) {
    constexpr auto least = std::numeric_limits<std::int64_t>::min();
    const std::uint64_t own_word = own.rank() == 1 ? word(least) : std::uint64_t{5};
    EXPECT_EQ(own.reduce(reduction::min_i64, own_word), word(least));
    EXPECT_EQ(own.reduce(reduction::max_i64, own_word), 5u);
    EXPECT_EQ(own.reduce(reduction::min_u64, own_word), 5u);
    EXPECT_EQ(own.reduce(reduction::max_u64, own_word), word(least));
    EXPECT_EQ(own.reduce(reduction::sum_u64, ~std::uint64_t{0}), ~std::uint64_t{0} - 2);
  });
}

/// A job ends with an error that names rank `odd`, which calls a barrier, and the collective that the others call
/// instead. Rank `late` comes last.
void expect_told(rank_t ranks, rank_t odd, rank_t late, std::string_view name,
                 const std::function<void(endpoint&)>& collective) {
  const std::string text = failure_in_simulation(ranks, {}, [&](endpoint& own) {
    collective(own);
    if (own.rank() == late) testing::idle_until(own.transport(), 100'000);
    if (own.rank() == odd) own.barrier();
    if (own.rank() != odd) collective(own);
    own.wait_until("the end of the job", [] { return false; });
  });
  const std::string rank = "rank " + std::to_string(odd);
  EXPECT_TRUE(text.find(rank + " is in a barrier") != std::string::npos ||
              text.find(rank + " in a barrier") != std::string::npos)
      << text;
  testing::expect_parts(text, {name, "same collectives in the same order"});
}

// Whichever rank is in another collective, and whoever sees it first: the error names two ranks and what they are in.
TEST(collectives, ranks_in_different_ones_are_told_so) {
  for (const rank_t ranks : {2, 3, 4, 8}) {
    for (rank_t odd = 0; odd < ranks; ++odd) {
      for (rank_t late = 0; late < ranks; ++late) {
        expect_told(ranks, odd, late, "in a max of int64", [](endpoint& own) { own.reduce(reduction::max_i64, 0); });
      }
      for (const rank_t late : {odd, (odd + 1) % ranks}) {
        expect_told(ranks, odd, late, "in an exchange of segments",
                    [](endpoint& own) { exchange(own, own.memory().allocate(8)); });
      }
    }
  }
}

// A barrier is an agreement to stop: a rank that has left it owes nothing to the others, even if messages held both
// credits that the result could take.
TEST(collectives, end_so_that_every_rank_may_leave_the_job) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    simulate(2, {.seed = seed, .delay_ns_max = 20'000, .credits = 1}, [](endpoint& own) {
      const handler_id take = own.add_handler("take", [](request&) {});
      for (int i = 0; i < 2; ++i) own.request_short(1 - own.rank(), take);
      own.barrier();
    });
  }
}

TEST(collectives, handle_messages_meanwhile) {
  simulate(4, {.stopped_ranks = {{.rank = 3, .from_ns = 20'000, .until_ns = 900'000}}}, [](endpoint& own) {
    std::uint64_t replied_ns = 0;
    const handler_id back = own.add_handler("back", [&](request&) { replied_ns = own.transport().now_ns(); });
    const handler_id ask = own.add_handler("ask", [&](request& r) { r.reply_short(back, {}); });
    own.barrier();
    if (own.rank() == 1) own.request_short(2, ask);
    testing::idle_until(own.transport(), own.rank() == 3 ? 30'000 : 0);
    own.barrier();
    if (own.rank() == 1) {
      EXPECT_GT(replied_ns, 0u);
      EXPECT_LT(replied_ns, 900'000u);
    }
    own.barrier();
  });
}

// Puts that the fabric carries out later than packets.
TEST(collectives, complete_puts_without_event) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    testing::simulate(2, {.seed = seed, .remote_delay_ns_max = 1'000'000}, [](endpoint& own) {
      auto& memory = own.memory();
      const local_segment mine = memory.allocate(64);
      const auto all = exchange(own, mine);
      own.barrier();
      const std::byte one{1};
      memory.put({all[static_cast<std::size_t>(1 - own.rank())], 8}, {&one, 1}, {});
      own.barrier();
      EXPECT_EQ(mine.data[8], one);
      own.barrier();
    });
  }
}

// Packets that no rank sends which runs the same build. Rank 2 of 8 has child 3 and parent 0.

struct collective_packet {
  std::uint64_t handlers = 7;
  std::uint32_t number = 1;
  std::uint32_t body = 0;
  std::uint32_t operation = 0;
  std::uint32_t form = 0;
  // A part of the tree.
  std::uint32_t sequence = 1;
  std::uint16_t operation_of_part = 0;
  std::uint8_t form_of_part = 0;
  std::uint8_t round = 0;
  std::uint64_t value = 0;
};
constexpr std::uint32_t form_part = 0, form_question = 1, form_ahead = 2;
constexpr std::size_t question_bytes = 24;

std::vector<std::byte> bytes_of(const collective_packet& packet, std::size_t bytes = sizeof(collective_packet)) {
  std::vector<std::byte> all(std::max(bytes, sizeof packet));
  std::memcpy(all.data(), &packet, sizeof packet);
  all.resize(bytes);
  return all;
}

/// Rank 2 of 8.
struct rank_of_eight {
  int sent = 0;
  std::vector<rank_t> different;
  collectives own{2, 8, [this](rank_t, bytes_view) { ++sent; }, [this](rank_t rank) { different.push_back(rank); }};

  void start_barrier() { own.start(reduction::none, 0, 7); }
  void expect_invalid(rank_t source, const std::vector<std::byte>& packet) {
    testing::expect_error(
        [&] { own.on_packet(source, packet); },
        {"message arrival (rank 2)", "rank " + std::to_string(source) + " sent an invalid packet", "same build"});
  }
};

TEST(invalid_collective_packets, size_and_form) {
  for (const bool started : {false, true}) {
    rank_of_eight rank;
    if (started) rank.start_barrier();
    for (std::size_t bytes = 0; bytes < 64; ++bytes) {
      for (std::uint32_t form = 0; form <= 4; ++form) {
        const bool valid =
            form <= form_ahead && bytes == (form == form_part ? sizeof(collective_packet) : question_bytes);
        if (!valid) rank.expect_invalid(3, bytes_of({.form = form}, bytes));
      }
    }
  }
}

TEST(invalid_collective_packets, early_parts) {
  rank_of_eight rank;
  for (const rank_t source : {-1, 0, 1, 2, 4, 6, 8}) rank.expect_invalid(source, bytes_of({}));
  rank.own.on_packet(3, bytes_of({}));
  rank.expect_invalid(3, bytes_of({}));
  rank.start_barrier();
  EXPECT_EQ(rank.sent, 1);
}

TEST(invalid_collective_packets, parts_of_tree) {
  rank_of_eight rank;
  rank.start_barrier();
  rank.expect_invalid(3, bytes_of({.sequence = 3}));
  rank.expect_invalid(4, bytes_of({}));
  rank.expect_invalid(0, bytes_of({.form_of_part = 1}));
  rank.own.on_packet(3, bytes_of({}));
  rank.own.on_packet(0, bytes_of({.form_of_part = 1}));
  EXPECT_TRUE(rank.own.done());
}

TEST(invalid_collective_packets, rank_in_another_epoch) {
  rank_of_eight rank;
  rank.start_barrier();
  const auto ahead = [](std::uint32_t of) {
    return bytes_of({.number = 0, .operation = of, .form = form_ahead}, question_bytes);
  };
  rank.expect_invalid(1, ahead(3));
  for (const std::uint32_t other : {8u, 1u << 31, ~0u}) rank.expect_invalid(2, ahead(other));
  EXPECT_FALSE(rank.own.may_ask_rank_ahead());
  rank.own.on_packet(2, ahead(3));
  EXPECT_TRUE(rank.own.may_ask_rank_ahead());
}

TEST(invalid_collective_packets, end_job) {
  const std::string text = failure_in_simulation(2, {}, [](endpoint& own) {
    if (own.rank() == 1) own.send_control(0, packet_kind::collective, bytes_of({}, 31));
    own.barrier();
  });
  testing::expect_parts(text,
                        {"message arrival (rank 0)", "rank 1 sent an invalid packet", "31 bytes of a collective"});
}

TEST(collectives, different_handlers_hold_barrier) {
  for (const bool early : {false, true}) {
    rank_of_eight rank;
    if (!early) rank.start_barrier();
    rank.own.on_packet(3, bytes_of({.handlers = 8}));
    if (early) rank.start_barrier();
    EXPECT_EQ(rank.different, std::vector<rank_t>{3});
    EXPECT_EQ(rank.sent, 0);
  }
}

// The numbers of the calls differ, and nothing else: one of the ranks has begun an epoch that the other one has not.
TEST(collectives, parts_of_other_calls) {
  for (const bool early : {false, true}) {
    rank_of_eight rank;
    if (!early) rank.start_barrier();
    testing::expect_error(
        [&] {
          rank.own.on_packet(3, bytes_of({.number = 2}));
          rank.start_barrier();
        },
        {"collective (rank 2)", "rank 3 is in a barrier, rank 2 in a barrier"});
  }
}

TEST(collectives, early_parts_of_different_calls) {
  collectives own(
      0, 4, [](rank_t, bytes_view) {}, [](rank_t) {});
  own.on_packet(1, bytes_of({}));
  testing::expect_error([&] { own.on_packet(2, bytes_of({.operation = 3, .operation_of_part = 3})); },
                        {"rank 2 is in a sum of uint64, rank 1 in a barrier"});
}

}  // namespace
}  // namespace amity::core
