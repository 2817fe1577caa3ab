#pragma once

/// What the user of `amity graph` asks for.

#include <cstdint>
#include <optional>
#include <string>

#include "apps/graph/input/weight_type.hpp"
#include "apps/graph/store/distribution.hpp"

namespace amity::apps::graph {

struct options {
  std::string kernel;

  // The graph: a file, the packages, or one that is made.
  std::string file;                       ///< empty: the packages, or what a generator makes
  std::string format;                     ///< empty: found out from the file
  std::optional<std::uint64_t> vertices;  ///< number of vertices of the file, as the user states it
  bool packages = false;                  ///< the packages, and nothing in their stead
  std::string lists;                      ///< folder of package lists
  std::optional<int> kronecker;           ///< scale
  std::optional<int> erdos_renyi;         ///< scale: 2^this vertices
  std::uint32_t edge_factor = 16;         ///< edges of a made graph for each vertex
  std::uint64_t seed = 1;                 ///< of whatever is random
  bool reverse = false;                   ///< walk all edges backwards
  bool undirected = false;                ///< walk all edges both ways
  std::string lengths = "input";          ///< see set_lengths
  std::optional<weight_type> weights;     ///< their type; nothing: chosen by the weights
  distribution owners = distribution::cyclic;

  // The job.
  std::optional<int> ranks;
  std::optional<int> threads;
  std::optional<std::string> fabric;

  // The kernel.
  std::string root;       ///< label; empty: chosen
  bool top_down = false;  ///< no looking from below
  double delta = 0;       ///< width of a bucket; 0: chosen
  int iterations = 100;   ///< at most
  double tolerance = 1e-6;
  std::uint64_t slots = 1 << 20;       ///< of a table on each rank
  std::uint64_t updates = 10'000'000;  ///< of each rank

  // The results.
  int repeat = 0;  ///< runs, of which the one with the median time counts; 0: as many as take little time
  std::uint64_t top = 5;
  bool verify = true;
  bool progress = true;
  std::string json;    ///< output_file.hpp; empty: none
  std::string output;  ///< for a line per vertex; empty: none
};

}  // namespace amity::apps::graph
