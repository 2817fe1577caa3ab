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
#include <vector>

#include "amity/base/settings.hpp"
#include "amity/fabric/bootstrap.hpp"
#include "amity/fabric/fabric.hpp"

namespace amity::fabric::shm {

class job_memory;

/// What these fabrics can do with the given settings, for a job of `ranks` ranks.
capabilities describe_processes(const settings& config, rank_t ranks);
capabilities describe_threads(const settings& config, rank_t ranks);

/// Joins the job whose launcher started this process: rank AMITY_RANK of AMITY_RANKS, memory AMITY_JOB_FD.
/// A process without a launcher becomes the single rank of a job of its own. Throws `error`.
std::unique_ptr<fabric> join(const settings& config);

/// Runs `rank_main` on `ranks` threads of this process, and returns the first non-zero status, or 0. A failing status
/// aborts the job, as does an exception; the first one is rethrown here after all threads have ended.
int run_threads(const settings& config, rank_t ranks, const std::function<int(fabric&)>& rank_main);

/// As `join`, for a process that is `count` ranks of its fabric, each on a thread of its own, in a job of AMITY_RANKS
/// such processes. Ends as `run_threads` does.
int join_with_threads(const settings& config, rank_t count, const std::function<int(fabric&)>& rank_main);

/// Joins the ranks `beside` this one on its node, in ascending order, this one included, whoever has started them;
/// rank i of this fabric is the i-th of them. Collective over all ranks of the job, each with those beside it. With
/// `as_part`, the same on all of them, the fabric becomes part of another one: it can be waited for together with
/// others, and names the sources of packets by their ranks in the whole job. Throws `error`.
std::unique_ptr<fabric> join_node(const settings& config, bootstrap& start, const std::vector<rank_t>& beside,
                                  bool as_part);

/// As `join_node` and `join_with_threads`.
int join_node_with_threads(const settings& config, bootstrap& start, const std::vector<rank_t>& beside, rank_t count,
                           const std::function<int(fabric&)>& rank_main);

}  // namespace amity::fabric::shm
