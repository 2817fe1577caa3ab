#include "amity/world/fabric_choice.hpp"

#include <fmt/format.h>

#include "amity/core/team.hpp"
#include "amity/fabric/mpi/mpi.hpp"
#include "amity/fabric/ofi/ofi.hpp"

namespace amity::detail {
namespace {

bool under_process_manager(starter by) { return by == starter::pmix || by == starter::pmi1; }

/// Why MPI cannot connect this process with others; empty: it can. Loads an MPI.
std::string why_not_mpi(const settings& config, starter by) {
  if (!under_process_manager(by)) return "the launcher of an MPI has not started this process";
  return fabric::mpi::why_unavailable(config);
}

std::string why_not_ofi(const settings& config) {
  const fabric::capabilities found = fabric::ofi::describe(config, 1);
  return found.packet_bytes_max > 0 ? "" : found.description;
}

/// What is best where AMITY_FABRIC says nothing.
choice best_of(const circumstances& given) {
  if (given.by == starter::nobody) return {"shm", "this process is alone, or starts its ranks itself, on one node"};
  if (given.by == starter::own_launcher) return {"shm", "amity's launcher has started the ranks, on one node"};
  if (!given.no_ofi.empty() && given.no_mpi.empty()) return {"mpi", given.no_ofi};
  switch (given.ranks) {
    case spread::unknown:
      if (given.many_threads) return {"", "shm if all ranks are on one node, else composite"};
      return {"", "shm if all ranks are on one node, ofi if each is on another one, else composite"};
    case spread::one_node:
      return {"shm", "all ranks are on one node"};
    case spread::one_rank_a_node:
      if (given.many_threads)
        return {"composite", "the ranks are on several nodes, and threads of a rank share memory"};
      return {"ofi", "each rank is on another node"};
    case spread::mixed:
      break;
  }
  return {"composite", "the ranks are on several nodes, and some share one"};
}

std::string why_not(const std::string& fabric, const choice& made, const circumstances& given) {
  if (!given.wanted.empty() && fabric != "composite") return fmt::format("AMITY_FABRIC={}", given.wanted);
  if (fabric == "threads") return "only on request: all ranks are threads of one process";
  if (fabric == "sim") return "only on request: all ranks are simulated in one process";
  if (fabric == "mpi" && !given.no_mpi.empty()) return given.no_mpi;
  if ((fabric == "ofi" || fabric == "composite") && !given.no_ofi.empty()) return given.no_ofi;
  if (made.fabric.empty()) return fabric == "mpi" ? "only on request, where there is libfabric" : made.reason;
  if (made.fabric == "shm") return fmt::format("{}; shared memory is faster", made.reason);
  if (fabric == "mpi") return "only on request, where there is libfabric";
  if (fabric == "ofi") return "composite takes it between nodes";
  if (fabric == "composite") return made.reason;
  return "the ranks are on several nodes";
}

}  // namespace

circumstances circumstances::of(const settings& config, bool thorough, starter by) {
  circumstances found{.by = by, .many_threads = core::threads_per_rank(config) > 1};
  // The launcher always names the fabric.
  const bool is_launchers = found.by == starter::own_launcher && config.text("AMITY_FABRIC") == "shm";
  const bool is_asked = config.where_from("AMITY_FABRIC") != settings::origin::standard && !is_launchers;
  if (is_asked) found.wanted = config.text("AMITY_FABRIC");
  // Without libfabric, the fabric is mpi if an MPI can be loaded.
  const bool could_be_mpi = !is_asked && under_process_manager(found.by);
  if (thorough || could_be_mpi) found.no_ofi = why_not_ofi(config);
  if (thorough || (could_be_mpi && !found.no_ofi.empty())) found.no_mpi = why_not_mpi(config, found.by);
  return found;
}

std::vector<std::string> choice::lines() const {
  std::vector<std::string> all{fabric.empty() ? reason : fmt::format("{}: {}", fabric, reason)};
  for (const auto& [name, why] : others) all.push_back(fmt::format("not {}: {}", name, why));
  return all;
}

choice choose_fabric(const circumstances& given) {
  choice made = given.wanted.empty() ? best_of(given) : choice{given.wanted, "AMITY_FABRIC asks for it"};
  if (made.fabric == "composite" && given.ranks == spread::one_node) {
    made = {"shm", "AMITY_FABRIC=composite, and all ranks are on one node"};
  } else if (made.fabric == "composite" && given.ranks == spread::one_rank_a_node && !given.many_threads) {
    made = {"ofi", "AMITY_FABRIC=composite, and each rank is on another node"};
  }
  for (const char* const name : {"shm", "composite", "ofi", "mpi", "threads", "sim"}) {
    if (name != made.fabric) made.others.emplace_back(name, why_not(name, made, given));
  }
  return made;
}

}  // namespace amity::detail
