#include "amity/world/handler_costs.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "amity/base/error.hpp"
#include "amity/core/handler_check.hpp"
#include "amity/core/packet_header.hpp"

namespace amity {
namespace {

using fabric::sim::handling;

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(' ');
  return first == text.npos ? std::string_view() : text.substr(first, text.find_last_not_of(' ') - first + 1);
}

/// Calls each(name, figure) for all of NAME=FIGURE;NAME=FIGURE. Names may hold all but ';'.
template <class Each>
void read_costs(const settings& config, std::string_view setting, std::string_view unit, Each&& each) {
  std::string_view rest = config.text(setting);
  while (!rest.empty()) {
    const std::string_view entry = rest.substr(0, rest.find(';'));
    rest.remove_prefix(std::min(entry.size() + 1, rest.size()));
    if (trimmed(entry).empty()) continue;
    const auto equals = entry.rfind('=');
    const auto name = trimmed(entry.substr(0, std::min(equals, entry.size())));
    const std::int64_t figure =
        equals == entry.npos ? -1 : parse_quantity(trimmed(entry.substr(equals + 1)), unit).value_or(-1);
    constexpr std::int64_t figure_max = 1'000'000'000;  // as for all handlers
    if (name.empty() || figure < 0 || figure > figure_max) {
      throw error("settings", no_rank, fmt::format("{}: '{}' is no cost of a handler", setting, trimmed(entry)),
                  fmt::format("write NAME=500{0}, separated by ';', with figures from 0 to {1}{0}", unit, figure_max));
    }
    each(name, static_cast<std::uint64_t>(figure));
  }
}

bool has_handler(core::packet_kind kind) {
  return kind == core::packet_kind::message || kind == core::packet_kind::fragment ||
         kind == core::packet_kind::envelope;
}

}  // namespace

handler_costs::handler_costs(const settings& config, const handling& for_all) {
  read_costs(config, "AMITY_SIM_HANDLERS_NS", "ns",
             [&](std::string_view name, std::uint64_t ns) { entry_of(name, for_all).takes.ns = ns; });
  read_costs(config, "AMITY_SIM_HANDLERS_BYTE_PS", "",
             [&](std::string_view name, std::uint64_t byte_ps) { entry_of(name, for_all).takes.byte_ps = byte_ps; });
}

handler_costs::named& handler_costs::entry_of(std::string_view name, const handling& for_all) {
  const auto known = std::ranges::find(all_, name, &named::name);
  if (known != all_.end()) return *known;
  return all_.emplace_back(named{.name = std::string(name), .check = core::check_of(name), .takes = for_all});
}

const handling* handler_costs::of(std::uint64_t header) noexcept {
  const auto packet = core::packet_header(header);
  if (!has_handler(packet.kind())) return nullptr;
  const auto found = std::ranges::find(all_, packet.check(), &named::check);
  if (found == all_.end()) return nullptr;
  found->met = true;
  return &found->takes;
}

std::vector<std::string> handler_costs::unmet() const {
  std::vector<std::string> names;
  for (const named& each : all_) {
    if (!each.met) names.push_back(each.name);
  }
  return names;
}

}  // namespace amity
