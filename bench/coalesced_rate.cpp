/// Coalesced 8-byte messages to random slots of the other rank's table (table_traffic.hpp); one way, and with both
/// ranks sending.

#include <fmt/format.h>

#include "bench/benchmarks.hpp"
#include "bench/ranks.hpp"
#include "bench/table_traffic.hpp"

namespace amity::bench {
namespace {

void compare_with_limit(driver& d, const std::string& config, traffic_plan plan) {
  const std::vector<asked> wanted{limit_at_least(0.75)};
  const contest each_message{d.ranks(2, plan.to_arguments()), raw_exchange(d, plan)};
  d.compare(each_message, {{config, "rate a rank", "M/s", "m_per_s", "m_per_s", "", wanted}});
  plan.spans = true;
  const contest whole_buffers{d.ranks(2, plan.to_arguments()), raw_exchange(d, plan)};
  d.compare(whole_buffers, {{config + ", handler of spans", "rate a rank", "M/s", "m_per_s", "m_per_s", "", wanted}});
}

/// Whether the rate depends on how many messages an epoch holds.
void compare_epoch_sizes(driver& d) {
  const auto million = d.tiny() ? std::uint64_t{1000} : std::uint64_t{1'000'000};
  contest jobs{d.ranks(2, traffic_plan{2, traffic_plan::large_table, million, 9, false}.to_arguments())};
  jobs.rounds = 3;
  d.compare(jobs, {{"flat: 1 M messages an epoch", "rate a rank", "M/s", "m_per_s"}});
  for (const std::uint64_t millions : {10, 100}) {
    jobs.peer = d.ranks(2, traffic_plan{2, traffic_plan::large_table, million, 9, false}.to_arguments());
    jobs.peer->name = "1 M messages an epoch";
    jobs.ours = d.ranks(2, traffic_plan{2, traffic_plan::large_table, millions * million, 1, false}.to_arguments());
    d.compare(jobs, {{fmt::format("flat: {} M messages an epoch", millions),
                      "rate a rank",
                      "M/s",
                      "m_per_s",
                      "",
                      "m_per_s",
                      {ratio_at_least(0.9)}}});
  }
}

void drive(driver& d) {
  const auto messages = d.tiny() ? std::uint64_t{20'000} : std::uint64_t{20'000'000};
  compare_with_limit(d, "8 KiB table, one way", {1, traffic_plan::small_table, messages, 1, false});
  compare_with_limit(d, "8 KiB table, both ways", {2, traffic_plan::small_table, messages, 1, false});
  compare_with_limit(d, "8 MiB table, one way", {1, traffic_plan::large_table, messages, 1, false});
  compare_with_limit(d, "8 MiB table, both ways", {2, traffic_plan::large_table, messages, 1, false});
  compare_epoch_sizes(d);
}

int measure(job_context& job) {
  return run_ranks(job, [&](world& w) { return measure_traffic(w, traffic_plan::from(job.args), {}); });
}

/// Providers of libfabric that carry datagrams over TCP.
void drive_ofi(driver& d) {
  const auto messages = d.tiny() ? std::uint64_t{20'000} : std::uint64_t{20'000'000};
  for (const std::string provider : {"tcp;ofi_rxm", "net"}) {
    for (const std::uint64_t ways : {1, 2}) {
      for (const bool sealed : {true, false}) {
        const traffic_plan plan{ways, traffic_plan::small_table, messages, 1, false};
        const contest jobs{d.ranks(
            2, plan.to_arguments(),
            {"AMITY_FABRIC=ofi", fmt::format("AMITY_OFI_SEALED={:d}", sealed), "AMITY_OFI_PROVIDER=" + provider})};
        d.compare(jobs,
                  {{fmt::format("{}, {}{}", provider, ways == 1 ? "one way" : "both ways", sealed ? ", sealed" : ""),
                    "rate a rank", "M/s", "m_per_s", "", "",
                    ways == 1 && !sealed ? std::vector<asked>{at_least(60)} : std::vector<asked>{}}});
      }
    }
  }
}

}  // namespace

const benchmark ofi_coalesced_rate{"ofi_coalesced_rate", "coalesced 8-byte messages through libfabric over TCP",
                                   drive_ofi, measure};

const benchmark coalesced_rate{"coalesced_rate", "coalesced 8-byte messages to random slots of a table", drive,
                               measure};

}  // namespace amity::bench
