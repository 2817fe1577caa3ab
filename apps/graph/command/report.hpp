#pragma once

/// The result of a search, for a person and for a program.

#include <cstdint>
#include <string>
#include <vector>

#include "apps/graph/command/options.hpp"
#include "apps/graph/command/whole_graph.hpp"
#include "apps/graph/kernels/meter.hpp"
#include "apps/graph/kernels/paths.hpp"

namespace amity::apps::graph {

/// How many vertices lie at distances from `from` on, up to the next bin's.
struct bin {
  double from;
  std::uint64_t vertices;
};

/// A shortest path, as labels from the root on.
struct route {
  double distance;
  std::vector<std::string> labels;
};

struct report {
  options::algorithm search = options::algorithm::bfs;
  std::string title, noun, unit, root, lengths;
  bool undirected = false;
  int ranks = 1;
  std::string fabric;
  bool virtual_time = false;  ///< seconds are simulated
  std::uint64_t vertices = 0, edges = 0, reached = 0;
  std::uint64_t edges_walked = 0;  ///< of the input, from vertices that were reached
  std::uint64_t rounds = 0;        ///< levels, or buckets
  std::uint64_t repeats = 1;       ///< searches, of which `spent` is the one with the median time
  cost spent;
  std::vector<bin> histogram;
  std::vector<route> farthest;  ///< farthest first
  bool verified = false;        ///< compared, and equal

  double edges_per_second() const;
  double messages_per_packet() const;
};

/// What can be said about the graph and the paths; the caller adds what it knows of the job.
report summarise(const whole_graph& graph, const paths<level>& found, std::uint64_t top);
report summarise(const whole_graph& graph, const paths<weight>& found, std::uint64_t top);

/// For a person; ends with a newline.
std::string to_text(const report& result);

/// One JSON object, indented; ends with a newline. README.md tells what the keys mean.
std::string to_json(const report& result);

}  // namespace amity::apps::graph
