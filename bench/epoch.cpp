/// Time of an epoch that does nothing, and of one in which each rank sends one message to the other.

#include "bench/benchmarks.hpp"
#include "bench/ranks.hpp"

namespace amity::bench {
namespace {

/// Mean time of an epoch in microseconds; `body` is what each epoch does.
template <class Body>
double epoch_us(world& w, int epochs, Body body) {
  w.barrier();
  const auto total_ns = wall_ns([&] {
    for (int i = 0; i < epochs; ++i) w.epoch(body);
  });
  return total_ns / epochs * 1e-3;
}

sample measure_ranks(world& w, const job_context& job) {
  const int batches = job.scaled(21, 3);
  const int epochs = job.scaled(200, 50);
  const rank_t peer = 1 - w.rank();
  std::uint64_t handled = 0;
  auto packet = w.message<std::uint64_t>([&](const std::uint64_t& value) { handled += value; });
  auto coalesced = w.message<std::uint64_t>([&](const std::uint64_t& value) { handled += value; }, coalesce{});

  const sample result{
      {"empty_us", median_of(batches, [&] { return epoch_us(w, epochs, [] {}); })},
      {"message_us", median_of(batches, [&] { return epoch_us(w, epochs, [&] { packet.send(peer, 1); }); })},
      {"coalesced_us", median_of(batches, [&] { return epoch_us(w, epochs, [&] { coalesced.send(peer, 1); }); })},
  };
  expect_equal("messages", handled, 2 * static_cast<std::uint64_t>(batches) * static_cast<std::uint64_t>(epochs));
  return result;
}

void drive(driver& d) {
  const contest jobs{d.ranks(2)};
  d.compare(jobs, {
                      {"empty", "time", "us", "empty_us", "", "", {at_most(1.5)}},
                      {"one message each way", "time", "us", "message_us", "", "", {at_most(2.2)}},
                      {"one coalesced message each way", "time", "us", "coalesced_us", "", "", {at_most(2.2)}},
                  });
}

int measure(job_context& job) {
  return run_ranks(job, [&](world& w) { return measure_ranks(w, job); });
}

}  // namespace

const benchmark epoch_time{"epoch", "time of an empty epoch, and of one with a message each way", drive, measure};

}  // namespace amity::bench
