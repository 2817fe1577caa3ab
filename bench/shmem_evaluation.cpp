/// The patterns by which active messages for OpenSHMEM were first compared with puts: bandwidth, message rate, token
/// rings and contention. The peer does the same with puts over another OpenSHMEM (bench/shmem/evaluation.c).

#include <fmt/format.h>

#include "bench/benchmarks.hpp"

namespace amity::bench {
namespace {

contest jobs(const driver& d, const std::string& pattern, int pes, int batches) {
  const auto words_of = [&](const std::string& means) {
    return std::vector<std::string>{pattern, means, std::to_string(d.tiny() ? 1 : batches)};
  };
  job ours{fmt::format("{} PEs", pes), {{AMITY_BENCH_SHMEM_EVALUATION}, {fmt::format("AMITY_RANKS={}", pes)}}};
  for (const auto& word : words_of("messages")) ours.run.words.push_back(word);
  auto peer = d.comparison("open_shmem_evaluation", "Open MPI's puts", words_of("puts"), pes);
  if (peer) peer->run.environment = {"OMPI_MCA_osc=^rdma"};
  return {std::move(ours), {}, std::move(peer)};
}

void drive_bandwidth(driver& d) {
  std::vector<figure> rows;
  for (const std::string way : {"one_way", "both_ways"}) {
    for (const std::string answer : {"", "_echoed"}) {
      for (int bytes : {1, 64, 2048, 65536, 1 << 20}) {
        auto config = fmt::format("{} B, {}{}", bytes, way == "one_way" ? "one way" : "both ways",
                                  answer.empty() ? "" : ", replied with the same");
        rows.push_back({std::move(config),
                        "bandwidth",
                        "MB/s",
                        fmt::format("{}{}_{}", way, answer, bytes),
                        "",
                        fmt::format("{}_{}", way, bytes),
                        {}});
      }
    }
  }
  d.compare(jobs(d, "bandwidth", 2, 100), rows);
}

void drive_rate(driver& d) {
  std::vector<figure> rows;
  for (const std::string way : {"one_way", "both_ways"}) {
    for (const std::string payload : {"_empty", ""}) {
      for (int window : {1, 16, 256, 4096, 65536}) {
        const auto key = fmt::format("{}{}_{}", way, payload, window);
        rows.push_back(
            {fmt::format("{} of {} B, {}", window, payload.empty() ? 4 : 0, way == "one_way" ? "one way" : "both ways"),
             "rate",
             "M/s",
             key,
             "",
             key,
             {}});
      }
    }
  }
  d.compare(jobs(d, "rate", 2, 100), rows);
}

void drive_rings(driver& d) {
  for (int pes : {2, 4, 8}) {
    const auto round = fmt::format("round_{}", pes);
    const auto barrier = fmt::format("barrier_{}", pes);
    d.compare(jobs(d, "ring", pes, 500),
              {{fmt::format("{} PEs", pes), "round", "ns", round, "", round, {}},
               {fmt::format("{} PEs, with a barrier", pes), "round", "ns", barrier, "", barrier, {ratio_at_most(1)}}});
  }
}

void drive_contention(driver& d) {
  d.compare(jobs(d, "contention", 2, 400),
            {{"handler and program, beside a lock", "time", "ns", "addition_2", "", "addition_2", {}}});
}

int measure_elsewhere(job_context&) { return 2; }

}  // namespace

const benchmark shmem_bandwidth{"shmem_bandwidth", "bandwidth of active messages, beside another OpenSHMEM's puts",
                                drive_bandwidth, measure_elsewhere};
const benchmark shmem_rate{"shmem_rate", "rate of active messages in windows, beside another OpenSHMEM's puts",
                           drive_rate, measure_elsewhere};
const benchmark shmem_rings{"shmem_rings", "rings of active messages, beside another OpenSHMEM's puts", drive_rings,
                            measure_elsewhere};
const benchmark shmem_contention{"shmem_contention", "additions under a mutex that handlers take, too",
                                 drive_contention, measure_elsewhere};

}  // namespace amity::bench
