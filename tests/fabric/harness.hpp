#pragma once

/// How the contract test reaches a fabric: one small struct for each.
///
/// A harness runs a body once per rank of a job and returns when all ranks have ended. The body's ranks may be fibers,
/// threads or processes: it shares nothing between them but packets. A rank fails by a failed expectation or by an
/// exception; the harness turns either into a failure of the test that runs it.

#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "amity/base/types.hpp"
#include "amity/fabric/fabric.hpp"

namespace amity::fabric::testing {

using rank_body = std::function<void(fabric&)>;

struct harness {
  std::string name;  ///< letters, digits and underscores: it becomes part of the tests' names
  std::function<void(rank_t ranks, const rank_body& body)> run;
  std::vector<rank_t> numbers = {};  ///< of ranks at which it differs from other harnesses; empty: any
};

inline void PrintTo(const harness& h, std::ostream* out) { *out << h.name; }

/// A harness whose ranks see `Decorator` around their fabric.
template <class Decorator>
harness decorated(const std::string& name, const harness& inner) {
  return {.name = inner.name + "_" + name,
          .run =
              [inner](rank_t ranks, const rank_body& body) {
                inner.run(ranks, [&](fabric& own) {
                  Decorator decorator(own);
                  body(decorator);
                });
              },
          .numbers = inner.numbers};
}

/// Runs `body(rank)` in a process of its own for each rank. The test fails for each process that does not exit with
/// status 0: a failed expectation or an exception in a rank makes it exit with another.
void run_forked(rank_t ranks, const std::function<void(rank_t)>& body);

}  // namespace amity::fabric::testing
