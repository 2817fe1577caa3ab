/// OpenSHMEM: puts, atomics and barriers against another OpenSHMEM, and active messages, also as an addition to that
/// one. One program of C measures all of them (bench/shmem/operations.c).

#include "bench/benchmarks.hpp"

namespace amity::bench {
namespace {

std::vector<std::string> words_for(const driver& d, const std::string& what) { return {what, d.tiny() ? "1" : "400"}; }

job ours(const driver& d, const std::string& what) {
  job result{"2 PEs", {{AMITY_BENCH_SHMEM_PROGRAM}, {"AMITY_RANKS=2"}}};
  const auto words = words_for(d, what);
  result.run.words.insert(result.run.words.end(), words.begin(), words.end());
  return result;
}

/// A program over Open MPI's OpenSHMEM, if there is one.
std::optional<job> over_open_mpi(const driver& d, const std::string& program, const std::string& name,
                                 std::vector<std::string> words, int pes = 2) {
  auto found = d.comparison(program, name, std::move(words), pes);
  // With that component it does not survive its own end on one node.
  if (found) found->run.environment = {"OMPI_MCA_osc=^rdma"};
  return found;
}

void drive_transfers(driver& d) {
  const contest jobs{ours(d, "transfers"),
                     {},
                     over_open_mpi(d, "open_shmem_operations", "Open MPI's OpenSHMEM", words_for(d, "transfers"))};
  d.compare(jobs, {
                      {"put, 4 B", "rate", "M/s", "put_m_per_s", "", "put_m_per_s", {at_least(90)}},
                      {"put and quiet, 8 B", "time", "ns", "put_8_ns", "", "put_8_ns", {at_most(30)}},
                      {"put and quiet, 2 KiB", "time", "ns", "put_2k_ns", "", "put_2k_ns", {at_most(45)}},
                      {"put and quiet, 1 MiB", "bandwidth", "GB/s", "put_1m_gbps", "", "put_1m_gbps", {}},
                      {"fetch-add, 8 B", "time", "ns", "fetch_add_ns", "", "fetch_add_ns", {at_most(20)}},
                      {"barrier_all", "time", "ns", "barrier_ns", "", "barrier_ns", {at_most(300)}},
                      {"token ring of puts, with a barrier", "round", "ns", "ring_ns", "", "ring_ns", {}},
                  });
}

/// amity_shmemx: the same messages as an addition to Open MPI's OpenSHMEM.
void drive_addition(driver& d) {
  const auto addition = over_open_mpi(d, "shmemx_operations", "2 PEs", words_for(d, "messages"));
  if (!addition) return;
  job own = ours(d, "messages");
  own.name = "amity's own OpenSHMEM";
  const auto row = [](const std::string& config, const std::string& metric, const std::string& unit,
                      const std::string& key, std::vector<asked> wanted) {
    return figure{"over Open MPI's OpenSHMEM: " + config, metric, unit, key, "", key, std::move(wanted)};
  };
  d.compare({*addition, {}, own},
            {
                row("request and quiet, 0 B", "time", "ns", "request_0_ns", {at_most(320)}),
                row("request and quiet, 64 B", "time", "ns", "request_64_ns", {at_most(320)}),
                row("request and quiet, 2 KiB", "bandwidth", "GB/s", "request_2k_gbps", {}),
                row("4096 requests of 4 B, one way", "rate", "M/s", "one_way_m_per_s", {at_least(8.7)}),
                row("4096 requests of 4 B, both ways", "rate", "M/s", "both_ways_m_per_s", {}),
                row("token ring of requests, with a barrier", "round", "ns", "ring_ns", {}),
            });
}

void drive_messages(driver& d) {
  const std::string round_trip = "ring_round_trip_ns";
  const contest jobs{ours(d, "messages"), d.raw("line_handover", "a line there and one back")};
  d.compare(jobs, {
                      {"request and quiet, 0 B", "time", "ns", "request_0_ns", round_trip, "", {at_most(350)}},
                      {"request and quiet, 64 B", "time", "ns", "request_64_ns", round_trip, "", {at_most(350)}},
                      {"request and quiet, 2 KiB", "bandwidth", "GB/s", "request_2k_gbps", "", "", {at_least(5)}},
                      {"4096 requests of 4 B, one way", "rate", "M/s", "one_way_m_per_s", "", "", {at_least(8)}},
                      {"4096 requests of 4 B, both ways", "rate", "M/s", "both_ways_m_per_s", "", "", {at_least(6)}},
                      {"token ring of requests, with a barrier", "round", "ns", "ring_ns", "", "", {at_most(760)}},
                  });
  drive_addition(d);
}

/// All PEs on this machine, but reached over libfabric.
void drive_network(driver& d) {
  for (const std::string provider : {"tcp;ofi_rxm", "net"}) {
    const auto on = [&](int pes) {
      return std::vector<std::string>{"AMITY_RANKS=" + std::to_string(pes), "AMITY_FABRIC=ofi", "AMITY_OFI_SEALED=0",
                                      "AMITY_OFI_PROVIDER=" + provider, "AMITY_OFI_ADDRESS=127.0.0.1"};
    };
    const auto over = [&](const std::string& what) {
      job found = ours(d, what);
      found.run.words.back() = d.tiny() ? "1" : "20";
      found.run.environment = on(2);
      return contest{found, {}, {}, 3};
    };
    const auto named = [&](const std::string& figure) { return provider + ": " + figure; };
    d.compare(over("transfers"), {
                                     {named("put, 4 B"), "rate", "M/s", "put_m_per_s", "", "", {}},
                                     {named("put and quiet, 8 B"), "time", "ns", "put_8_ns", "", "", {}},
                                     {named("put and quiet, 1 MiB"), "bandwidth", "GB/s", "put_1m_gbps", "", "", {}},
                                     {named("fetch-add, 8 B"), "time", "ns", "fetch_add_ns", "", "", {}},
                                     {named("barrier_all"), "time", "ns", "barrier_ns", "", "", {}},
                                 });
    d.compare(over("messages"), {
                                    {named("request and quiet, 0 B"), "time", "ns", "request_0_ns", "", "", {}},
                                    {named("4096 requests of 4 B"), "rate", "M/s", "one_way_m_per_s", "", "", {}},
                                });
    const job many{"16 PEs", {{AMITY_BENCH_SHMEM_MEETINGS, d.tiny() ? "2" : "500", "0"}, on(16)}};
    d.compare({many, {}, {}, 3}, {{named("barrier_all of 16 PEs"), "time", "us", "us", "", "", {}}});
  }
}

/// A program of bench/shmem/salesman: each form solves the same instances. On no ranks it starts its PEs itself.
std::optional<job> salesman(const driver& d, const std::string& form, const std::string& name, int ranks) {
  const std::vector<std::string> few{"1", "4", "8", "11"};
  const std::vector<std::string> many{"1", "8", "13", "15"};
  auto found = over_open_mpi(d, "salesman_" + form, name, d.tiny() ? few : many, ranks);
  if (found && ranks == 0) found->run.environment = {"AMITY_RANKS=2"};
  return found;
}

void drive_salesman(driver& d) {
  const auto messages = salesman(d, "messages", "2 PEs", 0);
  const auto puts = salesman(d, "puts", "puts", 0);
  const auto ask = [&](const std::optional<job>& ours, std::optional<job> peer, const std::string& config) {
    const contest jobs{*ours, {}, std::move(peer)};
    d.compare(jobs, {{config, "time", "ms", "ms", "", "ms", {}}});
  };
  ask(messages, salesman(d, "mpi", "Open MPI", 2), "active messages");
  ask(messages, puts, "active messages, beside puts");
  ask(messages, salesman(d, "shmemx", "over Open MPI's OpenSHMEM", 2), "active messages, beside the add-on");
  ask(puts, salesman(d, "open_shmem", "Open MPI's OpenSHMEM", 2), "puts");
}

void drive_busy_machine(driver& d) {
  const auto beside = [&](const std::string& computing) {
    return job{computing + " that compute",
               {{AMITY_BENCH_SHMEM_MEETINGS, d.tiny() ? "20" : "2000", computing}, {"AMITY_RANKS=4"}}};
  };
  contest jobs{beside("2")};
  jobs.peer = beside("0");
  d.compare(jobs, {{"4 PEs and 2 that compute, on 2 cores", "a barrier", "us", "us", "", "us", {ratio_at_most(25)}}});
}

int measure_elsewhere(job_context&) { return 2; }

}  // namespace

const benchmark shmem_transfers{"shmem_transfers", "OpenSHMEM's puts, atomics and barriers, against Open MPI's",
                                drive_transfers, measure_elsewhere};
const benchmark shmem_messages{"shmem_messages", "active messages of OpenSHMEM programs", drive_messages,
                               measure_elsewhere};
const benchmark shmem_network{"shmem_network", "OpenSHMEM over libfabric: puts, atomics, barriers, active messages",
                              drive_network, measure_elsewhere};
const benchmark shmem_salesman{"shmem_salesman",
                               "the travelling salesman with active messages, with puts, and with MPI", drive_salesman,
                               measure_elsewhere};
const benchmark shmem_busy_machine{"shmem_busy_machine",
                                   "OpenSHMEM's barriers beside programs that compute, against a machine to themselves",
                                   drive_busy_machine, measure_elsewhere};

}  // namespace amity::bench
