/// Topologies: every route ends, over ranks that exist, in as many hops and with as many peers as promised.

#include <algorithm>
#include <bit>
#include <cmath>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "amity/base/random.hpp"
#include "amity/message/topology.hpp"

namespace amity {
namespace {

static_assert(topology<direct> && topology<grid> && topology<hypercube> && topology<node_aware>);
struct returns_a_double {
  double next_hop(rank_t, rank_t dest) const { return dest; }
};
static_assert(!topology<returns_a_double> && !topology<int>);

/// All routes of a job.
struct routes_of_job {
  int hops_max = 0;
  std::vector<std::set<rank_t>> peers;  ///< of each rank
  std::vector<int> passed_on;           ///< messages of an all-to-all that each rank passes on
};

template <topology Topology>
routes_of_job follow_all(const Topology& routes, rank_t ranks) {
  routes_of_job seen;
  seen.peers.resize(static_cast<std::size_t>(ranks));
  seen.passed_on.resize(static_cast<std::size_t>(ranks));
  for (rank_t source = 0; source < ranks; ++source) {
    for (rank_t dest = 0; dest < ranks; ++dest) {
      int hops = 0;
      for (rank_t here = source; here != dest;) {
        const rank_t next = routes.next_hop(here, dest);
        EXPECT_TRUE(next >= 0 && next < ranks && next != here) << here << " to " << dest << ": " << next;
        seen.peers[static_cast<std::size_t>(here)].insert(next);
        if (here != source) ++seen.passed_on[static_cast<std::size_t>(here)];
        here = next;
        if (next < 0 || next >= ranks || ++hops > 100) {
          ADD_FAILURE() << "no route from " << source << " to " << dest << " of " << ranks;
          return seen;
        }
      }
      seen.hops_max = std::max(seen.hops_max, hops);
    }
  }
  return seen;
}

std::size_t peers_max(const routes_of_job& seen) {
  return std::ranges::max(seen.peers, {}, &std::set<rank_t>::size).size();
}

constexpr rank_t ranks_max = 70;

TEST(topologies, a_direct_route_is_one_hop) {
  const routes_of_job seen = follow_all(direct{}, 7);
  EXPECT_EQ(seen.hops_max, 1);
  EXPECT_EQ(peers_max(seen), 6u);
}

TEST(topologies, a_grid_of_any_size_takes_two_hops_and_few_peers) {
  for (rank_t ranks = 1; ranks <= ranks_max; ++ranks) {
    SCOPED_TRACE(ranks);
    const grid routes(ranks);
    const routes_of_job seen = follow_all(routes, ranks);
    EXPECT_LE(seen.hops_max, 2);
    EXPECT_LE(peers_max(seen), static_cast<std::size_t>(routes.columns() + routes.rows() - 2));
    EXPECT_LE(routes.columns() + routes.rows() - 2, 2 * std::sqrt(ranks));
  }
}

TEST(topologies, a_hypercube_of_any_size_takes_a_hop_and_a_peer_a_bit) {
  for (rank_t ranks = 1; ranks <= ranks_max; ++ranks) {
    SCOPED_TRACE(ranks);
    const hypercube routes(ranks);
    const int bits = std::bit_width(static_cast<unsigned>(ranks - 1));
    EXPECT_EQ(routes.dimensions(), bits);
    const routes_of_job seen = follow_all(routes, ranks);
    EXPECT_LE(seen.hops_max, bits);
    EXPECT_LE(peers_max(seen), static_cast<std::size_t>(bits));
  }
}

TEST(topologies, all_ranks_pass_on_alike) {
  for (const routes_of_job& seen : {follow_all(grid(64), 64), follow_all(hypercube(64), 64)}) {
    const auto [least, most] = std::ranges::minmax(seen.passed_on);
    EXPECT_EQ(least, most);
    EXPECT_GT(least, 0);
  }
}

/// Nodes by rank: each on the node of `node_of(rank)`.
void expect_one_hop_on_each_side(const std::vector<rank_t>& nodes) {
  const auto ranks = static_cast<rank_t>(nodes.size());
  const auto node_of = [&](rank_t rank) { return nodes[static_cast<std::size_t>(rank)]; };
  const node_aware routes(nodes);
  const routes_of_job seen = follow_all(routes, ranks);
  EXPECT_LE(seen.hops_max, 2);
  const std::size_t all_nodes = std::set(nodes.begin(), nodes.end()).size();
  for (rank_t here = 0; here < ranks; ++here) {
    std::set<rank_t> across;
    for (const rank_t peer : seen.peers[static_cast<std::size_t>(here)]) {
      if (node_of(peer) == node_of(here)) continue;
      EXPECT_TRUE(across.insert(node_of(peer)).second) << here << " talks to two ranks of node " << node_of(peer);
    }
    EXPECT_EQ(across.size(), all_nodes - 1);
    for (rank_t dest = 0; dest < ranks; ++dest) {
      if (dest == here) continue;
      EXPECT_EQ(node_of(routes.next_hop(here, dest)), node_of(dest)) << here << " to " << dest;
    }
  }
}

TEST(topologies, node_aware_routes_cross_once_however_uneven_nodes_are) {
  expect_one_hop_on_each_side({0});
  expect_one_hop_on_each_side({0, 1, 1, 0, 1, 5, 1, 0});
  for (rank_t ranks = 1; ranks <= ranks_max; ++ranks) {
    SCOPED_TRACE(ranks);
    splitmix64 random(static_cast<std::uint64_t>(ranks));
    std::vector<rank_t> blocks, dealt, at_random;
    for (rank_t rank = 0; rank < ranks; ++rank) {
      blocks.push_back(rank / 8);
      dealt.push_back(rank % 5);
      at_random.push_back(static_cast<rank_t>(random.below(9)));
    }
    expect_one_hop_on_each_side(blocks);
    expect_one_hop_on_each_side(dealt);
    expect_one_hop_on_each_side(at_random);
  }
}

TEST(topologies, ranks_of_even_nodes_talk_across_to_their_like) {
  const node_aware routes(std::vector<rank_t>{0, 0, 0, 3, 3, 3, 6, 6, 6});
  EXPECT_EQ(routes.next_hop(1, 3), 4);
  EXPECT_EQ(routes.next_hop(4, 3), 3);
  EXPECT_EQ(routes.next_hop(2, 6), 8);
}

}  // namespace
}  // namespace amity
