#pragma once

/// A job of two ranks over the fabric ofi that no launcher watches, and that learn of its end by packets alone.

#include <functional>
#include <string>
#include <vector>

#include "amity/fabric/fabric.hpp"

namespace amity::fabric::testing {

struct ofi_pair {
  std::string provider;
  int credits = 16;

  /// Runs `body` once for each rank, in processes of their own.
  void run(const std::function<void(fabric&)>& body) const;

  /// The same for a body that also wants to know under which addresses the ranks are reached, by rank.
  void run(const std::function<void(fabric&, const std::vector<std::string>&)>& body) const;
};

}  // namespace amity::fabric::testing
