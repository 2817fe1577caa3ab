#include "apps/graph/input/formats.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "amity/base/assert.hpp"
#include "amity/base/edit_distance.hpp"
#include "amity/base/error.hpp"
#include "apps/graph/console/text.hpp"
#include "apps/graph/input/foreign_formats.hpp"
#include "apps/graph/input/words.hpp"

namespace amity::apps::graph {
namespace {

namespace fs = std::filesystem;

constexpr auto table = std::to_array<format>({
    {"matrix-market", "Matrix Market coordinate file: pattern, real or integer; general or symmetric", true,
     is_matrix_market, read_matrix_market},
    {"graph500-packed", "Graph500 binary edge list, two 48-bit numbers in 12 bytes", true, is_graph500_packed,
     read_graph500_packed},
    {"graph500-int64", "Graph500 binary edge list, two 64-bit numbers in 16 bytes", true, is_graph500_int64,
     read_graph500_int64},
    {"metis", "METIS graph file: the neighbors of a vertex on each line, optionally with edge weights", true, is_metis,
     read_metis},
    {"dimacs", "DIMACS shortest-path file: 'p sp', then 'a source target weight' on each line", true, is_dimacs,
     read_dimacs},
    {"wordnet", "WordNet: the directory of its data files, or one of them", false, is_wordnet, read_wordnet},
    {"edges", "text: source, target and optionally a weight on each line, separated by blanks or commas", false,
     [](std::string_view, std::string_view) { return true; }, read_text_edges},
});

const format& choose(const std::string& wanted, std::string_view file_name, std::string_view head) {
  const std::string_view whole_name = file_name;
  if (has_extension(file_name, ".gz")) file_name.remove_suffix(3);
  if (wanted.empty()) {
    if (const auto foreign = find_foreign_format(file_name, head)) {
      fail(whole_name, fmt::format("this is {}, which is not supported", foreign->name),
           fmt::format("{}; if the file has a supported format, name that by --format", foreign->remedy));
    }
  }
  const auto found = std::ranges::find_if(table, [&](const format& candidate) {
    return wanted.empty() ? candidate.recognises(file_name, head) : candidate.name == wanted;
  });
  AMITY_ASSERT(found != table.end(), wanted);
  return *found;
}

}  // namespace

std::span<const format> format_table() { return table; }

bool has_extension(std::string_view file_name, std::string_view extension) {
  return file_name.size() > extension.size() &&
         is_word(file_name.substr(file_name.size() - extension.size()), extension);
}

std::string format_problem(const std::string& name) {
  std::vector<std::string_view> names;
  for (const format& each : table) names.push_back(each.name);
  if (std::ranges::find(names, name) != names.end()) return {};
  const auto close = nearest(name, names);
  return fmt::format("there is no format '{}'; {}", name,
                     close ? fmt::format("did you mean {}?", *close) : "see amity graph --help");
}

namespace {

/// Reads one file, or part, of an input.
void read_part(input& from, const std::string& format_name, const read_options& options, edge_list& into,
               progress& watcher) {
  watcher.begin("reading " + from.name(), from.file_bytes(), true);
  const auto head = from.peek();
  if (head.empty()) fail(from.name(), "the file is empty", "name a file with a graph");
  const format& chosen = choose(format_name, from.name(), {head.data(), head.size()});
  if (options.vertices && !chosen.numbered) {
    fail(from.name(), fmt::format("the format '{}' has labels, not numbers of vertices", chosen.name),
         "omit --vertices, or name another format by --format");
  }
  chosen.read(from, options, into);
}

}  // namespace

edge_list read_turns(const fs::path& file, const std::string& format_name, const read_options& options,
                     const turns& sharing, progress& watcher) {
  edge_list result;
  constexpr std::uint64_t lines_max = std::uint64_t{1} << 48;
  std::error_code absent;
  if (file != standard_input && fs::exists(file / wordnet_files[0], absent)) {
    std::uint64_t blocks = 0;
    for (std::size_t i = 0; i < wordnet_files.size(); ++i) {
      input part(file / wordnet_files[i], watcher, sharing, blocks, i * lines_max);
      read_part(part, format_name, options, result, watcher);
      blocks = part.block() + 1;
    }
    result.title = "WordNet";
  } else {
    input whole(file, watcher, sharing);
    read_part(whole, format_name, options, result, watcher);
    result.title = whole.name();
  }
  return result;
}

edge_list read_bytes(std::span<const char> bytes, std::string name, const std::string& format_name,
                     const read_options& options, progress& watcher) {
  edge_list result;
  input whole(bytes, std::move(name), watcher, {.block_bytes = options.block_bytes});
  read_part(whole, format_name, options, result, watcher);
  result.title = whole.name();
  if (result.check) result.check({result.vertices(), result.edges.size(), result.listed, result.unpaired});
  return result;
}

void check_vertex_count(const std::string& where, std::uint64_t count, std::uint64_t edges,
                        const read_options& options) {
  if (count >= no_vertex) {
    fail(where, fmt::format("{} vertices are more than the {} that fit", grouped(count), grouped(no_vertex - 1)),
         "renumber the vertices");
  }
  if (options.vertices) {
    if (*options.vertices == count) return;
    fail(where, fmt::format("the file has {} vertices, and --vertices is {}", grouped(count), *options.vertices),
         "correct or omit --vertices");
  }
  constexpr std::uint64_t always_plausible = 1 << 20;
  constexpr std::uint64_t isolated_share = 256;
  if (count > always_plausible && count / isolated_share > edges) {
    fail(where, fmt::format("{} vertices are not plausible for {} edges", grouped(count), grouped(edges)),
         fmt::format("check the format (see --format), renumber the vertices, or confirm the number by --vertices {}",
                     count));
  }
}

void check_edge_count(const std::string& where, std::uint64_t wanted, std::uint64_t found, std::string_view things) {
  if (found == wanted) return;
  fail(where, fmt::format("the file has {} {}, where its header says {}", grouped(found), things, grouped(wanted)),
       "write the file again, or fetch all of it");
}

}  // namespace amity::apps::graph
