/// The contract on the simulated fabric: undisturbed, under each of its faults, and behind the decorators.

#include <utility>

#include "amity/fabric/checked.hpp"
#include "amity/fabric/sim/sim.hpp"
#include "amity/fabric/traced.hpp"
#include "contract.hpp"
#include "tests/support/virtual_time.hpp"

namespace amity::fabric::testing {
namespace {

harness simulated(std::string name, sim::sim_options options) {
  return {.name = std::move(name), .run = [options](rank_t ranks, const rank_body& body) {
            sim::run(ranks, options, [&](fabric& own) {
              amity::testing::limited_in_time limited(own);
              body(limited);
              return 0;
            });
          }};
}

/// Three ranks are a node.
harness nodes() {
  harness made = simulated("nodes", {.node_latency_ns = 100, .node_ranks = 3});
  made.numbers = {4, 8};
  return made;
}

std::vector<harness> simulations() {
  const harness undisturbed = simulated("sim", {});
  const harness disturbed = simulated("disturbed", {.delay_ns_max = 3000, .reorder_percent = 20, .credits = 5});
  return {
      undisturbed,
      decorated<checked>("checked", undisturbed),
      decorated<traced>("traced", undisturbed),
      decorated<checked>("checked", disturbed),
      decorated<traced>("traced", decorated<checked>("checked", disturbed)),
      simulated("delay", {.delay_ns_max = 5000}),
      simulated("reorder", {.delay_ns_max = 1000, .reorder_percent = 30}),
      simulated("one_credit", {.credits = 1}),
      simulated("back_pressure", {.credits = 3}),
      simulated("slow_rank", {.slow_ranks = {{.rank = 0, .factor = 20}}}),
      simulated("stopped_rank", {.stopped_ranks = {{.rank = 0, .from_ns = 2000, .until_ns = 300'000}}}),
      simulated("free_of_charge", {.latency_ns = 1, .overhead_ns = 0, .gap_ns = 0, .byte_ps = 0}),
      nodes(),
      simulated("small_packets", {.packet_bytes = 600}),
  };
}

INSTANTIATE_TEST_SUITE_P(sim, contract, every_job_of(simulations()), job_name);

}  // namespace
}  // namespace amity::fabric::testing
