/// One cache line handed back and forth between two cores: nothing that crosses shared memory can be faster.
///
/// `one_line_ns`: both processes write the same line in turn. `two_lines_ns`: each direction has a line of its own, as
/// a pair of rings has; the writer must first take its line back from the core that has read it.
/// `ring_round_trip_ns`: a message in a ring of lines there, and its answer in one line back; the least of many short
/// batches.

#include <algorithm>
#include <array>

#include "amity/base/clock.hpp"
#include "bench/raw/raw.hpp"
#include "bench/raw/two_processes.hpp"
#include "bench/workload.hpp"

namespace amity::bench {
namespace {

struct alignas(64) ring_line {
  std::atomic<std::uint64_t> word{0};
};

struct lines {
  lonely_word both_ways;
  lonely_word there;
  lonely_word back;
  std::array<ring_line, 1024> ring;
  lonely_word answer;
};

/// Mean one-way time of a batch, in nanoseconds, seen by process 0. `turn` goes on counting from batch to batch.
double one_way_ns(int me, std::uint64_t round_trips, std::uint64_t& turn, std::atomic<std::uint64_t>& there,
                  std::atomic<std::uint64_t>& back) {
  const auto begin_ns = steady_now_ns();
  for (std::uint64_t i = 0; i < round_trips; ++i, turn += 2) {
    if (me == 0) {
      there.store(turn + 1, std::memory_order_release);  // Pairs with the acquire in the peer's `await`.
      await(back, turn + 2);
    } else {
      await(there, turn + 1);
      back.store(turn + 2, std::memory_order_release);  // Pairs with the acquire in the peer's `await`.
    }
  }
  return static_cast<double>(steady_now_ns() - begin_ns) / static_cast<double>(2 * round_trips);
}

/// Time of a message and its answer in a batch, in nanoseconds. Messages are numbered from batch to batch.
double ring_round_trip_ns(int me, std::uint64_t round_trips, std::uint64_t& sent, lines& shared) {
  const auto begin_ns = steady_now_ns();
  for (std::uint64_t i = 0; i < round_trips; ++i) {
    ++sent;
    auto& message = shared.ring[sent % shared.ring.size()].word;
    if (me == 0) {
      message.store(sent, std::memory_order_release);  // Pairs with the acquire in the peer's `await`.
      await(shared.answer.value, sent);
    } else {
      await(message, sent);
      shared.answer.value.store(sent, std::memory_order_release);  // Pairs with the acquire in the peer's `await`.
    }
  }
  return static_cast<double>(steady_now_ns() - begin_ns) / static_cast<double>(round_trips);
}

sample measure(const job_context& job) {
  shared_object<lines> shared;
  sample result;
  two_processes([&](int me) {
    const auto batches = job.scaled(21, 3);
    const auto round_trips = job.scaled<std::uint64_t>(4000, 200);
    std::uint64_t turn = 0;
    const auto batch_on = [&](lonely_word& there, lonely_word& back) {
      return median_of(batches, [&] { return one_way_ns(me, round_trips, turn, there.value, back.value); });
    };
    result["one_line_ns"] = batch_on(shared->both_ways, shared->both_ways);
    turn = 0;
    result["two_lines_ns"] = batch_on(shared->there, shared->back);
    expect_equal("turns", turn, static_cast<std::uint64_t>(batches) * round_trips * 2);

    const auto short_batches = job.scaled(400, 3);
    std::uint64_t sent = 0;
    double least_ns = ring_round_trip_ns(me, 100, sent, *shared);
    for (int i = 1; i < short_batches; ++i) least_ns = std::min(least_ns, ring_round_trip_ns(me, 100, sent, *shared));
    result["ring_round_trip_ns"] = least_ns;
    expect_equal("messages", sent, static_cast<std::uint64_t>(short_batches) * 100);
  });
  return result;
}

}  // namespace

const raw_limit line_handover{"line_handover", measure};

}  // namespace amity::bench
