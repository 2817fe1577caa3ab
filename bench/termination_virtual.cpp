/// Virtual time from quiescence, when the last handler of an epoch has run, until all of 1,024 simulated ranks have
/// left the epoch, for both detectors; and how many ranks left too early.
///
/// The work: every rank sends four messages to random ranks; a handler sends one on with probability 0.92, and another
/// with probability 0.03. Each round of the contest is another seed of the simulator.

#include "amity/base/random.hpp"
#include "bench/benchmarks.hpp"
#include "bench/ranks.hpp"

namespace amity::bench {
namespace {

/// What the ranks of the one simulating process count together, in the simulator's own order of events.
struct tally {
  std::uint64_t in_flight = 0;
  std::uint64_t handled = 0;
  std::uint64_t quiet_ns = 0;  ///< when the last handler so far ran
  std::uint64_t left_ns = 0;   ///< when the last rank so far left the epoch
};

class random_work {
 public:
  random_work(world& w, tally& shared)
      : w_(w),
        shared_(shared),
        random_(static_cast<std::uint64_t>(w.config().integer("AMITY_SIM_SEED") * w.size() + w.rank())) {}

  template <class Message>
  void start(Message& task) {
    for (int i = 0; i < 4; ++i) send(task);
  }

  template <class Message>
  void handle(Message& task) {
    const auto dice = random_() >> 32;
    if (dice % 1000 < 920) send(task);
    if (dice / 1000 % 1000 < 30) send(task);
    ++shared_.handled;
    --shared_.in_flight;
    shared_.quiet_ns = std::max(shared_.quiet_ns, w_.now_ns());
  }

 private:
  template <class Message>
  void send(Message& task) {
    ++shared_.in_flight;
    task.send(static_cast<rank_t>(random_.below(static_cast<std::uint64_t>(w_.size()))), 0);
  }

  world& w_;
  tally& shared_;
  splitmix64 random_;
};

sample measure_rank(world& w, tally& shared) {
  random_work work(w, shared);
  auto task = w.message<std::uint64_t>([&](const std::uint64_t&, auto& self) { work.handle(self); });
  w.epoch([&] { work.start(task); });
  const auto left_ns = w.now_ns();
  const bool work_was_left = shared.in_flight != 0;
  shared.left_ns = std::max(shared.left_ns, left_ns);
  w.barrier();
  // Early is who left before the last handler ran, whichever of the two the simulator computed first.
  const auto early = w.sum(std::uint64_t{work_was_left || left_ns < shared.quiet_ns ? 1u : 0u});
  expect_equal("messages in flight", shared.in_flight, 0);
  return {{"detection_us", static_cast<double>(shared.left_ns - shared.quiet_ns) * 1e-3},
          {"early_ranks", static_cast<double>(early)},
          {"messages", static_cast<double>(shared.handled)}};
}

void drive(driver& d) {
  const int ranks = d.tiny() ? 64 : 1024;
  const auto detector = [&](const std::string& name) {
    auto result =
        d.ranks(ranks, {}, {"AMITY_FABRIC=sim", "AMITY_SIM_DELAY_NS_MAX=3000", "AMITY_EPOCH_DETECTOR=" + name});
    result.name = name;
    result.seeded = true;
    return result;
  };
  contest jobs{detector("colored")};
  jobs.peer = detector("four_counter");
  jobs.rounds = 20;
  const auto config = std::to_string(ranks) + " sim ranks, colored";
  d.compare(jobs, {{config, "time after quiescence", "us", "detection_us", "", "detection_us", {at_most(160)}},
                   {config, "left early", "ranks", "early_ranks", "", "", {at_most(0)}}});
  contest oracle{detector("four_counter")};
  oracle.rounds = 20;
  d.compare(oracle, {{std::to_string(ranks) + " sim ranks, four_counter",
                      "left early",
                      "ranks",
                      "early_ranks",
                      "",
                      "",
                      {at_most(0)}}});
}

int measure(job_context& job) {
  tally shared;
  return run_ranks(job, [&](world& w) { return measure_rank(w, shared); });
}

}  // namespace

const benchmark termination_virtual{"termination_virtual",
                                    "virtual time that 1,024 simulated ranks need to detect the end", drive, measure};

}  // namespace amity::bench
