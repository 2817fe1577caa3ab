#pragma once

/// Steps that all ranks take together when they load a graph.

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "amity/amity.hpp"

namespace amity::apps::graph {

/// Collective: does `work` on every rank, and returns when all have done it. Where it throws `amity::error`, or memory
/// runs out, on any rank, all ranks throw the same `amity::error`: that with the least place in the input, and of the
/// lowest rank among equal places. Rank 0 is then the one to tell the user. `work` is not collective.
void together(world& w, const std::function<void()>& work);

/// How many things a block of the input has.
struct block_count {
  std::uint64_t block;
  std::uint64_t count;
};

/// Collective: how many there are in front of each block, on every rank; at the end, how many there are. Each rank
/// gives the counts of its blocks.
std::vector<std::uint64_t> counts_in_front(world& w, std::span<const block_count> mine);

}  // namespace amity::apps::graph
