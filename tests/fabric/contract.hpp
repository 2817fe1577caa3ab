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

#include <sys/uio.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
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

/// Distinguishes the packets and operations of a test: no two of one job have the same key.
inline std::uint64_t key_of(rank_t source, rank_t dest, std::size_t index) {
  return (static_cast<std::uint64_t>(source) * 1000 + static_cast<std::uint64_t>(dest)) * 100000 + index;
}

/// Whether the system lets this process read memory of its parent, which has what this one had when it was forked.
inline bool may_read_parent() {
  static const std::uint64_t there = 0;
  std::uint64_t here = 1;
  const iovec to{.iov_base = &here, .iov_len = sizeof here};
  const iovec from{.iov_base = const_cast<std::uint64_t*>(&there), .iov_len = sizeof there};
  return ::process_vm_readv(::getppid(), &to, 1, &from, 1, 0) == ssize_t{sizeof here};
}

}  // namespace amity::fabric::testing
