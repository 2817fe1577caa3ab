/// When a rank of `composite` looks at a network from which nothing comes.

#include "amity/fabric/composite/network_turns.hpp"

#include <gtest/gtest.h>

namespace amity::fabric {
namespace {

/// Looks in vain until looks are rare, and then lets more time pass than there is between two in any case.
void make_quiet(network_turns& turns) {
  for (int looks = 0; looks < 64; ++looks) {
    EXPECT_TRUE(turns.is_due()) << looks;
    network_turns::look(turns).found(false);
  }
  const std::uint64_t begin_ns = steady_now_ns();
  while (steady_now_ns() - begin_ns < 2'000'000) {
  }
}

/// Polls, each of which hands over so many local packets, until the network has its turn.
int polls_until_due(network_turns& turns, std::size_t packets) {
  for (int polls = 1;; ++polls) {
    if (turns.is_due()) return polls;
    turns.handed_over(packets);
  }
}

TEST(network_turns, come_by_polls_where_they_find_little) {
  network_turns turns;
  make_quiet(turns);
  EXPECT_EQ(polls_until_due(turns, 0), 128);
}

// Their handlers may take long.
TEST(network_turns, come_by_packets_where_polls_find_many) {
  network_turns turns;
  make_quiet(turns);
  EXPECT_EQ(polls_until_due(turns, 64), 3);
}

TEST(network_turns, are_all_again_once_something_has_come) {
  network_turns turns;
  make_quiet(turns);
  EXPECT_FALSE(turns.is_due());
  network_turns::look(turns).found(true);
  EXPECT_TRUE(turns.is_due());
}

}  // namespace
}  // namespace amity::fabric
