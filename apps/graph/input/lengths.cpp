#include "apps/graph/input/lengths.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>

#include "amity/base/random.hpp"
#include "apps/graph/console/text.hpp"
#include "apps/graph/input/formats.hpp"
#include "apps/graph/input/together.hpp"

namespace amity::apps::graph {
namespace {

constexpr std::uint64_t integer_max = 255;

/// Uniform in [0, 1): as many bits as a float holds.
float uniform(std::uint64_t bits) { return static_cast<float>(bits >> 40) * 0x1p-24f; }

/// Edges of an input, and where they lie in it.
struct placed_edges {
  std::span<edge> mine;
  std::span<const edge_run> runs;
  std::uint64_t edges;  ///< of the whole input

  /// How many edges the input has up to the end of a run.
  std::uint64_t end(std::size_t run) const {
    const std::uint64_t end = run + 1 < runs.size() ? runs[run + 1].begin : mine.size();
    return runs[run].first + (end - runs[run].begin);
  }
  edge& at(std::size_t run, std::uint64_t place) const { return mine[runs[run].begin + (place - runs[run].first)]; }

  /// length(i) gives the length of the edge that is the i-th of the input, from 0.
  template <class Length>
  void set(Length length) const {
    for (std::size_t run = 0; run < runs.size(); ++run) {
      for (std::uint64_t i = runs[run].first; i < end(run); ++i) at(run, i).length = length(i);
    }
  }
};

void read_lengths(const placed_edges& graph, const std::string& file, progress& watcher, bool any_sign) {
  input from(file, watcher);
  watcher.begin("reading " + from.name(), from.file_bytes(), true);
  std::uint64_t first = 0;  // of the block
  std::size_t run = 0;
  for (auto block = from.next_block(); !block.empty(); block = from.next_block()) {
    const std::uint64_t last = first + block.size() / sizeof(float);
    for (; run < graph.runs.size() && graph.runs[run].first < last; ++run) {
      for (std::uint64_t i = std::max(first, graph.runs[run].first); i < std::min(last, graph.end(run)); ++i) {
        float length = 0;
        std::memcpy(&length, block.data() + (i - first) * sizeof length, sizeof length);
        const std::string problem = length_problem(length, any_sign);
        if (!problem.empty()) {
          fail(fmt::format("{}: byte {}", from.name(), i * sizeof length), fmt::format("length {} {}", length, problem),
               "shortest paths want lengths that are finite and at least 0", i);
        }
        graph.at(run, i).length = length;
      }
      if (graph.end(run) > last) break;
    }
    first = last;
  }
  const std::uint64_t wanted = graph.edges * sizeof(float);
  if (from.bytes_returned() != wanted) {
    fail(from.name(),
         fmt::format("{} bytes, where {} edges want {}", from.bytes_returned(), grouped(graph.edges), wanted),
         "write one float32 for each edge, in the order of the edges");
  }
  watcher.finish(counted(graph.edges, "length"));
}

/// Returns the description.
std::string set(const placed_edges& graph, const std::string& choice, std::uint64_t seed, progress& watcher,
                bool any_sign) {
  const auto random = [&](std::uint64_t i) { return splitmix64::mix(splitmix64::mix(seed) + i); };
  if (choice == "integer") {
    graph.set([&](std::uint64_t i) { return static_cast<float>(1 + random(i) % integer_max); });
    return described_lengths(choice, seed);
  }
  if (choice == "unit" || choice == "uniform" || choice == "input") {
    graph.set([&](std::uint64_t i) { return length_of(choice, uniform(random(i))); });
    return described_lengths(choice, seed);
  }
  if (!graph.mine.empty()) read_lengths(graph, choice, watcher, any_sign);
  return fmt::format("from {}", choice);
}

}  // namespace

float length_of(const std::string& choice, float uniform) {
  if (choice == "unit") return 1;
  return choice == "integer" ? 1 + std::floor(uniform * integer_max) : uniform;
}

std::string described_lengths(const std::string& choice, std::uint64_t seed) {
  if (choice == "unit") return "1 each";
  if (choice == "integer") return fmt::format("whole numbers from 1 to {}, seed {}", integer_max, seed);
  if (choice == "uniform" || choice == "input") return fmt::format("uniform in [0, 1), seed {}", seed);
  fail("--weights " + choice, "a graph that is made has no file of lengths", "use unit, uniform or integer");
}

std::string set_lengths(world& w, graph_share& graph, const std::string& choice, std::uint64_t seed, progress& watcher,
                        bool any_sign) {
  if (choice == "input" && graph.has_lengths) return "from the input";
  graph.unit.clear();
  const bool named = choice != "unit" && choice != "uniform" && choice != "integer" && choice != "input";
  if (named && !all_can_read(w, choice)) {
    together(w, [&] {
      fail(choice, "it is not the same file on all ranks, each of which reads its lengths by itself",
           "name a file that all can open, no pipe, or use one rank");
    });
  }
  std::string description;
  together(w, [&] { description = set({graph.mine, graph.runs, graph.edges}, choice, seed, watcher, any_sign); });
  return description;
}

}  // namespace amity::apps::graph
