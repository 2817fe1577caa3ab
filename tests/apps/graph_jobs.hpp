#pragma once

/// The shapes of jobs that everything about distributed graphs is tested on.

#include <array>
#include <ostream>
#include <string>
#include <vector>

#include "amity/base/random.hpp"
#include "apps/graph/store/topology.hpp"
#include "apps/graph/types.hpp"
#include "tests/support/cases.hpp"
#include "tests/support/programs.hpp"

namespace amity::apps::graph::testing {

struct job_shape {
  std::string fabric;
  rank_t ranks;
  rank_t threads;
};
inline void PrintTo(const job_shape& s, std::ostream* out) { *out << s.fabric << ' ' << s.ranks << " x " << s.threads; }

/// Simulated jobs have all numbers of ranks and threads; in whole matrices jobs of threads and processes have them,
/// too.
inline std::vector<job_shape> job_shapes() {
  std::vector<job_shape> all;
#ifdef __SANITIZE_THREAD__  // it cannot follow memory that processes share, and looks at what threads do
  all = {{"threads", 1, 2}, {"threads", 2, 2}};
#else
  std::vector<std::string> fabrics{"sim"};
  if (amity::testing::whole_matrices()) {
    fabrics = {"sim", "threads", "shm"};
  } else {
    all = {{"threads", 3, 1}, {"threads", 1, 2}, {"shm", 4, 1}, {"shm", 2, 2}};
  }
  for (const std::string& fabric : fabrics) {
    for (const auto& [ranks, threads] : {std::array{1, 1}, {2, 1}, {3, 1}, {4, 1}, {8, 1}, {1, 2}, {2, 2}, {3, 4}}) {
      all.push_back({fabric, ranks, threads});
    }
  }
#endif
  return all;
}

/// The same, and a job so large that messages travel over a grid.
inline std::vector<job_shape> job_shapes_and_many_ranks() {
  auto all = job_shapes();
  all.push_back({"sim", direct_ranks_max + 6, 1});
  return all;
}

inline std::string shape_name(const ::testing::TestParamInfo<job_shape>& tested) {
  const job_shape& s = tested.param;
  return s.fabric + "_" + std::to_string(s.ranks) + "x" + std::to_string(s.threads);
}

/// A test that runs its program on every shape: `INSTANTIATE_TEST_SUITE_P(on, NAME, ::testing::ValuesIn(job_shapes()),
/// shape_name)`.
class on_shapes : public ::testing::TestWithParam<job_shape> {
 protected:
  static void run(const amity::testing::program& body) {
    const job_shape& s = GetParam();
    amity::testing::run_job(amity::testing::shape(s.fabric, s.ranks, s.threads), body);
  }
};

/// Some graph, which every rank makes anew.
struct random_graph {
  vertex vertices;
  std::uint64_t edges;
  std::uint64_t seed;
  bool crowded = false;  ///< most edges touch few vertices, as in graphs of the world

  edge operator()(std::uint64_t i) const {
    splitmix64 random(splitmix64::mix(seed) + i);
    const auto pick = [&] {
      const std::uint64_t v = random.below(vertices);
      return static_cast<vertex>(crowded ? v * v / vertices * v / vertices : v);
    };
    const vertex source = pick();
    const vertex target = pick();
    return {source, target, static_cast<float>(random() >> 40) * 0x1p-24f};
  }

  std::vector<edge> all() const {
    std::vector<edge> result;
    for (std::uint64_t i = 0; i < edges; ++i) result.push_back((*this)(i));
    return result;
  }

  /// What rank `rank` of `ranks` holds: each edge is on one rank.
  std::vector<edge> share(rank_t rank, rank_t ranks) const {
    std::vector<edge> result;
    for (auto i = static_cast<std::uint64_t>(rank); i < edges; i += static_cast<std::uint64_t>(ranks))
      result.push_back((*this)(i));
    return result;
  }
};

}  // namespace amity::apps::graph::testing
