#pragma once

/// The fabric of a process that is one rank of its job.

#include <memory>
#include <string>
#include <string_view>

#include "amity/base/settings.hpp"
#include "amity/fabric/bootstrap.hpp"
#include "amity/fabric/fabric.hpp"
#include "amity/fabric/lanes.hpp"
#include "amity/fabric/neighbourhood.hpp"
#include "amity/world/fabric_choice.hpp"

namespace amity::detail {

/// Whether this value of AMITY_FABRIC has its ranks in processes of their own.
bool ranks_are_processes(std::string_view fabric);

/// The way in which this process reaches the other ranks.
struct connection {
  std::string fabric;                        ///< its name
  std::shared_ptr<fabric::bootstrap> start;  ///< null: memory of amity's launcher, or nobody else
  fabric::neighbourhood known;               ///< where there is a start

  /// Whether somebody ends the job when a rank of it has failed, whatever that rank says.
  bool is_watched() const noexcept { return start == nullptr; }
};

/// Tells the user which fabric is used, and why no other, if AMITY_FABRIC_SHOWN asks for that. For one process of a
/// job.
bool is_shown(const settings& config);
void show(const settings& config, const choice& made);

/// Joins whoever has started this process, and decides. Collective. Throws `error`.
connection connect(const settings& config);
/// Joins the processes of `start`. Collective. Throws `error`.
connection connect(const settings& config, std::shared_ptr<fabric::bootstrap> start);

/// CPUs that the processes of this node share, though each may be bound to some of them.
int cpus_here(const settings& config, const connection& by);

/// Joins the job by that fabric, with so many lanes of it for this process. Collective. Throws `error`.
std::unique_ptr<fabric::lanes> join_job(const settings& config, const connection& by, rank_t threads);
/// The fabric of a process with one lane.
std::unique_ptr<fabric::fabric> join_job(const settings& config);

}  // namespace amity::detail
