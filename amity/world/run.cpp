#include "amity/world/run.hpp"

#include <cstdio>
#include <exception>

#include "amity/base/error.hpp"
#include "amity/base/log.hpp"
#include "amity/fabric/shm/shm.hpp"
#include "amity/fabric/sim/sim.hpp"
#include "amity/world/launch.hpp"

namespace amity::detail {
namespace {

/// Prints the exception that is being handled, once, and returns the exit status for it.
int report_failure() noexcept {
  try {
    throw;
  } catch (const job_aborted&) {
    // The rank that ended the job has said why.
  } catch (const error& mistake) {
    std::fprintf(stderr, "%s\n", mistake.what());
  } catch (const std::exception& other) {
    std::fprintf(stderr, "amity: the program ended with an exception: %s\n", other.what());
  } catch (...) {
    std::fprintf(stderr, "amity: the program ended with an exception of unknown type\n");
  }
  return 1;
}

int run_rank(fabric::fabric& transport, const settings& config, const std::function<int(world&)>& program) {
  world rank(transport, config);
  const int status = program(rank);
  // No rank leaves before all are ready to: a message to it would find nobody. A failure does not wait for the others.
  if (status == 0) rank.barrier();
  return status;
}

}  // namespace

int report_startup_failure() noexcept { return report_failure(); }

int run_job(const settings& config, int argc, const char* const* argv, const std::function<int(world&)>& program) try {
  const auto ranks = static_cast<rank_t>(config.integer("AMITY_RANKS"));
  const bool launched = config.integer("AMITY_RANK") >= 0;
  const std::string& kind = config.text("AMITY_FABRIC");
  // Before the warnings: rank 0 of the launched job prints them.
  if (kind == "shm" && !launched && ranks > 1) return self_launch(config, argc, argv);
  if (!launched || config.integer("AMITY_RANK") == 0) {
    for (const std::string& warning : config.warnings()) log_warning(no_rank, warning);
  }
  const auto rank_main = [&](fabric::fabric& transport) { return run_rank(transport, config, program); };
  if (kind == "threads") return fabric::shm::run_threads(config, ranks, rank_main);
  if (kind == "sim") return fabric::sim::run(ranks, fabric::sim::sim_options::from(config), rank_main).status;
  return rank_main(*fabric::shm::join(config));
} catch (...) {
  return report_failure();
}

}  // namespace amity::detail
