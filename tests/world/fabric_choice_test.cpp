/// Which fabric a job gets where nobody names one, and where one is named that would be a waste.

#include <string>

#include <gtest/gtest.h>

#include "amity/world/fabric_choice.hpp"

namespace amity::detail {
namespace {

std::string chosen(circumstances given) { return choose_fabric(given).fabric; }

TEST(the_choice_of_fabrics, depends_on_where_the_ranks_are) {
  EXPECT_EQ(chosen({.by = starter::nobody}), "shm");
  EXPECT_EQ(chosen({.by = starter::own_launcher}), "shm");
  EXPECT_EQ(chosen({.by = starter::pmix}), "");
  EXPECT_EQ(chosen({.by = starter::pmix, .ranks = spread::one_node}), "shm");
  EXPECT_EQ(chosen({.by = starter::pmix, .ranks = spread::one_rank_a_node}), "ofi");
  EXPECT_EQ(chosen({.by = starter::pmix, .ranks = spread::mixed}), "composite");
}

TEST(the_choice_of_fabrics, lets_threads_share_memory) {
  const auto with_threads = [](spread ranks, const std::string& wanted) {
    return chosen({.by = starter::pmi1, .wanted = wanted, .ranks = ranks, .many_threads = true});
  };
  EXPECT_EQ(with_threads(spread::one_node, ""), "shm");
  EXPECT_EQ(with_threads(spread::one_rank_a_node, ""), "composite");
  EXPECT_EQ(with_threads(spread::mixed, ""), "composite");
  EXPECT_EQ(with_threads(spread::one_rank_a_node, "ofi"), "ofi");
  EXPECT_EQ(with_threads(spread::one_rank_a_node, "composite"), "composite");
  EXPECT_EQ(with_threads(spread::one_node, "composite"), "shm");
}

TEST(the_choice_of_fabrics, takes_no_composite_of_one_part) {
  const auto wanted = [](spread ranks) { return chosen({.by = starter::pmix, .wanted = "composite", .ranks = ranks}); };
  EXPECT_EQ(wanted(spread::one_node), "shm");
  EXPECT_EQ(wanted(spread::one_rank_a_node), "ofi");
  EXPECT_EQ(wanted(spread::mixed), "composite");
}

TEST(the_choice_of_fabrics, takes_mpi_where_there_is_no_libfabric) {
  EXPECT_EQ(chosen({.by = starter::pmix, .no_ofi = "none"}), "mpi");
  EXPECT_EQ(chosen({.by = starter::pmix, .ranks = spread::mixed, .no_ofi = "none", .no_mpi = "none"}), "composite");
}

}  // namespace
}  // namespace amity::detail
