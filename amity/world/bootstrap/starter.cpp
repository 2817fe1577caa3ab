#include "amity/world/bootstrap/starter.hpp"

#include <cstdlib>
#include <string_view>

#include <fmt/format.h>

#include "amity/base/error.hpp"
#include "amity/fabric/launcher_sign.hpp"
#include "amity/fabric/node.hpp"
#include "amity/world/bootstrap/alone.hpp"
#include "amity/world/bootstrap/launched.hpp"
#include "amity/world/bootstrap/pmi1.hpp"
#include "amity/world/bootstrap/pmix.hpp"

namespace amity::detail {

starter find_starter(const settings& config) {
  if (config.integer("AMITY_RANK") >= 0) return starter::own_launcher;
  if (pmix_is_there()) return starter::pmix;
  if (pmi1_is_there()) return starter::pmi1;
  return starter::nobody;
}

bool is_first_process(const settings& config) {
  const auto is_zero = [](const char* rank) { return rank == nullptr || std::string_view(rank) == "0"; };
  switch (find_starter(config)) {
    case starter::own_launcher:
      return config.integer("AMITY_RANK") == 0;
    case starter::pmix:
      return is_zero(std::getenv("PMIX_RANK"));
    case starter::pmi1:
      return is_zero(std::getenv("PMI_RANK"));
    case starter::nobody:
    case starter::program:
      break;
  }
  return true;
}

namespace {

std::shared_ptr<fabric::bootstrap> join_starter(const settings& config) {
  switch (find_starter(config)) {
    case starter::own_launcher:
      return launched_bootstrap(config);
    case starter::pmix:
      return pmix_bootstrap();
    case starter::pmi1:
      return pmi1_bootstrap();
    case starter::nobody:
    case starter::program:
      break;
  }
  return std::make_shared<alone>();
}

}  // namespace

void refuse_to_be_one_of_many() {
  const auto sign = fabric::find_launcher_sign();
  if (!sign) return;
  throw error("joining the job", no_rank,
              fmt::format("{} has started {} processes ({}), but nothing by which they could find one another",
                          sign->launcher, sign->processes, sign->variable),
              "start them by srun --mpi=pmix (srun --mpi=list shows what there is), mpirun, mpiexec or amity run");
}

void refuse_to_be_many_jobs(const std::string& fabric) {
  const auto sign = fabric::find_launcher_sign();
  if (!sign) return;
  throw error("joining the job", no_rank,
              fmt::format("{} has started {} processes ({}), but with AMITY_FABRIC={} all ranks are in one",
                          sign->launcher, sign->processes, sign->variable, fabric),
              "start the program alone, with AMITY_RANKS as many ranks as you want, or leave AMITY_FABRIC unset");
}

std::shared_ptr<fabric::bootstrap> make_bootstrap(const settings& config) {
  auto joined = join_starter(config);
  joined->set_node(fabric::node_identity(config.text("AMITY_NODE")));
  return joined;
}

}  // namespace amity::detail
