/// What it costs to begin messages, by how many are begun in a row: Longs by two protocols, as in Figure 3 of the paper
/// on reassembly (Hargrove and Bonachea, 2019), and small messages over shared memory.

#include <string>

#include "bench/benchmarks.hpp"
#include "bench/long_networks.hpp"
#include "bench/long_players.hpp"
#include "bench/ranks.hpp"
#include "bench/statistics.hpp"

namespace amity::bench {
namespace {

constexpr std::size_t sizes[] = {4096, 65536, std::size_t{1} << 20};
constexpr std::uint64_t depths[] = {1, 4, 16, 64, 256};

std::string name_of(const std::string& protocol, std::size_t bytes, std::uint64_t depth) {
  return protocol + "_" + std::to_string(bytes) + "_" + std::to_string(depth);
}

sample measure_depths(world& w, const job_context& job) {
  sample result;
  for (const std::string protocol : {"reassembly", "put_sync_send"}) {
    long_players players(w, sizes[2], protocol);
    for (const std::size_t bytes : sizes) {
      for (const std::uint64_t depth : depths) {
        if (job.tiny && bytes * depth > std::size_t{1} << 20) continue;
        players.injection_ns(bytes, depth);
        result[name_of(protocol, bytes, depth)] =
            1e-3 * median_of(job.scaled(9, 3), [&] { return players.injection_ns(bytes, depth); });
      }
    }
    players.check();
  }
  return result;
}

void drive_depths(driver& d) {
  for (long_network& each : long_networks(d)) {
    std::vector<figure> figures;
    for (const std::size_t bytes : sizes) {
      for (const std::uint64_t depth : depths) {
        if (d.tiny() && bytes * depth > std::size_t{1} << 20) continue;
        for (const std::string protocol : {"reassembly", "put_sync_send"}) {
          figures.push_back({config_of(each, protocol, bytes) + ", depth " + std::to_string(depth), "injection", "us",
                             name_of(protocol, bytes, depth)});
        }
      }
    }
    d.compare(contest{.ours = std::move(each.players), .rounds = 3}, figures);
  }
}

/// Requests of the endpoint's own in a row of 64, and Longs of 8 bytes.
sample measure_small(world& w, const job_context& job) {
  constexpr std::uint64_t depth = 64;
  const auto batches = job.scaled(2001, 11);
  core::endpoint& own = w.endpoint();
  std::uint64_t handled = 0;
  const auto take = own.add_handler("take", [&](core::request&) { ++handled; });
  const auto row_ns = [&](auto&& send) {
    handled = 0;
    w.barrier();
    const double total_ns = wall_ns([&] {
      if (w.rank() != 0) return;
      for (std::uint64_t i = 0; i < depth; ++i) send();
    });
    if (w.rank() == 1) own.wait_until("a row", [&] { return handled == depth; });
    w.barrier();
    return total_ns / static_cast<double>(depth);
  };
  const std::uint64_t word = 1;
  const auto payload = std::as_bytes(std::span(&word, 1));
  w.barrier();
  sample result;
  result["short_ns"] = median_of(batches, [&] { return row_ns([&] { own.request_short(1, take, {word}); }); });
  result["medium_ns"] = median_of(batches, [&] { return row_ns([&] { own.request_medium(1, take, payload); }); });
  own.remove_handler(take);
  long_players players(w, 64, "auto");
  result["long_ns"] = median_of(batches, [&] { return players.injection_ns(sizeof word, depth); });
  players.check();
  return result;
}

void drive_small(driver& d) {
  const contest jobs{d.ranks(2)};
  d.compare(jobs, {{"short, 8 B", "injection", "ns", "short_ns", "", "", {at_most(40)}},
                   {"medium, 8 B", "injection", "ns", "medium_ns", "", "", {at_most(50)}},
                   {"Long, 8 B", "injection", "ns", "long_ns", "", "", {at_most(60)}}});
}

int measure_by_depth(job_context& job) {
  return run_ranks(job, [&](world& w) { return measure_depths(w, job); });
}
int measure_row(job_context& job) {
  return run_ranks(job, [&](world& w) { return measure_small(w, job); });
}

}  // namespace

const benchmark long_injection{"long_injection", "cost of a Long at depth 1 to 256, by reassembly and put-sync-send",
                               drive_depths, measure_by_depth};
const benchmark injection_shm{"injection_shm", "cost of short, medium and Long messages of 8 B at depth 64",
                              drive_small, measure_row};

}  // namespace amity::bench
