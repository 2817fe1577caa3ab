#include "amity/world/transport.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "amity/base/error.hpp"
#include "amity/base/log.hpp"
#include "amity/fabric/composite/composite.hpp"
#include "amity/fabric/node.hpp"
#include "amity/fabric/ofi/ofi.hpp"
#include "amity/fabric/shm/job_memory.hpp"
#include "amity/fabric/shm/shm.hpp"
#include "amity/world/bootstrap/starter.hpp"
#include "amity/world/fabric_choice.hpp"

namespace amity::detail {
namespace {

spread spread_of(const std::vector<rank_t>& node_of) {
  if (std::ranges::count(node_of, 0) == std::ssize(node_of)) return spread::one_node;
  for (rank_t rank = 0; const rank_t node : node_of) {
    if (node != rank++) return spread::mixed;
  }
  return spread::one_rank_a_node;
}

connection connect_by(std::shared_ptr<fabric::bootstrap> start, const settings& config, circumstances here) {
  connection by{.fabric = {}, .start = std::move(start), .known = {}};
  by.known = fabric::meet(*by.start, config);
  here.ranks = spread_of(by.known.node_of);
  const choice made = choose_fabric(here);
  if (made.fabric == "shm" && here.ranks != spread::one_node) {
    throw error("AMITY_FABRIC=shm", by.start->rank(), "the ranks of this job are on several nodes",
                "unset AMITY_FABRIC");
  }
  by.fabric = made.fabric;
  if (by.start->rank() == 0) show(config, made);
  return by;
}

}  // namespace

bool ranks_are_processes(std::string_view fabric) {
  return fabric == "shm" || fabric == "ofi" || fabric == "composite";
}

connection connect(const settings& config) {
  const circumstances here = circumstances::of(config, is_shown(config), find_starter(config));
  const choice made = choose_fabric(here);
  if (made.fabric != "shm" || (here.by != starter::own_launcher && here.by != starter::nobody))
    return connect_by(make_bootstrap(config), config, here);
  if (is_first_process(config)) show(config, made);
  return {.fabric = made.fabric, .start = nullptr, .known = {}};
}

connection connect(const settings& config, std::shared_ptr<fabric::bootstrap> start) {
  const circumstances here = circumstances::of(config, is_shown(config), starter::program);
  if (!here.wanted.empty() && !ranks_are_processes(here.wanted)) {
    throw error("AMITY_FABRIC", start->rank(), fmt::format("the processes of this program cannot use {}", here.wanted),
                "unset AMITY_FABRIC, or set it to shm, ofi or composite");
  }
  return connect_by(std::move(start), config, here);
}

bool is_shown(const settings& config) { return config.integer("AMITY_FABRIC_SHOWN") != 0; }

void show(const settings& config, const choice& made) {
  if (!is_shown(config)) return;
  for (const std::string& line : made.lines()) log_warning(no_rank, "fabric: " + line);
}

int cpus_here(const settings& config, const connection& by) {
  if (by.start) return by.known.cpus;
  if (config.integer("AMITY_RANK") < 0) return fabric::allowed_cpus().count();
  const auto ranks = static_cast<rank_t>(config.integer("AMITY_RANKS"));
  return fabric::shm::job_memory::attach(static_cast<int>(config.integer("AMITY_JOB_FD")), ranks).cpus();
}

std::unique_ptr<fabric::lanes> join_job(const settings& config, const connection& by, rank_t threads) {
  if (by.fabric == "ofi") return fabric::ofi::join(config, by.start, by.known, threads);
  if (by.fabric == "composite") {
    auto local = fabric::shm::join_node(config, *by.start, by.known, threads, true);
    auto network = fabric::ofi::join(config, by.start, by.known, threads, fabric::ofi::reach::other_nodes);
    return fabric::make_composite(std::move(local), std::move(network), by.known.cpus);
  }
  if (!by.start) return fabric::shm::join(config, threads);
  return fabric::shm::join_node(config, *by.start, by.known, threads, false);
}

std::unique_ptr<fabric::fabric> join_job(const settings& config) {
  return join_job(config, connect(config), 1)->enter(0);
}

}  // namespace amity::detail
