#pragma once

/// Where the protocols of Long messages are compared: the modelled network of the paper on reassembly (Hargrove and
/// Bonachea, 2019), and the fabrics of this machine on which puts can notify.

#include <string>
#include <string_view>
#include <vector>

#include "bench/harness.hpp"

namespace amity::bench {

struct long_network {
  std::string name;  ///< as rows show it
  job players;
};

/// The running benchmark's job on two ranks, on each of these networks that this build has.
std::vector<long_network> long_networks(const driver& d);

/// "aries: reassembly, 4 KiB". `scripts/figures` reads this, and what callers put behind it.
std::string config_of(const long_network& network, std::string_view protocol, std::size_t bytes);

}  // namespace amity::bench
