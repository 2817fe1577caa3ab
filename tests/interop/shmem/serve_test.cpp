#include "amity/interop/shmem/am/serve.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace amity::shmem {
namespace {

/// What each rest of a wait is told, if messages come before some of its looks.
std::vector<unsigned> rests_of(const std::vector<bool>& messages) {
  std::vector<unsigned> rests;
  serve_until([&] { return rests.size() == messages.size(); }, [&] { return messages[rests.size()]; },
              [&](unsigned looks) { rests.push_back(looks); });
  return rests;
}

TEST(Serve, LooksInVainAddUp) {
  EXPECT_EQ(rests_of({false, false, false, false}), (std::vector<unsigned>{0, 1, 2, 3}));
}

TEST(Serve, WhoServesOthersHasNotLookedInVain) {
  EXPECT_EQ(rests_of({false, false, false, true, false, true, true, false}),
            (std::vector<unsigned>{0, 1, 2, 0, 1, 0, 0, 1}));
}

TEST(Serve, WhatIsReadyNeedsNeither) { EXPECT_TRUE(rests_of({}).empty()); }

}  // namespace
}  // namespace amity::shmem
