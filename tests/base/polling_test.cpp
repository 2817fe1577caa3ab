#include "amity/base/polling.hpp"

#include <gtest/gtest.h>

#include <cstddef>

namespace amity {
namespace {

constexpr patience how{.looks = 100, .looks_after_service = 10};
constexpr std::uint64_t never = 0, at_once_ns = 1, hour_ns = 3'600'000'000'000;

/// Looks until the thread gives up its CPU, of 1000 at most.
std::size_t patient_looks(polling& wait) {
  std::size_t looks = 0;
  for (; looks < 1000 && wait.is_patient(); ++looks) wait.rested();
  return looks;
}

std::size_t reports(polling& wait, std::size_t looks) {
  std::size_t found = 0;
  for (; looks > 0; --looks) {
    if (!wait.rested()) continue;
    EXPECT_GT(wait.seconds(), 0);
    ++found;
  }
  return found;
}

TEST(Polling, CpuIsGivenUpAfterSomeLooks) {
  polling wait(how, never);
  EXPECT_EQ(patient_looks(wait), 100u);
  EXPECT_EQ(patient_looks(wait), 0u);
}

TEST(Polling, ServiceGivesPatienceForMore) {
  polling wait(how, never);
  patient_looks(wait);
  wait.served();
  EXPECT_EQ(patient_looks(wait), 10u);
}

TEST(Polling, EarlyServiceCostsNoPatience) {
  polling wait(how, never);
  for (int i = 0; i < 5; ++i) wait.rested();
  wait.served();
  EXPECT_EQ(patient_looks(wait), 95u);
}

TEST(Polling, SharedCpuIsGivenUpAfterService) {
  polling wait(patience::of_shared_cpu(5), never);
  EXPECT_EQ(patient_looks(wait), 5u);
  wait.served();
  EXPECT_EQ(patient_looks(wait), 0u);
}

TEST(Polling, ReportsRepeat) {
  polling wait(how, at_once_ns);
  EXPECT_EQ(reports(wait, 100), 0u);
  EXPECT_GT(reports(wait, 1000), 1u);
}

TEST(Polling, ReportsComeAfterTheirTime) {
  polling wait(how, hour_ns);
  EXPECT_EQ(reports(wait, 1000), 0u);
}

TEST(Polling, ReportsCanBeTurnedOff) {
  polling wait(how, never);
  EXPECT_EQ(reports(wait, 1000), 0u);
}

TEST(Polling, ServiceBeginsAnotherWait) {
  polling wait(how, at_once_ns);
  // The first look without patience asks for the time, and the wait begins with it.
  EXPECT_EQ(reports(wait, 101), 0u);
  wait.served();
  EXPECT_EQ(reports(wait, 11), 0u);
  EXPECT_GT(reports(wait, 1000), 0u);
}

}  // namespace
}  // namespace amity
