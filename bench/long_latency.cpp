/// Long messages: one-way time by reassembly against put-sync-send over libfabric, and over shared memory.

#include <algorithm>

#include "bench/benchmarks.hpp"
#include "bench/long_players.hpp"
#include "bench/ranks.hpp"
#include "bench/statistics.hpp"

namespace amity::bench {
namespace {

constexpr std::size_t compared_bytes = 4096;

// The protocols in turns, so that both meet the same machine.
sample measure_protocols(world& w, const job_context& job) {
  const auto batches = job.scaled(15, 3);
  const auto round_trips = job.scaled<std::uint64_t>(300, 10);
  std::vector<double> reassembly_ns, put_sync_send_ns, chosen_ns, ratios;
  const std::pair<const char*, std::vector<double>*> protocols[] = {
      {"reassembly", &reassembly_ns}, {"put_sync_send", &put_sync_send_ns}, {"auto", &chosen_ns}};
  for (int i = 0; i < batches; ++i) {
    for (const auto& [protocol, into] : protocols) {
      long_players players(w, compared_bytes, protocol);
      players.one_way_ns(compared_bytes, round_trips / 10);
      into->push_back(players.one_way_ns(compared_bytes, round_trips));
      players.check();
    }
    ratios.push_back(reassembly_ns.back() / put_sync_send_ns.back());
  }
  return {{"reassembly_us", 2e-3 * summarise(reassembly_ns).median},
          {"put_sync_send_us", 2e-3 * summarise(put_sync_send_ns).median},
          {"chosen_us", 2e-3 * summarise(chosen_ns).median},
          {"ratio", summarise(ratios).median}};
}

void drive_protocols(driver& d) {
  // What a program of libfabric alone has reached, without a runtime around it.
  const std::pair<std::string, double> providers[] = {{"tcp;ofi_rxm", 0.64}, {"net", 0.58}, {"shm", 0.74}};
  for (const auto& [provider, reach] : providers) {
    const contest jobs{d.ranks(2, {}, {"AMITY_FABRIC=ofi", "AMITY_OFI_SEALED=0", "AMITY_OFI_PROVIDER=" + provider})};
    d.compare(jobs, {{provider + ": reassembly", "round trip of 4 KiB", "us", "reassembly_us"},
                     {provider + ": put-sync-send", "round trip of 4 KiB", "us", "put_sync_send_us"},
                     {provider + ": as chosen", "round trip of 4 KiB", "us", "chosen_us"},
                     {provider + ": reassembly / put-sync-send", "time", "x", "ratio", "", "", {at_most(reach)}}});
  }
}

constexpr std::size_t bytes_max = std::size_t{1} << 20;

sample measure_sizes(world& w, const job_context& job) {
  const auto batches = job.scaled(21, 3);
  sample result;
  for (const auto reads : {reading::no, reading::yes}) {
    long_players players(w, bytes_max, "auto", reads);
    for (const std::size_t bytes : {std::size_t{1024}, std::size_t{4096}, std::size_t{65536}, bytes_max}) {
      const auto round_trips =
          std::max<std::uint64_t>(job.scaled<std::uint64_t>(20'000'000, 50'000) / (bytes + 9000), 3);
      const auto figure = "one_way_" + std::to_string(bytes) + (reads == reading::yes ? "_read_ns" : "_ns");
      result[figure] = median_of(batches, [&] { return players.one_way_ns(bytes, round_trips); });
    }
    players.check();
  }
  return result;
}

void drive_sizes(driver& d) {
  const std::string batches = d.tiny() ? "3" : "21";
  const std::string round_trips = d.tiny() ? "5" : "200";
  const contest jobs{d.ranks(2), d.raw("single_copy", "raw single copy"),
                     d.open_mpi("Open MPI send/recv", {batches, round_trips, "0", "1024", "4096", "65536", "1048576"})};
  const auto row = [](std::string size, const std::string& bytes, std::vector<asked> wanted) {
    return figure{std::move(size),
                  "one-way time",
                  "ns",
                  "one_way_" + bytes + "_ns",
                  "best_" + bytes + "_ns",
                  "ping_pong_" + bytes + "_ns",
                  std::move(wanted)};
  };
  const auto read_row = [](std::string size, const std::string& bytes) {
    return figure{
        std::move(size),      "one-way time", "ns", "one_way_" + bytes + "_read_ns", "best_" + bytes + "_read_ns", "",
        {limit_at_most(1.15)}};
  };
  d.compare(jobs,
            {row("1 KiB, unread", "1024", {at_most(580), limit_at_most(1.15)}),
             row("4 KiB, unread", "4096", {at_most(950), limit_at_most(1.15)}),
             row("64 KiB, unread", "65536", {at_most(4000), limit_at_most(1.15)}),
             row("1 MiB, unread", "1048576", {at_most(60'000), limit_at_most(1.15)}), read_row("1 KiB, read", "1024"),
             read_row("4 KiB, read", "4096"), read_row("64 KiB, read", "65536"), read_row("1 MiB, read", "1048576")});
}

int measure_by_protocol(job_context& job) {
  return run_ranks(job, [&](world& w) { return measure_protocols(w, job); });
}
int measure_by_size(job_context& job) {
  return run_ranks(job, [&](world& w) { return measure_sizes(w, job); });
}

}  // namespace

const benchmark long_latency{"long_latency", "Longs of 4 KiB through libfabric, by reassembly and by put-sync-send",
                             drive_protocols, measure_by_protocol};
const benchmark long_shm{"long_shm", "one-way time of Longs over shared memory", drive_sizes, measure_by_size};

}  // namespace amity::bench
