#pragma once

/// What the user of `amity graph` asks for.

#include <cstdint>
#include <optional>
#include <string>

namespace amity::apps::graph {

struct options {
  enum class algorithm { bfs, sssp };

  algorithm search = algorithm::bfs;
  std::string file;               ///< empty: the packages
  std::string format;             ///< empty: found out from the file
  bool packages = false;          ///< the packages, and nothing in their stead
  std::string lists;              ///< folder of package lists
  bool reverse = false;           ///< walk all edges backwards
  bool undirected = false;        ///< walk all edges both ways
  std::string root;               ///< label; empty: chosen
  std::string lengths = "input";  ///< see set_lengths
  std::uint64_t seed = 1;
  float delta = 0;  ///< width of a bucket; 0: chosen
  std::optional<int> ranks;
  std::optional<std::string> fabric;
  int repeat = 0;  ///< searches, of which the one with the median time counts; 0: as many as take little time
  std::uint64_t top = 5;
  bool verify = true;
  bool progress = true;
  std::string json;  ///< file to write; "-": standard output; empty: none
};

}  // namespace amity::apps::graph
