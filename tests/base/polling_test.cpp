#include "amity/base/polling.hpp"

#include <gtest/gtest.h>

#include <cstddef>

namespace amity {
namespace {

constexpr polling_limits how{.looks = 100, .looks_after_service = 10};
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

TEST(polling, gives_up_cpu_after_looks) {
  polling wait(how, never);
  EXPECT_EQ(patient_looks(wait), 100u);
  EXPECT_EQ(patient_looks(wait), 0u);
}

TEST(polling, patient_after_service) {
  polling wait(how, never);
  patient_looks(wait);
  wait.served();
  EXPECT_EQ(patient_looks(wait), 10u);
}

TEST(polling, early_service_costs_no_patience) {
  polling wait(how, never);
  for (int i = 0; i < 5; ++i) wait.rested();
  wait.served();
  EXPECT_EQ(patient_looks(wait), 95u);
}

TEST(polling, gives_up_shared_cpu_after_service) {
  polling wait(polling_limits::of_shared_cpu(5), never);
  EXPECT_EQ(patient_looks(wait), 5u);
  wait.served();
  EXPECT_EQ(patient_looks(wait), 0u);
}

TEST(polling, reports_repeat) {
  polling wait(how, at_once_ns);
  EXPECT_EQ(reports(wait, 100), 0u);
  EXPECT_GT(reports(wait, 1000), 1u);
}

TEST(polling, reports_come_after_their_time_or_never) {
  for (const std::uint64_t after_ns : {hour_ns, never}) {
    polling wait(how, after_ns);
    EXPECT_EQ(reports(wait, 1000), 0u) << after_ns;
  }
}

TEST(polling, service_begins_another_wait) {
  polling wait(how, at_once_ns);
  // The wait begins with the first look that reads the clock: the 128th.
  EXPECT_EQ(reports(wait, 191), 0u);
  wait.served();
  EXPECT_EQ(reports(wait, 101), 0u);
  EXPECT_GT(reports(wait, 1000), 0u);
}

}  // namespace
}  // namespace amity
