#pragma once

/// A job of two ranks over the fabric ofi that no launcher watches, and that learn of its end by packets alone.

#include <functional>
#include <string>
#include <vector>

#include "amity/fabric/fabric.hpp"
#include "amity/fabric/lanes.hpp"
#include "amity/fabric/ofi/seal.hpp"

namespace amity::fabric::testing {

/// What a process learns that reads all that the ranks exchange through their launcher.
struct job_facts {
  ofi::job_key key;
  std::vector<std::string> addresses;  ///< of the ranks, by rank
};

struct ofi_pair {
  std::string provider;
  int credits = 16;
  rank_t threads = 1;  ///< lanes of each rank
  int peer_seconds = 4;
  bool sealed = true;

  /// Runs `body` once for each rank, in processes of their own.
  void run(const std::function<void(fabric&)>& body) const;

  /// Runs `body` once for each rank, which has `threads` lanes.
  void run_processes(const std::function<void(lanes&)>& body) const;

  /// Runs `body` once for each rank, with the facts of the job.
  void run(const std::function<void(fabric&, const job_facts&)>& body) const;

 private:
  void start(const std::function<void(lanes&, const job_facts&)>& body) const;
};

}  // namespace amity::fabric::testing
