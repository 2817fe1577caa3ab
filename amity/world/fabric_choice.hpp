#pragma once

/// Which fabric a process uses, and why no other.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "amity/base/settings.hpp"
#include "amity/world/bootstrap/starter.hpp"

namespace amity::detail {

/// Where the ranks of a job are.
enum class spread {
  unknown,          ///< nobody has asked them yet
  one_node,         ///< all together
  one_rank_a_node,  ///< each alone
  mixed,
};

/// What the choice depends on.
struct circumstances {
  starter by = starter::nobody;
  std::string wanted = {};  ///< AMITY_FABRIC; empty: not set
  spread ranks = spread::unknown;
  bool many_threads = false;  ///< a rank has several
  std::string no_ofi = {};    ///< why libfabric cannot be used; empty: it can, or it was not looked for
  std::string no_mpi = {};    ///< likewise

  /// The circumstances that are known without asking other ranks. Looks for libfabric, which takes about 300 ms, if
  /// asked to be `thorough`, or if the fabric may be mpi.
  static circumstances of(const settings& config, bool thorough, starter by);
};

struct choice {
  std::string fabric;  ///< empty: the ranks must be asked where they are
  std::string reason;
  std::vector<std::pair<std::string, std::string>> others = {};  ///< and why they were not taken

  /// "shm: all ranks are on one node", "not ofi: ..."
  std::vector<std::string> lines() const;
};

/// The same on all ranks, if the circumstances are.
choice choose_fabric(const circumstances& given);

}  // namespace amity::detail
