/// Waits in loops of the program that poll, compared with the same waits of amity; also with more ranks than cores.

#include <string>

#include "amity/core/endpoint.hpp"
#include "bench/benchmarks.hpp"
#include "bench/ranks.hpp"

namespace amity::bench {
namespace {

/// Mean time of a reply in microseconds. Rank 0 asks each other rank in turn; the others wait for the end of the epoch.
template <class Wait>
double reply_us(world& w, int rounds, core::handler_id ask, const int& replies, Wait wait) {
  w.barrier();
  double total_ns = 0;
  w.epoch([&] {
    if (w.rank() != 0) return;
    total_ns = wall_ns([&] {
      for (int i = 0; i < rounds; ++i) {
        const int before = replies;
        w.endpoint().request_short(1 + i % (w.size() - 1), ask);
        wait([&] { return replies > before; });
      }
    });
  });
  return w.max(total_ns) / rounds * 1e-3;
}

/// Mean time of an epoch in microseconds.
template <class Epoch>
double epoch_us(world& w, int epochs, Epoch epoch) {
  w.barrier();
  return wall_ns([&] {
           for (int i = 0; i < epochs; ++i) epoch();
         }) /
         epochs * 1e-3;
}

sample measure_ranks(world& w, const job_context& job) {
  const int batches = job.scaled(11, 3);
  const int rounds = job.scaled(100, 20);
  int replies = 0;
  const core::handler_id take = w.team().add_handler("take", [&](core::request&) { ++replies; });
  const core::handler_id ask = w.team().add_handler("ask", [&](core::request& r) { r.reply_short(take); });
  const auto by_wait = [&](auto done) { w.endpoint().wait_until("a reply", done); };
  const auto by_poll = [&](auto done) {
    while (!done()) w.poll();
  };
  const auto end = [&] { w.epoch([] {}); };
  const auto try_end = [&] {
    auto period = w.begin_epoch();
    while (!period.try_end()) {
    }
  };
  const double wait_us = median_of(batches, [&] { return reply_us(w, rounds, ask, replies, by_wait); });
  const double poll_us = median_of(batches, [&] { return reply_us(w, rounds, ask, replies, by_poll); });
  const double end_us = median_of(batches, [&] { return epoch_us(w, rounds, end); });
  const double try_end_us = median_of(batches, [&] { return epoch_us(w, rounds, try_end); });
  w.barrier();
  w.team().remove_handler(ask);
  w.team().remove_handler(take);
  return {{"poll_us", poll_us},
          {"poll_ratio", poll_us / wait_us},
          {"try_end_us", try_end_us},
          {"try_end_ratio", try_end_us / end_us}};
}

void drive(driver& d) {
  for (const int ranks : {2, 4, 8}) {
    const std::string config = std::to_string(ranks) + " ranks on 2 cores, ";
    d.compare({.ours = d.ranks(ranks), .rounds = 5},
              {
                  {config + "polled reply", "time", "us", "poll_us"},
                  {config + "polled reply", "times wait_until", "", "poll_ratio", "", "", {at_most(2)}},
                  {config + "try_end", "time", "us", "try_end_us"},
                  {config + "try_end", "times epoch", "", "try_end_ratio", "", "", {at_most(1.25)}},
              });
  }
}

int measure(job_context& job) {
  return run_ranks(job, [&](world& w) { return measure_ranks(w, job); });
}

}  // namespace

const benchmark polling{"polling", "replies and ends of epochs that the program polls for, compared with waits", drive,
                        measure};

}  // namespace amity::bench
