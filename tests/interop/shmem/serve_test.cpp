#include "amity/interop/shmem/am/serve.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace amity::shmem {
namespace {

/// What each rest of a wait is told, of so many looks, if messages have come before one of them.
std::vector<unsigned> rests_of(unsigned looks, unsigned messages_before) {
  std::vector<unsigned> rests;
  serve_until([&] { return rests.size() == looks; }, [&] { return rests.size() == messages_before; },
              [&](unsigned in_vain) { rests.push_back(in_vain); });
  return rests;
}

TEST(Serve, LooksInVainAddUp) { EXPECT_EQ(rests_of(2 * patient_looks, 10).back(), 2 * patient_looks - 1); }

TEST(Serve, WhoServesOthersHasPatienceForMore) {
  const auto rests = rests_of(2 * patient_looks + 60, 2 * patient_looks);
  EXPECT_EQ(rests[2 * patient_looks - 1], 2 * patient_looks - 1);
  EXPECT_EQ(rests[2 * patient_looks], patient_looks - looks_after_service);
  EXPECT_EQ(rests[2 * patient_looks + looks_after_service], patient_looks);
}

TEST(Serve, WhatIsReadyNeedsNeither) { EXPECT_TRUE(rests_of(0, 0).empty()); }

}  // namespace
}  // namespace amity::shmem
