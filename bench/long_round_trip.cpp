/// Round trips of Longs by size, by two protocols: Figures 1 and 2 of the paper on reassembly (Hargrove and Bonachea,
/// 2019).

#include <algorithm>
#include <string>

#include "bench/benchmarks.hpp"
#include "bench/long_networks.hpp"
#include "bench/long_players.hpp"
#include "bench/ranks.hpp"
#include "bench/statistics.hpp"

namespace amity::bench {
namespace {

constexpr std::size_t bytes_min = 2048;
constexpr std::size_t bytes_max = std::size_t{1} << 20;

std::string name_of(const std::string& protocol, std::size_t bytes) { return protocol + "_" + std::to_string(bytes); }

sample measure_sizes(world& w, const job_context& job) {
  sample result;
  for (const std::string protocol : {"reassembly", "put_sync_send"}) {
    long_players players(w, bytes_max, protocol);
    for (std::size_t bytes = bytes_min; bytes <= bytes_max; bytes *= 2) {
      const auto round_trips =
          std::max<std::uint64_t>(job.scaled<std::uint64_t>(8'000'000, 20'000) / (bytes + 20'000), 2);
      players.one_way_ns(bytes, round_trips / 2);
      result[name_of(protocol, bytes)] =
          2e-3 * median_of(job.scaled(7, 1), [&] { return players.one_way_ns(bytes, round_trips); });
    }
    players.check();
  }
  return result;
}

void drive_sizes(driver& d) {
  for (long_network& each : long_networks(d)) {
    std::vector<figure> figures;
    for (std::size_t bytes = bytes_min; bytes <= bytes_max; bytes *= 2) {
      for (const std::string protocol : {"reassembly", "put_sync_send"}) {
        figures.push_back({config_of(each, protocol, bytes), "round trip", "us", name_of(protocol, bytes)});
      }
    }
    d.compare(contest{.ours = std::move(each.players), .rounds = 3}, figures);
  }
}

int measure_by_size(job_context& job) {
  return run_ranks(job, [&](world& w) { return measure_sizes(w, job); });
}

}  // namespace

const benchmark long_round_trip{"long_round_trip", "round trips of Longs by size, by reassembly and put-sync-send",
                                drive_sizes, measure_by_size};

}  // namespace amity::bench
