#pragma once

/// Random jobs of epochs on the simulator: one seed decides the ranks, the network with its faults, and the trees of
/// messages. An oracle outside the runtime counts what is under way, and a sequential walk knows the result.

#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <vector>

#include "amity/epoch/detector.hpp"
#include "amity/fabric/sim/sim.hpp"
#include "tests/support/trees.hpp"

namespace amity::epoch::testing {

struct schedule {
  rank_t ranks;
  fabric::sim::sim_options options;
  std::vector<amity::testing::trees> epochs;  ///< the messages of each; an epoch may be empty
  bool in_steps;                              ///< every other rank ends its epochs by `try_end`
  bool has_priorities;                        ///< one of the two kinds of messages is handled first
  bool has_late_summands;                     ///< every third rank gives its summand when all has been handled
  std::uint64_t large_one_in;                 ///< of the single messages, one in so many is larger than a packet
  bool declares_depth = false;                ///< of its trees; the detector that is made is the one for that

  static schedule of(std::uint64_t seed);
};

/// Sees all ranks at once, which is possible because they share a thread: an epoch that has ended here has ended in
/// virtual time, too.
class oracle {
 public:
  explicit oracle(std::size_t epochs) : under_way_(epochs) {}

  void sent(std::size_t epoch) { ++under_way_[epoch]; }
  void handled(std::size_t epoch) { --under_way_[epoch]; }
  /// Messages of the epoch that have been sent and not been handled.
  std::int64_t under_way(std::size_t epoch) const { return under_way_[epoch]; }
  bool anything_under_way() const {
    for (const std::int64_t messages : under_way_) {
      if (messages != 0) return true;
    }
    return false;
  }

 private:
  std::vector<std::int64_t> under_way_;
};

/// Thrown when an epoch ended on a rank, or a detector said that it had, with messages under way.
class ended_early : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Thrown when the sum of an epoch is not that of its end.
class wrong_sum : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

using make_function = std::function<std::unique_ptr<detector>(core::endpoint&, const oracle&)>;

/// What the ranks agree on in the end.
struct outcome {
  std::vector<std::uint64_t> sums;  ///< of the keys of all messages, by epoch: the user's sum
  std::uint64_t messages = 0;       ///< handled, by the ledgers of all ranks
  std::uint32_t waves = 0;
};

/// Runs a schedule with a detector. Throws `ended_early`, `wrong_sum`, or whatever else goes wrong: a deadlock, a rank
/// that has not ended after a second of virtual time, a wrong count.
outcome run(const schedule& job, const make_function& make);

}  // namespace amity::epoch::testing
