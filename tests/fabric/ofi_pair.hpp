#pragma once

/// A job of two ranks over the fabric ofi that no launcher watches, and that learn of its end by packets alone.

#include <functional>
#include <string>
#include <vector>

#include "amity/fabric/fabric.hpp"
#include "amity/fabric/lanes.hpp"

namespace amity::fabric::testing {

struct ofi_pair {
  std::string provider;
  int credits = 16;
  rank_t threads = 1;  ///< lanes of each rank
  int peer_seconds = 4;

  /// Runs `body` once for each rank, in processes of their own.
  void run(const std::function<void(fabric&)>& body) const;

  /// Runs `body` once for each rank, which has `threads` lanes.
  void run_processes(const std::function<void(lanes&)>& body) const;

  /// As the first for a body that also wants to know under which addresses the ranks are reached, by rank.
  void run(const std::function<void(fabric&, const std::vector<std::string>&)>& body) const;

 private:
  void start(const std::function<void(lanes&, const std::vector<std::string>&)>& body) const;
};

}  // namespace amity::fabric::testing
