// The oracle: the sequential searches are right, and no wrong answer passes.

#include "apps/graph/verify/verify.hpp"

#include <gtest/gtest.h>

#include "apps/graph/verify/sequential.hpp"

namespace amity::apps::graph {
namespace {

/// A diamond with a long way round, a chain of length 0, and a vertex that nothing leads to:
/// a -> b (1), a -> c (5), b -> c (1), c -> d (0), d -> c (0), d -> e (0), x -> a (1)
class diamond : public ::testing::Test {
 protected:
  enum : vertex { a, b, c, d, e, x, count };

  diamond() {
    for (const char* name : {"a", "b", "c", "d", "e", "x"}) names.intern(name);
  }

  template <class Distance>
  std::string mistake_in(const paths<Distance>& found) const {
    return find_mistake(graph, names, a, found);
  }

  labels names;
  csr<arc> graph{count, [](auto visit) {
                   visit(a, {b, 1});
                   visit(a, {c, 5});
                   visit(b, {c, 1});
                   visit(c, {d, 0});
                   visit(d, {c, 0});
                   visit(d, {e, 0});
                   visit(x, {a, 1});
                 }};
  paths<level> levels = sequential_bfs(graph, a);
  paths<weight> lengths = sequential_sssp(graph, a);
};

TEST_F(diamond, sequential_answers) {
  EXPECT_EQ(std::vector<level>(levels.distance.begin(), levels.distance.end()),
            (std::vector<level>{0, 1, 1, 2, 3, unreached<level>}));
  EXPECT_EQ(std::vector<weight>(lengths.distance.begin(), lengths.distance.end()),
            (std::vector<weight>{0, 1, 2, 2, 2, unreached<weight>}));
  EXPECT_EQ(levels.parent[c], a);
  EXPECT_EQ(lengths.parent[c], b);
  EXPECT_EQ(lengths.parent[x], no_vertex);
  EXPECT_EQ(mistake_in(levels), "");
  EXPECT_EQ(mistake_in(lengths), "");
}

TEST_F(diamond, wrong_distances_are_named_with_both_values) {
  levels.distance[d] = 1;
  EXPECT_EQ(mistake_in(levels), "vertex d: distance 1, but 2 in the sequential answer");
  lengths.distance[e] = unreached<weight>;
  EXPECT_EQ(mistake_in(lengths), "vertex e: distance unreached, but 2 in the sequential answer");
}

TEST_F(diamond, a_parent_must_be_joined_to_its_child) {
  levels.parent[d] = b;
  EXPECT_EQ(mistake_in(levels), "vertex d: distance 2, but no edge from its parent b at distance 1 explains that");
}

TEST_F(diamond, a_parent_must_explain_the_distance) {
  lengths.parent[c] = a;
  EXPECT_EQ(mistake_in(lengths), "vertex c: distance 2, but no edge from its parent a at distance 0 explains that");
}

TEST_F(diamond, the_reached_have_parents_and_others_none) {
  levels.parent[e] = no_vertex;
  EXPECT_EQ(mistake_in(levels), "vertex e: reached, but it has no parent");
  lengths.parent[x] = a;
  EXPECT_EQ(mistake_in(lengths), "vertex x: unreached, but its parent is a");
}

TEST_F(diamond, parents_must_lead_to_the_root) {
  lengths.parent[c] = d;  // and d's is c: both edges explain their distances
  EXPECT_EQ(mistake_in(lengths), "vertex c: its parents lead back to c, never to the root");
}

TEST_F(diamond, the_root_is_its_own_parent) {
  levels.parent[a] = x;
  EXPECT_NE(mistake_in(levels), "");
}

}  // namespace
}  // namespace amity::apps::graph
