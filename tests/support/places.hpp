#pragma once

/// Jobs of worlds whose ranks have one thread or several: every kind of job, and a few shapes with threads.

#include <functional>
#include <ostream>
#include <string>
#include <tuple>
#include <vector>

#include "tests/support/programs.hpp"
#include "tests/support/worlds.hpp"

namespace amity::testing {

struct place {
  std::string name;  ///< letters, digits and underscores: it becomes part of the tests' names
  bool simulated;
  std::function<void(const world_body&)> run;
};

inline void PrintTo(const place& where, std::ostream* out) { *out << where.name; }
inline std::string place_name(const ::testing::TestParamInfo<place>& info) { return info.param.name; }

inline std::vector<place> places_with_threads() {
  std::vector<place> all;
  for (const std::string& fabric : fabrics_with_threads()) {
    for (const auto& [ranks, threads] : {std::tuple{1, 2}, {2, 2}, {3, 2}, {1, 4}, {4, 4}}) {
      all.push_back({fabric + "_" + std::to_string(ranks) + "x" + std::to_string(threads), fabric == "sim",
                     [=](const world_body& body) { run_job(shape(fabric, ranks, threads), body); }});
    }
  }
  return all;
}

inline std::vector<place> every_place() {
  std::vector<place> all = places_with_threads();
  for (const auto& [kind, ranks] : jobs_of_every_kind()) {
    all.push_back({kind.name + "_" + std::to_string(ranks), kind.name.ends_with("sim"),
                   [kind = kind, ranks = ranks](const world_body& body) { run_worlds(kind, ranks, body); }});
  }
  return all;
}

/// A suite whose tests run with a world on each rank.
class on_places : public ::testing::TestWithParam<place> {
 protected:
  void run(const world_body& body) const { GetParam().run(body); }
};

}  // namespace amity::testing
