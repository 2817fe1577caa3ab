/// One cache line handed back and forth between two cores: nothing that crosses shared memory can be faster.
///
/// `one_line_ns`: both processes write the same line in turn. `two_lines_ns`: each direction has a line of its own, as
/// a pair of rings has; the writer must first take its line back from the core that has read it.

#include "amity/base/clock.hpp"
#include "bench/raw/raw.hpp"
#include "bench/raw/two_processes.hpp"
#include "bench/workload.hpp"

namespace amity::bench {
namespace {

struct lines {
  lonely_word both_ways;
  lonely_word there;
  lonely_word back;
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
  });
  return result;
}

}  // namespace

const raw_limit line_handover{"line_handover", measure};

}  // namespace amity::bench
