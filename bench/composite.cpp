/// Messages between ranks of one node, through the fabric composite and through shared memory alone. The job of the
/// composite has one rank more, on a node of its own, which sleeps.

#include "bench/benchmarks.hpp"
#include "bench/ranks.hpp"
#include "bench/two_nodes.hpp"

namespace amity::bench {
namespace {

/// A message bounces between ranks 0 and 1, each hop a packet.
double one_way_ns(world& w, std::uint64_t hops) {
  std::uint64_t handled = 0;
  auto bounce = w.message<std::uint64_t>([&](const std::uint64_t& hops_left, auto& self) {
    ++handled;
    if (hops_left > 1) self.send(1 - w.rank(), hops_left - 1);
  });
  const double total_ns = wall_ns([&] {
    w.epoch([&] {
      if (w.rank() == 0) bounce.send(1, hops);
    });
  });
  if (w.rank() < 2) expect_equal("hops", handled, hops / 2);
  return total_ns / static_cast<double>(hops);
}

/// Rank 0 sends to rank 1; with policies or without, when each message is a packet.
template <class... Policies>
double m_per_s(world& w, std::uint64_t messages, const Policies&... policies) {
  std::uint64_t sum = 0;
  auto add = w.message<std::uint64_t>([&](const std::uint64_t& value) { sum += value; }, policies...);
  const double total_ns = wall_ns([&] {
    w.epoch([&] {
      if (w.rank() != 0) return;
      for (std::uint64_t i = 0; i < messages; ++i) add.send(1, i);
    });
  });
  if (w.rank() == 1) expect_equal("sum", sum, messages * (messages - 1) / 2);
  return static_cast<double>(messages) / total_ns * 1e3;
}

sample measure_messages(world& w, const job_context& job) {
  const auto batches = job.scaled(31, 3);
  sample result;
  result["one_way_ns"] = median_of(batches, [&] { return one_way_ns(w, job.scaled<std::uint64_t>(20'000, 200)); });
  result["short_m_per_s"] = median_of(batches, [&] { return m_per_s(w, job.scaled<std::uint64_t>(400'000, 2'000)); });
  result["coalesced_m_per_s"] =
      median_of(batches, [&] { return m_per_s(w, job.scaled<std::uint64_t>(4'000'000, 20'000), coalesce{}); });
  return result;
}

sample measure_ranks(world& w, const job_context& job) {
  return measure_near(w, [&](world& part) { return measure_messages(part, job); });
}

int measure(job_context& job) {
  choose_node();
  return run_ranks(job, [&](world& w) { return measure_ranks(w, job); });
}

void drive(driver& d) {
  contest jobs{d.ranks(3, {}, {"AMITY_FABRIC=composite", "AMITY_OFI_ADDRESS=127.0.0.1"}), {}, d.ranks(2)};
  jobs.rounds = 25;  // the difference asked for is smaller than that of two rounds
  jobs.ours.name = "composite";
  jobs.peer->name = "shm alone";
  d.compare(
      jobs,
      {
          {"message, 8 B", "one-way time", "ns", "one_way_ns", "", "one_way_ns", {ratio_at_most(1.05)}},
          {"message, 8 B, a packet each", "rate", "M/s", "short_m_per_s", "", "short_m_per_s", {ratio_at_least(0.95)}},
          {"message, 8 B, coalesced",
           "rate",
           "M/s",
           "coalesced_m_per_s",
           "",
           "coalesced_m_per_s",
           {ratio_at_least(0.95)}},
      });
}

}  // namespace

const benchmark composite_overhead{
    "composite_overhead", "messages on one node, through composite and through shared memory alone", drive, measure};

}  // namespace amity::bench
