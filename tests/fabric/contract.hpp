#pragma once

/// The contract of `fabric.hpp` as tests: one body for every fabric.
///
/// A fabric is put to the test by one instantiation in a source file of its own:
///
///     INSTANTIATE_TEST_SUITE_P(sim, contract, every_job_of({my_harness}), job_name);
///
/// The bodies are ordinary programs over `fabric`: they hold on virtual and on real time, between fibers, threads and
/// processes. Where a fabric may answer early or late (`wait`, returned credits) they loop. A broken promise can show
/// as a test that does not end; it fails by a limit of time (`virtual_time.hpp`, `watchdog.hpp`).

#include <cstddef>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "harness.hpp"
#include "tests/support/cases.hpp"

namespace amity::fabric::testing {

/// The harness, and the number of ranks.
using job = std::tuple<harness, rank_t>;

class contract : public ::testing::TestWithParam<job> {
 protected:
  rank_t ranks() const { return std::get<rank_t>(GetParam()); }
  void run(const rank_body& body) const { std::get<harness>(GetParam()).run(ranks(), body); }
};

/// Each harness with two numbers of ranks, so that three successive harnesses have all numbers; in whole matrices each
/// harness with 1, 2, 3, 4 and 8 ranks.
inline auto every_job_of(const std::vector<harness>& harnesses) {
  const std::vector<std::vector<rank_t>> pairs{{1, 2}, {3, 4}, {3, 8}};
  std::vector<job> jobs;
  for (std::size_t i = 0; i < harnesses.size(); ++i) {
    std::vector<rank_t> numbers = harnesses[i].numbers.empty() ? pairs[i % pairs.size()] : harnesses[i].numbers;
    if (amity::testing::whole_matrices()) numbers = {1, 2, 3, 4, 8};
    for (const rank_t ranks : numbers) jobs.emplace_back(harnesses[i], ranks);
  }
  return ::testing::ValuesIn(jobs);
}

inline std::string job_name(const ::testing::TestParamInfo<job>& info) {
  return std::get<harness>(info.param).name + "_" + std::to_string(std::get<rank_t>(info.param));
}

}  // namespace amity::fabric::testing
