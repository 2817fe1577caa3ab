#include "network_file.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <string_view>

#include <fmt/format.h>

#include "amity/base/edit_distance.hpp"
#include "amity/base/error.hpp"
#include "amity/base/program_file.hpp"

namespace amity::tools {
namespace {

constexpr auto keys = std::to_array<std::string_view>(
    {"latency_ns", "overhead_ns", "gap_ns", "byte_ps", "delay_ns_max", "remote_delay_ns_max", "ordered", "node_ranks",
     "node_latency_ns", "packet_bytes", "credits", "handler_ns", "handler_byte_ps"});

/// Beside the command: bin/amity and share/amity/networks.
std::filesystem::path directory() {
  return program_file().parent_path().parent_path() / "share" / "amity" / "networks";
}

/// Of single message types, as handler_ns.NAME: what begins the key, its setting, and the unit of its values.
struct key_by_name {
  std::string_view prefix;
  std::string_view setting;
  std::string_view unit;
};
constexpr auto keys_by_name = std::to_array<key_by_name>(
    {{"handler_ns.", "AMITY_SIM_HANDLERS_NS", "ns"}, {"handler_byte_ps.", "AMITY_SIM_HANDLERS_BYTE_PS", ""}});

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r");
  return first == text.npos ? std::string_view() : text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

std::string setting_of(std::string_view key) {
  std::string name = "AMITY_SIM_";
  for (const char letter : key) name += static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
  return name;
}

/// True if the key is one by name.
bool read_by_name(std::string_view key, std::string_view value, const std::string& place, settings& values) {
  const auto* const found =
      std::ranges::find_if(keys_by_name, [&](const key_by_name& each) { return key.starts_with(each.prefix); });
  if (found == keys_by_name.end()) return false;
  const std::string_view name = key.substr(found->prefix.size());
  const auto figure = parse_quantity(value, found->unit);
  if (name.empty() || !figure || *figure < 0) {
    throw error("sim", no_rank, fmt::format("{}: {} = {}", place, key, value),
                "name a message type and give a figure, as handler_ns.NAME = 500ns");
  }
  if (values.where_from(found->setting) == settings::origin::environment) return true;
  const std::string& others = values.text(found->setting);
  values.set(found->setting, fmt::format("{}{}{}={}", others, others.empty() ? "" : ";", name, value));
  return true;
}

/// One line; empty ones and comments do nothing.
void read_line(std::string_view line, const std::string& place, settings& values) {
  line = trimmed(line.substr(0, line.find('#')));
  if (line.empty()) return;
  const auto equals = line.find('=');
  const auto key = trimmed(line.substr(0, equals));
  if (equals == line.npos || key.empty()) {
    throw error("sim", no_rank, fmt::format("{}: '{}' is no line of a network file", place, line),
                "write NAME = VALUE, for example latency_ns = 1300");
  }
  const auto value = trimmed(line.substr(equals + 1));
  if (read_by_name(key, value, place, values)) return;
  if (std::ranges::find(keys, key) == keys.end()) {
    const auto close = nearest(key, keys);
    throw error("sim", no_rank, fmt::format("{}: a network has no {}", place, key),
                close ? fmt::format("did you mean {}?", *close) : fmt::format("it may have {}", fmt::join(keys, ", ")));
  }
  const std::string name = setting_of(key);
  if (values.where_from(name) == settings::origin::environment) return;
  try {
    values.set(name, value);
  } catch (const error& refused) {
    throw error("sim", no_rank, fmt::format("{}: {} = {}", place, key, value), refused.what());
  }
}

}  // namespace

std::vector<std::string> network_names() {
  std::vector<std::string> names;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(directory(), none)) {
    if (entry.path().extension() == ".network") names.push_back(entry.path().stem().string());
  }
  std::ranges::sort(names);
  return names;
}

std::string find_network(const std::string& network) {
  if (network.find_first_of("/.") != network.npos) return network;
  const auto file = directory() / (network + ".network");
  if (std::filesystem::exists(file)) return file.string();
  throw error("sim", no_rank, fmt::format("there is no network '{}'", network),
              fmt::format("give one of {}, or a file, as ./FILE", fmt::join(network_names(), ", ")));
}

void read_network(const std::string& file, settings& values) {
  std::ifstream lines(file);
  std::size_t number = 0;
  for (std::string line; std::getline(lines, line);) read_line(line, fmt::format("{}:{}", file, ++number), values);
  if (!lines.is_open() || lines.bad())
    throw error("sim", no_rank, fmt::format("cannot read {}", file), "name a file with a network's figures");
}

}  // namespace amity::tools
