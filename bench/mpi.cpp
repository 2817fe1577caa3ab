/// The fabric over each MPI: against the MPI itself, and against shared memory. The jobs are those of short_latency and
/// coalesced_rate.

#include <fmt/format.h>

#include "bench/benchmarks.hpp"
#include "bench/table_traffic.hpp"

namespace amity::bench {
namespace {

void drive_latency(driver& d) {
  const std::vector<std::string> peer_words =
      d.tiny() ? std::vector<std::string>{"3", "100", "0", "8"} : std::vector<std::string>{"21", "4000", "0", "8"};
  for (const mpi_installation& mpi : mpi_installations()) {
    const contest jobs{
        d.mpi_ranks(mpi, short_latency, 2), {}, d.mpi_peer(mpi, "send/recv of the same MPI", peer_words)};
    d.compare(jobs, {{fmt::format("{}: core request, 8 B", mpi.name),
                      "one-way time",
                      "ns",
                      "request_8_ns",
                      "",
                      "ping_pong_8_ns",
                      {ratio_at_most(1.3)}},
                     {fmt::format("{}: typed message, 8 B", mpi.name),
                      "one-way time",
                      "ns",
                      "typed_8_ns",
                      "",
                      "ping_pong_8_ns",
                      {}}});
  }
}

void compare_rates(driver& d, const mpi_installation& mpi, std::uint64_t ways) {
  const auto messages = d.tiny() ? std::uint64_t{20'000} : std::uint64_t{20'000'000};
  const traffic_plan plan{ways, traffic_plan::small_table, messages, 1, false};
  contest jobs{
      d.mpi_ranks(mpi, coalesced_rate, 2, plan.to_arguments()), {}, d.ranks(coalesced_rate, 2, plan.to_arguments())};
  jobs.peer->name = "shared memory";
  d.compare(jobs, {{fmt::format("{}: 8 KiB table, {}", mpi.name, ways == 1 ? "one way" : "both ways"),
                    "rate a rank",
                    "M/s",
                    "m_per_s",
                    "",
                    "m_per_s",
                    {ratio_at_least(0.4)}}});
}

void drive_rate(driver& d) {
  for (const mpi_installation& mpi : mpi_installations()) {
    for (const std::uint64_t ways : {1, 2}) compare_rates(d, mpi, ways);
  }
}

int measure_elsewhere(job_context&) { return 2; }

}  // namespace

const benchmark mpi_short_latency{"mpi_short_latency", "short_latency over MPI, against send/recv of the same MPI",
                                  drive_latency, measure_elsewhere};
const benchmark mpi_coalesced_rate{"mpi_coalesced_rate", "coalesced_rate over MPI, against shared memory", drive_rate,
                                   measure_elsewhere};

}  // namespace amity::bench
