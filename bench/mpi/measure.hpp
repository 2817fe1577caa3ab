#pragma once

/// What plain MPI programs of the benchmarks share: batches of timed operations, answers, and the printed sample.
///
/// The programs are compiled with each MPI, without amity.

#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace mpi_program {

/// Figures by name, as the driver reads them.
using sample = std::map<std::string, double>;

/// Ends the job with a message if an answer is wrong.
inline void expect(bool right, const char* what) {
  if (right) return;
  std::fprintf(stderr, "wrong %s\n", what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

/// `values` must not be empty.
inline double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// Calls `batch()`, which returns one timing, `batches` times, and returns the median.
template <class Batch>
double median_of(int batches, Batch&& batch) {
  std::vector<double> values(static_cast<std::size_t>(batches));
  std::generate(values.begin(), values.end(), batch);
  return median(std::move(values));
}

/// Calls `operation(i)` for each i below `count`. Returns the mean time of a call in nanoseconds.
template <class Operation>
double each_ns(int count, Operation operation) {
  const double begin = MPI_Wtime();
  for (int i = 0; i < count; ++i) operation(i);
  return (MPI_Wtime() - begin) / count * 1e9;
}

/// Prints the sample as one JSON object. By one rank.
inline void print(const sample& measured) {
  std::string json;
  for (const auto& [key, value] : measured) {
    json += (json.empty() ? "{\"" : ", \"") + key + "\": " + std::to_string(value);
  }
  std::printf("%s}\n", json.c_str());
}

}  // namespace mpi_program
