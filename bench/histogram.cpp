/// The histogram that coalescing libraries are compared by: both ranks send 8-byte messages to random slots of each
/// other's table of 8 MiB (table_traffic.hpp). The peer is a program that coalesces by hand
/// (compare/mpi_histogram.cpp).

#include "bench/benchmarks.hpp"
#include "bench/ranks.hpp"
#include "bench/table_traffic.hpp"

namespace amity::bench {
namespace {

void drive(driver& d) {
  const auto messages = d.tiny() ? std::uint64_t{20'000} : std::uint64_t{20'000'000};
  traffic_plan plan{2, traffic_plan::large_table, messages, 1, false};
  const auto plain_mpi = d.comparison("mpi_histogram", "plain MPI", {std::to_string(messages), "1"}, 2);
  const std::vector<asked> wanted{limit_at_least(0.85)};
  const contest each_message{d.ranks(2, plan.to_arguments()), raw_exchange(d, plan), plain_mpi};
  d.compare(each_message, {{"handler of one message", "rate a rank", "M/s", "m_per_s", "m_per_s", "m_per_s", wanted}});
  plan.spans = true;
  const contest whole_buffers{d.ranks(2, plan.to_arguments()), raw_exchange(d, plan), plain_mpi};
  d.compare(whole_buffers, {{"handler of spans", "rate a rank", "M/s", "m_per_s", "m_per_s", "m_per_s", wanted}});
}

int measure(job_context& job) {
  return run_ranks(job, [&](world& w) { return measure_traffic(w, traffic_plan::from(job.args), {}); });
}

}  // namespace

const benchmark histogram{"histogram", "random slots of a table of 8 MiB, both ranks send", drive, measure};

}  // namespace amity::bench
