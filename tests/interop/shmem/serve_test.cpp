#include "amity/interop/shmem/am/serve.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

namespace amity::shmem {
namespace {

/// What each rest of a wait is told, of so many looks, if messages have come before one of them.
std::vector<unsigned> rests_of(unsigned looks, unsigned messages_before) {
  std::vector<unsigned> rests;
  serve_until([&] { return rests.size() == looks; }, [&] { return rests.size() == messages_before; },
              [&](unsigned in_vain) { rests.push_back(in_vain); }, 0, [](double) {});
  return rests;
}

/// How often a wait of so many looks is told of, if messages have come before one of them.
std::size_t reports_of(unsigned looks, unsigned messages_before, std::uint64_t stall_ns) {
  unsigned rests = 0;
  std::size_t reports = 0;
  serve_until([&] { return rests == looks; }, [&] { return rests == messages_before; }, [&](unsigned) { ++rests; },
              stall_ns,
              [&](double seconds) {
                EXPECT_GT(seconds, 0);
                ++reports;
              });
  return reports;
}

TEST(Serve, LooksInVainAddUp) { EXPECT_EQ(rests_of(2 * patient_looks, 10).back(), 2 * patient_looks - 1); }

TEST(Serve, WhoServesOthersHasPatienceForMore) {
  const auto rests = rests_of(2 * patient_looks + 60, 2 * patient_looks);
  EXPECT_EQ(rests[2 * patient_looks - 1], 2 * patient_looks - 1);
  EXPECT_EQ(rests[std::size_t{2} * patient_looks], patient_looks - looks_after_service);
  EXPECT_EQ(rests[2 * patient_looks + looks_after_service], patient_looks);
}

TEST(Serve, WhatIsReadyNeedsNeither) { EXPECT_TRUE(rests_of(0, 0).empty()); }

TEST(Serve, AWaitIsToldOfAgainAndAgain) {
  EXPECT_GT(reports_of(patient_looks + 1000, 0, 1), 1u);
  EXPECT_EQ(reports_of(patient_looks + 1000, 0, 3'600'000'000'000), 0u);
}

TEST(Serve, AWaitIsNotToldOfBeforePatienceEnds) { EXPECT_EQ(reports_of(patient_looks, 0, 1), 0u); }

TEST(Serve, WhoServesOthersBeginsToWaitAgain) {
  // The first look that asks for the time begins with it. So does the first one after messages, when patience has ended
  // again; without them the time would run on, and the wait would be told of there.
  constexpr unsigned asks = patient_looks + 1, asks_again = asks + looks_after_service + 1;
  EXPECT_EQ(reports_of(asks_again, asks, 1), 0u);
  EXPECT_GT(reports_of(asks_again + 1000, asks, 1), 0u);
}

TEST(Serve, ReportsCanBeTurnedOff) { EXPECT_EQ(reports_of(patient_looks + 1000, 0, 0), 0u); }

}  // namespace
}  // namespace amity::shmem
