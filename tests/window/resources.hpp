#pragma once

/// File descriptors and mappings of a process.

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/window/paths.hpp"

namespace amity::testing {

struct resources {
  std::ptrdiff_t descriptors = 0;
  std::ptrdiff_t mappings = 0;
};

/// Resources of this process. One rank counts at a time, because that opens a file.
inline resources count_resources(world& w) {
  resources found;
  for (const rank_t turn : everyone(w)) {
    if (turn == w.rank()) {
      using std::filesystem::directory_iterator;
      found.descriptors = std::distance(directory_iterator("/proc/self/fd"), directory_iterator());
      std::ifstream maps("/proc/self/maps");
      found.mappings = std::count(std::istreambuf_iterator<char>(maps), std::istreambuf_iterator<char>(), '\n');
    }
    w.barrier();
  }
  return found;
}

}  // namespace amity::testing
