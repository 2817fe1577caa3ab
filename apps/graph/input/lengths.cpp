#include "apps/graph/input/lengths.hpp"

#include <fmt/format.h>

#include <cstring>

#include "amity/base/random.hpp"
#include "apps/graph/console/text.hpp"
#include "apps/graph/input/formats.hpp"

namespace amity::apps::graph {
namespace {

constexpr std::uint64_t integer_max = 255;

/// Uniform in [0, 1): as many bits as a float holds.
float uniform(std::uint64_t bits) { return static_cast<float>(bits >> 40) * 0x1p-24f; }

void read_lengths(edge_list& graph, const std::string& file, progress& watcher) {
  input from(file, watcher);
  watcher.begin("reading " + from.name(), from.file_bytes(), true);
  std::size_t i = 0;
  for (auto block = from.next_block(); !block.empty(); block = from.next_block()) {
    for (std::size_t at = 0; at + sizeof(float) <= block.size() && i < graph.edges.size(); at += sizeof(float), ++i) {
      float length = 0;
      std::memcpy(&length, block.data() + at, sizeof length);
      const std::string problem = length_problem(length);
      if (!problem.empty()) {
        fail(fmt::format("{}: byte {}", from.name(), i * sizeof(float)), fmt::format("length {} {}", length, problem),
             "shortest paths want lengths that are finite and at least 0");
      }
      graph.edges[i].length = length;
    }
  }
  const std::uint64_t wanted = graph.edges.size() * sizeof(float);
  if (from.bytes_returned() != wanted) {
    fail(from.name(),
         fmt::format("{} bytes, where {} edges want {}", from.bytes_returned(), grouped(graph.edges.size()), wanted),
         "write one float32 for each edge, in the order of the edges");
  }
  watcher.finish(counted(i, "length"));
}

}  // namespace

std::string set_lengths(edge_list& graph, const std::string& choice, std::uint64_t seed, progress& watcher) {
  if (choice == "input" && graph.has_lengths) return "from the input";
  graph.unit.clear();
  std::uint64_t i = 0;
  const auto random = [&] { return splitmix64::mix(splitmix64::mix(seed) + i++); };
  if (choice == "unit") {
    for (edge& e : graph.edges) e.length = 1;
    return "1 each";
  }
  if (choice == "uniform" || choice == "input") {
    for (edge& e : graph.edges) e.length = uniform(random());
    return fmt::format("uniform in [0, 1), seed {}", seed);
  }
  if (choice == "integer") {
    for (edge& e : graph.edges) e.length = static_cast<float>(1 + random() % integer_max);
    return fmt::format("whole numbers from 1 to {}, seed {}", integer_max, seed);
  }
  read_lengths(graph, choice, watcher);
  return fmt::format("from {}", choice);
}

}  // namespace amity::apps::graph
