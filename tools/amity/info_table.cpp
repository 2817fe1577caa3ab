// Human-readable output of amity info.

#include <algorithm>
#include <array>
#include <iterator>

#include <fmt/format.h>

#include "inventory.hpp"

namespace amity::tools {
namespace {

constexpr std::size_t page_columns = 100;

/// Appends the words of `text` as lines that begin with `indent` spaces, the first one with `label` among them.
void append_wrapped(std::string& page, std::size_t indent, std::string_view text, std::string_view label = "") {
  std::size_t column = 0;
  while (!text.empty()) {
    const auto word = text.substr(0, text.find(' '));
    if (column > 0 && column + 1 + word.size() > page_columns) {
      page += '\n';
      column = 0;
    }
    if (column == 0) {
      fmt::format_to(std::back_inserter(page), "{:<{}}", label, indent);
      label = "";
      column = indent;
    } else {
      page += ' ';
      ++column;
    }
    page += word;
    column += word.size();
    text.remove_prefix(std::min(word.size() + 1, text.size()));
  }
  page += '\n';
}

std::string remote_facts(const fabric::remote_capabilities& remote, std::size_t packet_bytes) {
  if (!remote.available) return "no remote memory";
  return fmt::format("remote memory{}, notifications of {} bits, {}atomics, {}{}",
                     remote.mapped ? ", mapped within the node" : "", remote.notify_bits, remote.atomics ? "" : "no ",
                     remote.puts_before_packets ? "packets arrive after earlier puts" : "packets may overtake puts",
                     remote.mapped ? ""
                     : remote.packed_bytes_max >= packet_bytes
                         ? ", Long messages packed up to the size of a packet"
                         : fmt::format(", Long messages packed up to {} B", remote.packed_bytes_max));
}

void append_fabric(std::string& page, const fabric::capabilities& caps) {
  append_wrapped(page, 13, is_available(caps) ? caps.description : "not available: " + caps.description,
                 "  " + caps.name);
  if (!is_available(caps)) return;
  const std::string facts = fmt::format(
      "packets up to {} B, inline path up to {} B; in flight per peer: {} packets, {} slots; memory per peer: {} B; "
      "{}; {}; {}",
      caps.packet_bytes_max, caps.inline_bytes_max, caps.credits_per_peer, caps.slots_per_peer, caps.bytes_per_peer,
      caps.ordered ? "packets of a pair of ranks stay in order" : "packets may overtake each other",
      caps.virtual_time ? "virtual time" : "wall-clock time",
      caps.remote_on_node
          ? fmt::format("on the node: {}; across: {}", remote_facts(*caps.remote_on_node, caps.packet_bytes_max),
                        remote_facts(caps.remote, caps.packet_bytes_max))
          : remote_facts(caps.remote, caps.packet_bytes_max));
  append_wrapped(page, 13, facts);
}

/// Aligned columns, then the help line below each row.
void append_settings(std::string& page, const settings& values, bool internal) {
  using row = std::array<std::string, 5>;
  std::vector<row> rows{{"name", "value", "unit", "default", "from"}};
  std::vector<std::string> help{""};
  for (const auto& info : setting_table()) {
    if (info.internal != internal) continue;
    rows.push_back({std::string(info.name), values.value(info.name), std::string(info.unit),
                    std::string(info.default_value), std::string(to_text(values.where_from(info.name)))});
    std::string choices(info.choices);
    std::ranges::replace(choices, '|', ' ');
    help.push_back(choices.empty() ? std::string(info.help) : fmt::format("{} One of: {}.", info.help, choices));
  }
  std::array<std::size_t, 5> widths{};
  for (const auto& cells : rows) {
    for (std::size_t i = 0; i < cells.size(); ++i) widths[i] = std::max(widths[i], cells[i].size());
  }
  auto out = std::back_inserter(page);
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const auto& [name, value, unit, standard, from] = rows[r];
    fmt::format_to(out, "  {:<{}}  {:>{}}  {:<{}}  {:>{}}  {}\n", name, widths[0], value, widths[1], unit, widths[2],
                   standard, widths[3], from);
    if (!help[r].empty()) append_wrapped(page, 6, help[r]);
  }
}

}  // namespace

std::string as_table(const inventory& all) {
  std::string page = fmt::format("amity {}\n\nFabrics (AMITY_FABRIC)\n", all.version);
  for (const auto& caps : all.fabrics) append_fabric(page, caps);
  page += "\nFabric of a program that is started in the same way\n";
  for (const auto& line : all.choice) append_wrapped(page, 2, line);
  page += "\nSettings (environment variables)\n";
  append_settings(page, all.values, false);
  page += "\nSet by the launcher for its ranks\n";
  append_settings(page, all.values, true);
  return page;
}

}  // namespace amity::tools
