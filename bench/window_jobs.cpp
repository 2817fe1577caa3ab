#include "bench/window_jobs.hpp"

#include <cstdlib>
#include <utility>

#include <fmt/format.h>

namespace amity::bench {
namespace {

// With MPICH 4.0.2 and UCX 1.13 over TCP, a process hangs in MPI_Finalize if it still received messages after another
// process had begun to finalize.
job over_tcp_of(const mpi_installation& mpi, job made) {
  use_tcp(made);
  if (mpi.name == "MPICH") made.run.end_seconds_max = 5;
  return made;
}

}  // namespace

std::string key_of(std::string_view protocol, std::string_view figure) {
  return fmt::format("{}_{}", protocol, figure);
}

std::optional<job> on_network([[maybe_unused]] const driver& d, [[maybe_unused]] const std::string& network,
                              [[maybe_unused]] int ranks, [[maybe_unused]] arguments args) {
#ifdef AMITY_BENCH_COMMAND
  job result = d.ranks(ranks, std::move(args));
  const std::vector<std::string> command{AMITY_BENCH_COMMAND, "sim", "--network", network};
  result.run.words.insert(result.run.words.begin(), command.begin(), command.end());
  return result;
#else
  return std::nullopt;
#endif
}

std::vector<std::string> tcp_settings(const std::string& provider) {
  return {"AMITY_FABRIC=ofi", "AMITY_OFI_SEALED=0", "AMITY_OFI_ADDRESS=127.0.0.1", "AMITY_OFI_PROVIDER=" + provider};
}

job over_tcp(const driver& d, const std::string& provider, int ranks, arguments args) {
  return d.ranks(ranks, std::move(args), tcp_settings(provider));
}

std::vector<mpi_installation> mpis_over_tcp(int ranks) {
  std::vector<mpi_installation> all = mpi_installations();
  // See over_tcp_of: half of the jobs on four ranks hang.
  if (ranks > 2) std::erase_if(all, [](const mpi_installation& each) { return each.name == "MPICH"; });
  return all;
}

// Open MPI's other components for windows take the memory of the node, or fail over TCP. The variables of MPICH are
// those of its device ch4:ucx, and of ch4:ofi.
void use_tcp(job& over_mpi) {
  for (const char* const each : {"OMPI_MCA_pml=ob1", "OMPI_MCA_btl=tcp,self", "OMPI_MCA_osc=pt2pt",
                                 "MPIR_CVAR_NOLOCAL=1", "UCX_TLS=tcp,self", "FI_PROVIDER=tcp;ofi_rxm"})
    over_mpi.run.environment.emplace_back(each);
}

job mpi_over_tcp(const driver& d, const mpi_installation& mpi, int ranks, std::vector<std::string> words) {
  job result = d.mpi_window(mpi, ranks, std::move(words));
  result.name += " over TCP";
  return over_tcp_of(mpi, std::move(result));
}

job ranks_over_mpi(const driver& d, const mpi_installation& mpi, const benchmark& which, int ranks, arguments args) {
  return over_tcp_of(mpi, d.mpi_ranks(mpi, which, ranks, std::move(args)));
}

void use_a_node_for_each_rank() {
  if (const char* const rank = std::getenv("AMITY_RANK")) ::setenv("AMITY_NODE", rank, 1);
}

}  // namespace amity::bench
