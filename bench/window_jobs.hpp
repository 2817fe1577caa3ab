#pragma once

/// Jobs of the benchmarks of windows on networks: simulated ones, and TCP on the loopback device.

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "amity/window/options.hpp"
#include "bench/harness.hpp"

namespace amity::bench {

/// A protocol of windows with its name in arguments and keys of samples.
struct named_protocol {
  std::string_view name;
  window_protocol protocol;
};

/// The protocols of the paper, and the choice that windows make themselves.
constexpr auto named_protocols() {
  return std::array{
      named_protocol{"send_recv", window_protocol::send_recv},
      named_protocol{"buffered", window_protocol::buffered},
      named_protocol{"rma", window_protocol::rma},
      named_protocol{"automatic", window_protocol::automatic},
  };
}

/// Returns the key of a protocol's figure: "buffered_us".
std::string key_of(std::string_view protocol, std::string_view figure);

/// Returns the running benchmark's job on a network that `amity sim` knows; nothing if this build lacks the command.
std::optional<job> on_network(const driver& d, const std::string& network, int ranks, arguments args);

/// Settings "AMITY_...=..." of jobs over libfabric's TCP, without seals: MPI has none.
std::vector<std::string> tcp_settings(const std::string& provider);

/// Makes a job of an MPI use TCP, although the ranks share a node.
void use_tcp(job& over_mpi);

/// Returns the running benchmark's job over libfabric's TCP.
job over_tcp(const driver& d, const std::string& provider, int ranks, arguments args);

/// Returns the MPIs whose windows work over TCP with so many ranks.
std::vector<mpi_installation> mpis_over_tcp(int ranks);

/// Returns windows of an MPI over TCP, although the ranks share a node.
job mpi_over_tcp(const driver& d, const mpi_installation& mpi, int ranks, std::vector<std::string> words);

/// Returns a benchmark's job over the sends and receives of an MPI that uses TCP, although the ranks share a node.
job ranks_over_mpi(const driver& d, const mpi_installation& mpi, const benchmark& which, int ranks, arguments args);

/// Gives each rank a node of its own: a job calls this before it starts. Simulated networks have nodes already.
void use_a_node_for_each_rank();

}  // namespace amity::bench
