#include "amity/fabric/node.hpp"

#include <sched.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <memory>
#include <system_error>

#include <fmt/format.h>

#include "amity/base/error.hpp"

namespace amity::fabric {
namespace {

std::string namespace_of_this(const char* kind) {
  std::error_code unknown;
  return std::filesystem::read_symlink(std::filesystem::path("/proc/self/ns") / kind, unknown).string();
}

}  // namespace

int cpu_set::count() const noexcept { return static_cast<int>(std::ranges::count(members_, true)); }

void cpu_set::add(const cpu_set& others) {
  for (const std::size_t cpu : others.numbers()) add(cpu);
}

void cpu_set::add(std::size_t cpu) {
  if (members_.size() <= cpu) members_.resize(cpu + 1);
  members_[cpu] = true;
}

std::vector<std::size_t> cpu_set::numbers() const {
  std::vector<std::size_t> found;
  for (std::size_t cpu = 0; cpu < members_.size(); ++cpu) {
    if (members_[cpu]) found.push_back(cpu);
  }
  return found;
}

std::string cpu_set::text() const {
  std::string digits;
  for (std::size_t first = 0; first < members_.size(); first += 4) {
    unsigned digit = 0;
    for (std::size_t i = 0; i < 4 && first + i < members_.size(); ++i) digit |= unsigned{members_[first + i]} << i;
    digits += "0123456789abcdef"[digit];
  }
  return digits;
}

cpu_set cpu_set::parse(std::string_view text) {
  cpu_set found;
  for (std::size_t place = 0; place < text.size(); ++place) {
    unsigned digit = 0;
    std::from_chars(&text[place], &text[place] + 1, digit, 16);
    for (std::size_t i = 0; i < 4; ++i) {
      if ((digit >> i & 1) != 0) found.add(4 * place + i);
    }
  }
  return found;
}

cpu_set allowed_cpus() {
  constexpr std::size_t cpus_max = 1 << 16;
  const std::unique_ptr<cpu_set_t, void (*)(cpu_set_t*)> set(CPU_ALLOC(cpus_max),
                                                             [](cpu_set_t* own) { CPU_FREE(own); });
  cpu_set found;
  const bool known = set && ::sched_getaffinity(0, CPU_ALLOC_SIZE(cpus_max), set.get()) == 0;
  const std::size_t cpus = known ? cpus_max : static_cast<std::size_t>(::get_nprocs());
  for (std::size_t cpu = 0; cpu < cpus; ++cpu) {
    if (!known || CPU_ISSET_S(cpu, CPU_ALLOC_SIZE(cpus_max), set.get())) found.add(cpu);
  }
  return found;
}

std::string node_identity(std::string_view given) {
  constexpr std::size_t name_bytes_max = 255;
  if (given.size() > name_bytes_max) {
    throw error("AMITY_NODE", no_rank, fmt::format("the name has {} bytes, more than {}", given.size(), name_bytes_max),
                "give the node a shorter name");
  }
  if (given.find('\n') != std::string_view::npos) {
    throw error("AMITY_NODE", no_rank, fmt::format("the name '{}' has several lines", given),
                "give the node a name of one line");
  }
  if (!given.empty()) return std::string(given);
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  std::array<char, 256> host{};
  static_cast<void>(::gethostname(host.data(), host.size() - 1));
  return fmt::format("{}/{}/{}/{}", host.data(), boot, namespace_of_this("net"), namespace_of_this("pid"));
}

}  // namespace amity::fabric
