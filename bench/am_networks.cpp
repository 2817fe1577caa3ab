#include "bench/am_networks.hpp"

#include <utility>

#include "bench/window_jobs.hpp"

namespace amity::bench {

std::string am_simulated_name() { return "qdr, handlers 250 ps/B"; }

std::optional<job> am_cluster(const driver& d, int ranks, const arguments& args) {
  std::optional<job> simulated = on_network(d, "qdr", ranks, args);
  // As the name says.
  if (simulated) simulated->run.environment.emplace_back("AMITY_SIM_HANDLER_BYTE_PS=250");
  return simulated;
}

std::vector<am_network> am_networks(const driver& d, const arguments& args) {
  std::vector<am_network> all;
  if (std::optional<job> simulated = am_cluster(d, 2, args)) {
    simulated->run.environment.emplace_back("AMITY_SIM_NODE_RANKS=1");
    all.push_back({.name = am_simulated_name(), .is_simulated = true, .ranks = std::move(*simulated)});
  }
#ifdef AMITY_BENCH_OFI
  all.push_back({.name = "tcp;ofi_rxm", .is_simulated = false, .ranks = over_tcp(d, "tcp;ofi_rxm", 2, args)});
#endif
  return all;
}

}  // namespace amity::bench
