#include "amity/fabric/sim/faults.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "amity/base/error.hpp"
#include "amity/base/random.hpp"
#include "amity/base/settings.hpp"

namespace amity::fabric::sim {
namespace {

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const auto end = std::min(text.find(separator), text.size());
    const std::string_view part = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const auto first = part.find_first_not_of(' ');
    if (first != std::string_view::npos) parts.push_back(part.substr(first, part.find_last_not_of(' ') - first + 1));
  }
  return parts;
}

constexpr std::uint64_t slow_factor_max = 1'000'000;

constexpr std::string_view remedy =
    "write slow:rank=3,factor=10, stop:rank=2,at=1ms,for=5ms or kill:rank=5,at=2ms, separated by ';'";

/// One fault, while its parts are taken out.
class reader {
 public:
  reader(std::string_view fault, rank_t ranks, std::uint64_t chance) : fault_(fault), ranks_(ranks), chance_(chance) {
    const auto colon = std::min(fault.find(':'), fault.size());
    kind_ = fault.substr(0, colon);
    if (colon == fault.size()) refuse("does not say which rank");
    for (const std::string_view part : split(fault.substr(colon + 1), ',')) {
      const auto equals = part.find('=');
      if (equals == std::string_view::npos) refuse(fmt::format("has '{}' where NAME=VALUE belongs", part));
      parts_.emplace_back(part.substr(0, equals), part.substr(equals + 1));
    }
  }

  std::string_view kind() const { return kind_; }

  rank_t rank() {
    const std::string_view value = text("rank");
    if (value == "any") return static_cast<rank_t>(chance_ % static_cast<std::uint64_t>(ranks_));
    const auto rank = parse_quantity(value, "");
    if (!rank || *rank < 0 || *rank >= ranks_)
      refuse(fmt::format("has rank={}, and there are {} ranks", value, ranks_));
    return static_cast<rank_t>(*rank);
  }

  std::uint64_t number(std::string_view name, std::string_view unit, std::optional<std::uint64_t> otherwise = {}) {
    if (otherwise && std::ranges::find(parts_, name, &named::first) == parts_.end()) return *otherwise;
    const std::string_view value = text(name);
    const auto number = parse_quantity(value, unit);
    if (!number || *number < 0 || *number > max) {
      refuse(fmt::format("has {}={}, which is no {}", name, value, unit == "ns" ? "time (ns, us, ms, s)" : "number"));
    }
    return static_cast<std::uint64_t>(*number);
  }

  void expect_end() const {
    if (!parts_.empty()) refuse(fmt::format("has {}, which nobody asked for", parts_.front().first));
  }

  [[noreturn]] void refuse(const std::string& problem) const {
    throw error("settings", no_rank, fmt::format("AMITY_SIM_FAULTS: '{}' {}", fault_, problem), remedy);
  }

 private:
  using named = std::pair<std::string_view, std::string_view>;
  static constexpr std::int64_t max = std::int64_t{1} << 60;

  std::string_view text(std::string_view name) {
    const auto found = std::ranges::find(parts_, name, &named::first);
    if (found == parts_.end()) refuse(fmt::format("lacks {}=", name));
    const std::string_view value = found->second;
    parts_.erase(found);
    return value;
  }

  std::string_view fault_;
  std::string_view kind_;
  rank_t ranks_;
  std::uint64_t chance_;
  std::vector<named> parts_;
};

}  // namespace

void add_faults(sim_options& options, std::string_view text, rank_t ranks) {
  std::uint64_t chance = splitmix64::mix(options.seed);
  for (const std::string_view fault : split(text, ';')) {
    reader parts(fault, ranks, chance = splitmix64::mix(chance + 1));
    if (parts.kind() == "slow") {
      const rank_t rank = parts.rank();
      const std::uint64_t factor = parts.number("factor", "");
      if (factor == 0) parts.refuse("has factor=0, and it is at least 1");
      if (factor > slow_factor_max)
        parts.refuse(fmt::format("has factor={}, and it is at most {}", factor, slow_factor_max));
      options.slow_ranks.push_back({rank, static_cast<std::uint32_t>(factor)});
    } else if (parts.kind() == "stop") {
      const rank_t rank = parts.rank();
      const std::uint64_t from_ns = parts.number("at", "ns");
      options.stopped_ranks.push_back({rank, from_ns, from_ns + parts.number("for", "ns")});
    } else if (parts.kind() == "kill") {
      const rank_t rank = parts.rank();
      const std::uint64_t at_ns = parts.number("at", "ns");
      options.killed_ranks.push_back({rank, at_ns, parts.number("notice", "ns", killed_rank{}.notice_ns)});
    } else {
      parts.refuse("is no fault of a rank");
    }
    parts.expect_end();
  }
}

}  // namespace amity::fabric::sim
