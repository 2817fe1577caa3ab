#include "bench/machine_load.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <string>

namespace amity::bench {
namespace {

double processor_seconds(int whose) {
  rusage usage{};
  getrusage(whose, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

}  // namespace

machine_load::machine_load() : begin_(read()) {}

machine_load::reading machine_load::read() {
  // The first line of /proc/stat: "cpu" user nice system idle iowait irq softirq steal, in clock ticks (proc(5)).
  std::ifstream file("/proc/stat");
  std::string label;
  std::array<double, 8> ticks{};
  file >> label;
  for (double& each : ticks) file >> each;
  if (!file) return {};
  const auto ticks_a_second = static_cast<double>(sysconf(_SC_CLK_TCK));
  double total = 0;
  for (const double each : ticks) total += each;
  const double idle = ticks[3] + ticks[4];
  return {total / ticks_a_second, (total - idle) / ticks_a_second,
          processor_seconds(RUSAGE_SELF) + processor_seconds(RUSAGE_CHILDREN)};
}

double machine_load::others_percent() const {
  const auto end = read();
  const double wall_s = end.wall_s - begin_.wall_s;
  if (wall_s <= 0) return 0;
  const double others_s = (end.busy_s - begin_.busy_s) - (end.own_s - begin_.own_s);
  return std::max(0.0, others_s / wall_s * 100);
}

}  // namespace amity::bench
