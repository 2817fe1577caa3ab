#include "bench/long_networks.hpp"

#include <fmt/format.h>

namespace amity::bench {

std::vector<long_network> long_networks(const driver& d) {
  std::vector<long_network> all;
#ifdef AMITY_BENCH_COMMAND
  // Ranks of one node would not meet the network.
  job modelled = d.ranks(2, {}, {"AMITY_SIM_NODE_RANKS=1"});
  const std::vector<std::string> before{AMITY_BENCH_COMMAND, "sim", "--network", "aries"};
  modelled.run.words.insert(modelled.run.words.begin(), before.begin(), before.end());
  all.push_back({"aries", std::move(modelled)});
#endif
  const auto over = [&](const std::string& provider) {
    return d.ranks(2, {}, {"AMITY_FABRIC=ofi", "AMITY_OFI_SEALED=0", "AMITY_OFI_PROVIDER=" + provider});
  };
  all.push_back({"tcp;ofi_rxm", over("tcp;ofi_rxm")});
  all.push_back({"net", over("net")});
  all.push_back({"shm provider", over("shm")});
  all.push_back({"shm", d.ranks(2, {}, {"AMITY_FABRIC=shm"})});
  return all;
}

std::string config_of(const long_network& network, std::string_view protocol, std::size_t bytes) {
  return fmt::format("{}: {}, {} KiB", network.name, protocol, bytes / 1024);
}

}  // namespace amity::bench
