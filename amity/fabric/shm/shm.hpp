#pragma once

/// Ranks that share memory: processes of one node (`shm`) or threads of one process (`threads`).
///
/// A packet of up to 48 bytes travels inside one cache line. A larger one is written once, by the source, into a buffer
/// that the target lent to it, and read in place; the ring carries its descriptor. Credits are ring slots (every packet
/// holds one) and buffers (large packets hold one as well).
///
/// Budget of a send: no system call, no allocation, no lock, no atomic read-modify-write.

#include <functional>
#include <memory>

#include "amity/base/settings.hpp"
#include "amity/fabric/bootstrap.hpp"
#include "amity/fabric/fabric.hpp"
#include "amity/fabric/lanes.hpp"
#include "amity/fabric/neighbourhood.hpp"

namespace amity::fabric::shm {

class job_memory;

/// What these fabrics can do with the given settings, for a job of `ranks` ranks.
capabilities describe_processes(const settings& config, rank_t ranks);
capabilities describe_threads(const settings& config, rank_t ranks);

/// Runs `rank_main` on `ranks` threads of this process. Ends as `run_lanes` does.
int run_threads(const settings& config, rank_t ranks, const std::function<int(fabric&)>& rank_main);

/// Joins the job whose launcher started this process: process AMITY_RANK of AMITY_RANKS, memory AMITY_JOB_FD, with
/// `threads` lanes each. A process without a launcher is a job of its own. Throws `error`.
std::unique_ptr<lanes> join(const settings& config, rank_t threads);

/// Joins the processes of this one's node, in ascending order, whoever has started them: process i of this fabric is
/// the i-th of them. Collective over all processes of the job. With `as_part`, the same on all of them, the fabrics
/// become parts of others: they can be waited for together with others, and name the sources of packets by their ranks
/// in the whole job. Throws `error`.
std::unique_ptr<lanes> join_node(const settings& config, bootstrap& start, const neighbourhood& known, rank_t threads,
                                 bool as_part);

}  // namespace amity::fabric::shm
