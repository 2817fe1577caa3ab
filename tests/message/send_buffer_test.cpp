/// A user's memory, sent from where it lies: all of it arrives, once; the token ends once, and not before.

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <numeric>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/support/errors.hpp"
#include "tests/support/worlds.hpp"

namespace amity {
namespace {

using testing::failure_of;

class buffers : public testing::on_jobs {};
INSTANTIATE_TEST_SUITE_P(message, buffers, testing::every_job(), testing::job_name);

std::vector<std::uint64_t> numbers(std::size_t count, std::uint64_t first) {
  std::vector<std::uint64_t> values(count);
  std::iota(values.begin(), values.end(), first);
  return values;
}

/// The sum of numbers(count, first).
std::uint64_t sum_of(std::uint64_t count, std::uint64_t first) {
  return count * first + (count == 0 ? 0 : count * (count - 1) / 2);
}

// The token spoils the memory: values that leave after it has ended arrive as something else.
TEST_P(buffers, arrive_whole_and_are_released_once) {
  run([](world& w) {
    std::uint64_t handled = 0, sum = 0;
    const auto take = [&](std::uint64_t value) {
      ++handled;
      sum += value;
    };
    auto alone = w.message<std::uint64_t>(take);
    auto together = w.message<std::uint64_t>(take, coalesce{});
    std::uint64_t expected = 0, expected_sum = 0;
    for (const std::size_t count : {0, 1, 7, 66, 67, 1000, 5000}) {
      std::vector<std::vector<std::uint64_t>> memory(static_cast<std::size_t>(w.size()), numbers(count, 1000));
      std::uint64_t released = 0;
      w.epoch([&] {
        for (rank_t dest = 0; dest < w.size(); ++dest) {
          auto& values = memory[static_cast<std::size_t>(dest)];
          const auto spoil = [&] {
            ++released;
            std::ranges::fill(values, 0);
          };
          together.send(dest, 5);
          if (dest % 2 == 0) {
            alone.send_buffer(dest, values, spoil);
          } else {
            together.send_buffer(dest, values, spoil);
          }
          if (count == 0) {
            EXPECT_EQ(released, static_cast<std::uint64_t>(dest) + 1) << "nothing of it is needed";
          }
        }
      });
      EXPECT_EQ(released, memory.size());
      expected += (count + 1) * memory.size();
      expected_sum += (sum_of(count, 1000) + 5) * memory.size();
      EXPECT_EQ(handled, expected);
      EXPECT_EQ(sum, expected_sum);
    }
    EXPECT_EQ(alone.counters().sent + together.counters().sent, expected);
  });
}

// Handlers do not wait for credits, and what waits is not copied.
TEST_P(buffers, are_sent_by_handlers) {
  run([](world& w) {
    constexpr std::size_t count = 20'000;
    const auto memory = std::make_shared<const std::vector<std::uint64_t>>(numbers(count, 1));
    std::uint64_t spans = 0, handled = 0, sum = 0;
    auto values = w.message<std::uint64_t>(
        [&](std::span<const std::uint64_t> all) {
          ++spans;
          handled += all.size();
          sum = std::reduce(all.begin(), all.end(), sum);
        },
        coalesce{});
    auto ask = w.message<rank_t>([&](rank_t from) { values.send_buffer(from, *memory, memory); });
    w.epoch([&] {
      for (rank_t dest = 0; dest < w.size(); ++dest) ask.send(dest, w.rank());
    });
    EXPECT_EQ(memory.use_count(), 1) << "every token has ended";
    EXPECT_EQ(handled, count * static_cast<std::uint64_t>(w.size()));
    EXPECT_EQ(sum, sum_of(count, 1) * static_cast<std::uint64_t>(w.size()));
    EXPECT_GT(spans, static_cast<std::uint64_t>(w.size())) << "a span for each packet";
    EXPECT_LE(w.endpoint().own_engine().bound().bytes_peak(), w.size() * core::lent_buffer::overhead_bytes)
        << "no copies";
  });
}

TEST_P(buffers, of_values_that_no_packet_can_hold) {
  run([](world& w) {
    using block = std::array<std::uint32_t, 5000>;
    std::uint64_t handled = 0, wrong = 0;
    auto message = w.message<block>([&](const block& b) {
      ++handled;
      for (std::size_t i = 0; i < b.size(); ++i) wrong += b[i] != b[0] + i;
    });
    auto memory = std::make_unique<std::vector<block>>(7);
    for (std::size_t i = 0; i < memory->size(); ++i) std::iota((*memory)[i].begin(), (*memory)[i].end(), i << 16);
    const std::span<const block> values(*memory);
    w.epoch([&] { message.send_buffer((w.rank() + 1) % w.size(), values, std::move(memory)); });
    EXPECT_EQ(handled, 7u);
    EXPECT_EQ(wrong, 0u);
  });
}

TEST_P(buffers, of_aligned_values) {
  run([](world& w) {
    struct alignas(64) line {
      std::uint64_t number;
    };
    std::uint64_t handled = 0, sum = 0;
    auto message = w.message<line>([&](const line& l) {
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(&l) % alignof(line), 0u);
      ++handled;
      sum += l.number;
    });
    std::vector<line> memory(300);
    for (std::size_t i = 0; i < memory.size(); ++i) memory[i].number = i;
    int token = 0;
    w.epoch([&] { message.send_buffer((w.rank() + 1) % w.size(), memory, token); });
    EXPECT_EQ(handled, memory.size());
    EXPECT_EQ(sum, sum_of(300, 0));
  });
}

// What has found no credit is still the program's memory.
TEST(buffers_that_wait, are_references) {
  const auto few_credits = testing::simulated("few_credits", {.credits = 2, .packet_bytes = 528});
  testing::run_worlds(few_credits, 2, [](world& w) {
    bool released = false;
    std::uint64_t last = 0;
    auto message = w.message<std::uint64_t>([&](std::uint64_t value) { last = std::max(last, value); });
    auto memory = numbers(1000, 0);
    w.epoch([&] {
      message.send_buffer(1 - w.rank(), memory, [&] { released = true; });
      EXPECT_FALSE(released);
      testing::expect_parts(w.endpoint().stall_report("a test", 0), {"waiting to be sent: 1 packets to rank "});
      memory.back() = 4711;
    });
    EXPECT_TRUE(released);
    EXPECT_EQ(last, 4711u);
  });
}

TEST(buffers_misuse, wrong_rank_null_pointer_and_outside_an_epoch) {
  testing::run_worlds(testing::simulated("sim", {}), 2, [](world& w) {
    const std::string begin = "amity: message::send_buffer (rank " + std::to_string(w.rank()) + "): ";
    auto message = w.message<int>([](int) {});
    const std::vector<int> memory(3);
    int released = 0;
    const auto token = [&] { ++released; };
    EXPECT_EQ(failure_of([&] { message.send_buffer(0, memory, token); }),
              begin + "a message was sent outside an epoch; send inside world::epoch, or from a handler");
    w.epoch([&] {
      EXPECT_EQ(failure_of([&] { message.send_buffer(2, memory, token); }),
                begin + "destination 2 is not a rank of this job; use 0 to 1");
      EXPECT_EQ(failure_of([&] { message.send_buffer(0, std::span(static_cast<const int*>(nullptr), 3), token); }),
                begin + "12 bytes at a null pointer; pass a span of values");
    });
    EXPECT_EQ(released, 3) << "nothing refers to the memory";
  });
}

class buffers_of_failing_jobs : public testing::on_jobs {};
INSTANTIATE_TEST_SUITE_P(message, buffers_of_failing_jobs,
                         ::testing::Combine(::testing::Values(testing::simulated("sim", {.credits = 2}),
                                                              testing::threads("threads")),
                                            ::testing::Values(1, 2, 4)),
                         testing::job_name);

TEST_P(buffers_of_failing_jobs, are_released_once) {
  std::array<int, 4> released{};
  const std::string failure = failure_in([&](world& w) {
    int& own = released[static_cast<std::size_t>(w.rank())];
    const auto memory = numbers(1'000'000, 0);
    // The last one ends at the latest with the message type, before what was made earlier.
    const std::unique_ptr<int, void (*)(int*)> check(&own, [](int* released_here) { *released_here *= 10; });
    auto message = w.message<std::uint64_t>([&](std::uint64_t value) {
      if (value == 70'000 && w.rank() == w.size() - 1) throw std::runtime_error("no such number");
    });
    w.epoch([&] {
      for (rank_t dest = 0; dest < w.size(); ++dest) message.send_buffer(dest, memory, [&] { ++own; });
    });
  });
  EXPECT_EQ(failure, "no such number");
  const rank_t ranks = std::get<rank_t>(GetParam());
  for (rank_t rank = 0; rank < ranks; ++rank) EXPECT_EQ(released[static_cast<std::size_t>(rank)], 10 * ranks) << rank;
}

}  // namespace
}  // namespace amity
