#pragma once

/// What tests of the simulated fabric do on its ranks.

#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "amity/fabric/fabric.hpp"
#include "amity/fabric/sim/sim.hpp"
#include "tests/support/errors.hpp"

namespace amity::fabric::sim {

using amity::testing::error_of;

/// For a rank that has a credit.
inline void send(fabric& own, rank_t dest, std::uint64_t header, std::size_t bytes = 0) {
  const std::vector<std::byte> payload(bytes);
  ASSERT_EQ(own.try_send(dest, header, payload, claim::ordinary), status::ok);
}

/// Runs a body that ends well, or by an exception.
inline sim_result run_all(rank_t ranks, const sim_options& options, const std::function<void(fabric&)>& body) {
  return run(ranks, options, [&](fabric& own) {
    body(own);
    return 0;
  });
}

/// Figures that are easy to reckon with.
inline sim_options priced() {
  return {.latency_ns = 10'000, .overhead_ns = 100, .gap_ns = 0, .byte_ps = 0, .poll_ns = 7, .credits = 200};
}

inline bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// What a file holds; it is removed.
inline std::string take(const std::string& path) {
  std::ifstream file(path);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  std::filesystem::remove(path);
  return text;
}

}  // namespace amity::fabric::sim
