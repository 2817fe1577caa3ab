#pragma once

/// What a part of a job costs: time and traffic, over all ranks.

#include <cstdint>

#include "amity/amity.hpp"

namespace amity::apps::graph {

struct cost {
  std::uint64_t ns = 0;        ///< of the rank that took longest
  std::uint64_t messages = 0;  ///< sums over ranks
  std::uint64_t packets = 0;
  std::uint64_t bytes = 0;
};

class meter {
 public:
  /// Collective: all ranks start together.
  explicit meter(world& w);

  /// Collective: since the start.
  cost read() const;

 private:
  world& world_;
  std::uint64_t started_ns_;
  core::traffic before_;
};

}  // namespace amity::apps::graph
