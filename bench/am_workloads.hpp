#pragma once

/// The workloads of the benchmarks of active messages on windows: those of X. Zhao, P. Balaji, W. Gropp and R. Thakur,
/// "Optimization Strategies for MPI-Interoperable Active Messages", section V.
///
/// A workload says what a segment has of input and output, what the memory of the target is, and which output the
/// handler makes. All elements are functions of their numbers, so that outputs can be checked.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "amity/window/active_message.hpp"
#include "bench/workload.hpp"

namespace amity::bench {

/// A sequence of nucleotides. The first letters say where the data set has it.
using sequence = std::array<char, 20>;

inline constexpr std::size_t letters_of_place = 6;
inline constexpr std::size_t sequences_known = std::size_t{1} << (2 * letters_of_place);

inline sequence sequence_of(std::size_t place) {
  sequence letters;
  std::uint64_t rest = place | (place * 0x9e3779b97f4a7c15 << (2 * letters_of_place));
  for (char& letter : letters) {
    letter = "ACTG"[rest % 4];
    rest /= 4;
  }
  return letters;
}

inline std::size_t place_of(const sequence& wanted) {
  std::size_t place = 0;
  for (std::size_t i = letters_of_place; i-- > 0;) place = place * 4 + ((static_cast<std::size_t>(wanted[i]) >> 1) & 3);
  return place;
}

/// Remote search: a segment is a sequence that the target looks up. It returns the sequence if it has it.
struct search_workload {
  using element = sequence;
  static constexpr std::string_view name = "search";
  static constexpr std::size_t inputs = 1, outputs = 1;  ///< elements of a segment
  static constexpr std::size_t memory = sequences_known;
  static constexpr std::size_t segments_of_system = 204;  ///< that 8 KiB hold

  static std::vector<sequence> data_set() {
    std::vector<sequence> all(memory);
    for (std::size_t i = 0; i < memory; ++i) all[i] = sequence_of(i);
    return all;
  }
  static sequence input(std::size_t i) { return sequence_of(i * 7 % memory); }
  static sequence output(std::size_t i) { return input(i); }
  static void handle(const am_call& call) {
    const auto wanted = call.input_as<sequence>();
    const auto known = call.persistent_as<sequence>();
    const auto found = call.output_as<sequence>();
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const sequence& candidate = known[place_of(wanted[i])];
      if (std::memcmp(candidate.data(), wanted[i].data(), sizeof candidate) == 0) found[i] = candidate;
    }
  }
};

/// The sum of absolute values: out[i] = abs(in[i]) + abs(window[i]), with 100 integers in a segment.
struct absolute_workload {
  using element = std::int32_t;
  static constexpr std::string_view name = "absolute values";
  static constexpr std::size_t inputs = 100, outputs = 100;
  static constexpr std::size_t memory = 100;
  static constexpr std::size_t segments_of_system = 10;

  static std::vector<std::int32_t> data_set() {
    std::vector<std::int32_t> all(memory);
    for (std::size_t i = 0; i < memory; ++i) all[i] = -static_cast<std::int32_t>(i);
    return all;
  }
  static std::int32_t input(std::size_t i) {
    const auto size = static_cast<std::int32_t>(i % 100'003);
    return i % 2 == 0 ? size : -size;
  }
  static std::int32_t output(std::size_t i) {
    return static_cast<std::int32_t>(i % 100'003) + static_cast<std::int32_t>(i % memory);
  }
  static void handle(const am_call& call) {
    const auto in = call.input_as<std::int32_t>();
    const auto window = call.persistent_as<std::int32_t>();
    const auto out = call.output_as<std::int32_t>();
    for (std::size_t first = 0; first < in.size(); first += memory) {
      for (std::size_t i = 0; i < memory; ++i) out[first + i] = std::abs(in[first + i]) + std::abs(window[i]);
    }
  }
};

/// Input and output of messages, with a segment after another.
template <class Workload>
struct am_data {
  using element = typename Workload::element;

  explicit am_data(std::size_t segments) : input(segments * Workload::inputs), output(segments * Workload::outputs) {
    for (std::size_t i = 0; i < input.size(); ++i) input[i] = Workload::input(i);
  }
  /// So that `check` sees what follows.
  void clear() { std::ranges::fill(output, element{}); }
  void check(std::size_t segments) const {
    for (std::size_t i = 0; i < segments * Workload::outputs; ++i) {
      if (output[i] == Workload::output(i)) continue;
      expect_equal(std::string(Workload::name) + ": the output at", i, segments * Workload::outputs);
    }
  }

  std::vector<element> input, output;
};

template <class Workload>
constexpr std::size_t bytes_of_segment() {
  return (Workload::inputs + Workload::outputs) * sizeof(typename Workload::element);
}

}  // namespace amity::bench
