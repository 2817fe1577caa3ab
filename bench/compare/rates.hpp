#pragma once

/// What a comparison prints: the rates of its searches, as one sample that the benchmarks' driver reads.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <vector>

namespace amity::bench::compare {

class rates {
 public:
  /// A search that traversed so many of the graph's edges: those within the component of its root, or, where edges are
  /// directed, those that leave what it reached.
  void add(std::uint64_t edges, double seconds) {
    m_per_s_.push_back(static_cast<double>(edges) / seconds * 1e-6);
    edges_ += static_cast<double>(edges);
  }

  /// `PREFIXm_per_s`, the median in millions of edges a second, `..harmonic_m_per_s`, the mean that Graph500 reports,
  /// `..best_m_per_s`, and `..edges`, the mean number of edges, which tells whether two programs searched the same.
  void print(const char* prefix, const char* after) const {
    auto sorted = m_per_s_;
    std::sort(sorted.begin(), sorted.end());
    double inverse = 0;
    for (const double rate : sorted) inverse += 1 / rate;
    const auto count = static_cast<double>(sorted.size());
    std::printf("\"%sm_per_s\": %.3f, \"%sharmonic_m_per_s\": %.3f, \"%sbest_m_per_s\": %.3f, \"%sedges\": %.1f%s",
                prefix, sorted[sorted.size() / 2], prefix, count / inverse, prefix, sorted.back(), prefix,
                edges_ / count, after);
  }

 private:
  std::vector<double> m_per_s_;
  double edges_ = 0;
};

}  // namespace amity::bench::compare
