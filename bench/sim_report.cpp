#include "bench/sim_report.hpp"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace amity::bench {
namespace {

std::vector<std::string> cells_of(const std::string& line) {
  std::istringstream rest(line);
  std::vector<std::string> cells;
  for (std::string cell; std::getline(rest, cell, ',');) cells.push_back(cell);
  return cells;
}

}  // namespace

sim_report::sim_report(settings& config)
    : file_(std::filesystem::temp_directory_path() / ("amity_bench_" + std::to_string(getpid()) + ".csv")) {
  config.set("AMITY_SIM_REPORT", file_.string());
}

sim_report::~sim_report() {
  std::error_code ignored;
  std::filesystem::remove(file_, ignored);
}

double sim_report::sum(std::string_view column) const {
  std::ifstream lines(file_);
  std::string line;
  std::getline(lines, line);
  const std::vector<std::string> names = cells_of(line);
  const auto place = static_cast<std::size_t>(std::ranges::find(names, column) - names.begin());
  double sum = 0;
  while (std::getline(lines, line)) sum += std::stod(cells_of(line).at(place));
  return sum;
}

}  // namespace amity::bench
