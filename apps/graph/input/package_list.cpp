/// Reads package lists: stanzas of "Field: value" lines with blank lines between them (Debian Policy Manual, section
/// 5.1). Lines that begin with a blank continue the field before them.

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "apps/graph/console/text.hpp"
#include "apps/graph/input/packages.hpp"

namespace amity::apps::graph {
namespace {

namespace fs = std::filesystem;

constexpr const char* apt_helper = "/usr/lib/apt/apt-helper";

/// Appends to a field of relations, which may come in several pieces.
void append(std::string& field, std::string_view more) {
  if (!field.empty()) field += ", ";
  field += more;
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

std::uint64_t parse_size(std::string_view value, const line_reader& lines) {
  std::uint64_t bytes = 0;
  const auto [end, failed] = std::from_chars(value.data(), value.data() + value.size(), bytes);
  if (failed != std::errc{} || end != value.data() + value.size()) {
    lines.fail(fmt::format("the size '{}' is not a number of bytes", value), "run apt-get update");
  }
  return bytes;
}

/// The field of `into` that a line fills; no field that matters gives null.
std::string* relation_field(package& into, std::string_view field) {
  if (field == "Depends" || field == "Pre-Depends") return &into.depends;
  return field == "Provides" ? &into.provides : nullptr;
}

/// Whether a list is plain text or gzip; others are left to apt.
bool zlib_unpacks(const fs::path& list) { return list.string().ends_with("_Packages") || list.extension() == ".gz"; }

}  // namespace

std::vector<package> parse_package_list(input& from) {
  std::vector<package> packages;
  package current;
  std::string* open_field = nullptr;  // where a continuation line goes
  bool in_stanza = false;
  line_reader lines(from);
  const auto end_stanza = [&] {
    if (in_stanza && current.name.empty())
      lines.fail("the stanza that ends here names no Package", "run apt-get update");
    if (in_stanza) packages.push_back(std::exchange(current, {}));
    in_stanza = false;
    open_field = nullptr;
  };
  for (std::string_view line; lines.next(line);) {
    if (line.empty()) {
      end_stanza();
      continue;
    }
    in_stanza = true;
    if (line[0] == ' ' || line[0] == '\t') {
      if (open_field != nullptr) *open_field += line;
      continue;
    }
    const std::size_t colon = line.find(':');
    if (colon == line.npos) lines.fail("there is no 'Field:' on the line", "run apt-get update");
    const std::string_view field = line.substr(0, colon);
    const std::string_view value = trim(line.substr(colon + 1));
    open_field = relation_field(current, field);
    if (open_field != nullptr) append(*open_field, value);
    if (field == "Package") current.name = value;
    if (field == "Version") current.version = value;
    if (field == "Size") current.bytes = parse_size(value, lines);
  }
  end_stanza();
  return packages;
}

std::vector<fs::path> find_package_lists(const fs::path& folder) {
  std::vector<fs::path> lists;
  std::error_code no_folder;
  for (const auto& entry : fs::directory_iterator(folder, no_folder)) {
    const std::string stem = entry.path().filename().string();
    const std::size_t at = stem.find("_Packages");
    const bool list = at != stem.npos && (stem.size() == at + 9 || stem[at + 9] == '.');
    if (list && entry.is_regular_file()) lists.push_back(entry.path());
  }
  std::sort(lists.begin(), lists.end());
  return lists;
}

edge_list read_packages(const fs::path& folder, bool reverse, progress& watcher) {
  const auto lists = find_package_lists(folder);
  if (lists.empty()) {
    fail(folder.string(), "there are no package lists", "run apt-get update, or name a file with a graph");
  }
  watcher.begin("reading the package lists", 0, true);
  std::vector<package> packages;
  for (const fs::path& list : lists) {
    const auto add = [&](input&& from) { std::ranges::move(parse_package_list(from), std::back_inserter(packages)); };
    if (zlib_unpacks(list)) {
      add(input(list, watcher));
    } else {
      add(input({apt_helper, "cat-file", list.string()}, list.filename().string(), watcher));
    }
  }
  edge_list graph = build_package_graph(std::move(packages), reverse);
  if (graph.vertices() == 0) fail(folder.string(), "the package lists are empty", "run apt-get update");
  watcher.finish(fmt::format("{}, {}", counted(graph.vertices(), graph.noun), counted(graph.edges.size(), "edge")));
  return graph;
}

}  // namespace amity::apps::graph
