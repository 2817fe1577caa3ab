#pragma once

/// What the ranks of a simulated job have done, by the simulator's report (AMITY_SIM_REPORT).

#include <filesystem>
#include <string_view>

#include "amity/base/settings.hpp"
#include "amity/base/types.hpp"

namespace amity::bench {

/// A report in a file that exists as long as this object.
class sim_report : private immovable {
 public:
  /// The next job that starts with `config` writes the report.
  explicit sim_report(settings& config);
  ~sim_report();

  /// Returns the sum over all ranks of a column, for example "received".
  double sum(std::string_view column) const;

 private:
  std::filesystem::path file_;
};

}  // namespace amity::bench
