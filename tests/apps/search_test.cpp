// The searches give the sequential answer, on every kind of job, for any number of ranks.

#include <gtest/gtest.h>

#include <cmath>

#include "amity/base/random.hpp"
#include "apps/graph/command/gather.hpp"
#include "apps/graph/kernels/search.hpp"
#include "apps/graph/verify/verify.hpp"
#include "tests/support/worlds.hpp"

namespace amity::apps::graph {
namespace {

/// Some graph, made anew by each rank that needs it.
struct sample {
  vertex vertices;
  std::uint64_t edges;
  std::uint64_t seed;
  float longest = 1;     ///< lengths are below
  float whole_step = 0;  ///< > 0: lengths are multiples of it, 0 among them
  bool crowded = false;  ///< most edges touch few vertices, as in graphs of the world
  float delta = 0;
};

csr<arc> make_graph(const sample& s) {
  return csr<arc>(s.vertices, [&](auto visit) {
    splitmix64 random(s.seed);
    const auto pick = [&] {
      const std::uint64_t v = random.below(s.vertices);
      return static_cast<vertex>(s.crowded ? v * v / s.vertices * v / s.vertices : v);
    };
    for (std::uint64_t i = 0; i < s.edges; ++i) {
      const vertex source = pick(), target = pick();
      float length = s.longest * static_cast<float>(random() >> 40) * 0x1p-24f;
      if (s.whole_step > 0) length -= std::fmod(length, s.whole_step);
      visit(source, {target, length});
      visit(target, {source, length});
    }
  });
}

/// Searches from a root and returns what is wrong with the answer. Collective; matters on rank 0.
std::string mistakes(world& w, const csr<arc>& whole, vertex vertices, vertex root, float delta = 0) {
  const layout where(vertices, w.size());
  const auto place_of = w.rank() == 0 ? deal(whole, where) : std::vector<vertex>();
  vertex root_place = w.rank() == 0 ? place_of[root] : 0;
  broadcast(w, root_place);

  const auto stepping = prepare_stepping(w, distribute<arc>(w, where, whole, place_of), delta);
  std::uint64_t settled = 0;
  const auto lengths = sssp(w, stepping, root_place, [&](std::uint32_t, std::uint64_t so_far) { settled = so_far; });
  const auto all_lengths = gather(w, stepping.own, lengths.mine, place_of);

  if (w.rank() != 0) return {};
  const labels names = labels::numbered(vertices, 0);
  return find_mistake(whole, names, root, all_lengths);
}

void expect_right(world& w, const sample& s) {
  const csr<arc> whole = w.rank() == 0 ? make_graph(s) : csr<arc>();
  EXPECT_EQ(mistakes(w, whole, s.vertices, static_cast<vertex>(s.seed % s.vertices), s.delta), "") << "seed " << s.seed;
}

class searches : public testing::on_jobs {};

TEST_P(searches, of_random_graphs) {
  run([](world& w) {
    for (std::uint64_t seed = 1; seed <= 6; ++seed) {
      expect_right(w, {.vertices = 1000, .edges = 800 * seed, .seed = seed, .crowded = seed % 2 == 0});
    }
  });
}

TEST_P(searches, of_graphs_with_lengths_of_all_kinds) {
  run([](world& w) {
    expect_right(w, {.vertices = 500, .edges = 2000, .seed = 11, .longest = 0});  // all are 0
    expect_right(w, {.vertices = 500, .edges = 2000, .seed = 12, .longest = 3, .whole_step = 1});
    expect_right(w, {.vertices = 500, .edges = 2000, .seed = 13, .longest = 1e6f});
    expect_right(w, {.vertices = 500, .edges = 2000, .seed = 14, .longest = 1e-6f});
    expect_right(w, {.vertices = 500, .edges = 2000, .seed = 15, .delta = 0.001f});
    expect_right(w, {.vertices = 500, .edges = 2000, .seed = 16, .delta = 100});
  });
}

TEST_P(searches, of_graphs_smaller_than_the_job) {
  run([](world& w) {
    expect_right(w, {.vertices = 1, .edges = 0, .seed = 1});
    expect_right(w, {.vertices = 1, .edges = 2, .seed = 1});
    expect_right(w, {.vertices = 3, .edges = 3, .seed = 2});
  });
}

TEST_P(searches, of_a_long_chain) {
  run([](world& w) {
    constexpr vertex vertices = 300;
    csr<arc> chain;
    if (w.rank() == 0) {
      chain = csr<arc>(vertices, [](auto visit) {
        for (vertex v = 0; v + 1 < vertices; ++v) visit(v, {v + 1, 1});
      });
    }
    EXPECT_EQ(mistakes(w, chain, vertices, 0), "");
  });
}

INSTANTIATE_TEST_SUITE_P(on, searches, testing::every_job(), testing::job_name);

TEST(deal, gives_every_rank_its_share_of_large_and_small) {
  const csr<arc> whole = make_graph({.vertices = 1003, .edges = 5000, .seed = 3, .crowded = true});
  const layout where(1003, 4);
  const auto place_of = deal(whole, where);
  std::vector<int> taken(where.places());
  std::vector<std::uint64_t> arcs(4);
  for (vertex v = 0; v < 1003; ++v) {
    ++taken[place_of[v]];
    arcs[static_cast<std::size_t>(where.owner(place_of[v]))] += whole.degree(v);
  }
  EXPECT_EQ(std::ranges::count(taken, 1), 1003);
  std::uint64_t largest = 0;
  for (vertex v = 0; v < 1003; ++v) largest = std::max(largest, whole.degree(v));
  const auto [least, most] = std::ranges::minmax(arcs);
  EXPECT_LE(most - least, largest) << "in each round of the deal, the difference is at most that of two rounds' firsts";
}

}  // namespace
}  // namespace amity::apps::graph
