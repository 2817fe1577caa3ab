#pragma once

/// The file formats that can be read: a table with one row each, and one source file each.
///
/// To add a format, write its reader and add its row to `format_table`.

#include <array>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "apps/graph/console/progress.hpp"
#include "apps/graph/input/edge_list.hpp"
#include "apps/graph/input/input.hpp"

namespace amity::apps::graph {

struct read_options {
  /// Weights are used: they are read, and must obey the rules. Otherwise they are skipped.
  bool with_lengths = false;
  weight_rules rules = {};
  /// Number of vertices, as the user states it; see `check_vertex_count`.
  std::optional<std::uint64_t> vertices = {};
  /// How finely ranks share the input; see `turns`. Tests want it small.
  std::size_t block_bytes = turns().block_bytes;
};

struct format {
  std::string_view name;  ///< for --format
  std::string_view help;  ///< one line
  bool numbered;          ///< vertices are consecutive numbers, and the user may state how many there are

  /// Whether a file with this name (without ".gz") that begins with these bytes is of this format, or a damaged file of
  /// it. What the reader accepts of a file is recognized in a pipe, too, which has no name.
  bool (*recognises)(std::string_view file_name, std::string_view head);

  /// Reads what is this rank's turn of `from`. Throws `input_error` with file, line or byte, and reason, for malformed
  /// input; of what only all ranks together can tell, it leaves a check in `into`.
  void (*read)(input& from, const read_options& options, edge_list& into);
};

/// In the order in which they are tried. The last recognises everything.
std::span<const format> format_table();

/// Empty if there is a format of that name; a sentence that names the nearest one otherwise.
std::string format_problem(const std::string& name);

/// Reads what is this rank's turn of a file, in the named format, which must exist. If the name is empty, the first
/// format that recognizes the file is used; a file in a foreign format (foreign_formats.hpp) is an error then.
edge_list read_turns(const std::filesystem::path& file, const std::string& format_name, const read_options& options,
                     const turns& sharing, progress& watcher);

/// Reads a whole graph from memory, without a job, and checks it. `name` is for messages, and for the format like the
/// name of a file.
edge_list read_bytes(std::span<const char> bytes, std::string name, const std::string& format_name,
                     const read_options& options, progress& watcher);

/// The readers; see the comments in their files.
void read_matrix_market(input& from, const read_options& options, edge_list& into);
void read_graph500_packed(input& from, const read_options& options, edge_list& into);
void read_graph500_int64(input& from, const read_options& options, edge_list& into);
void read_metis(input& from, const read_options& options, edge_list& into);
void read_dimacs(input& from, const read_options& options, edge_list& into);
void read_wordnet(input& from, const read_options& options, edge_list& into);
void read_text_edges(input& from, const read_options& options, edge_list& into);

/// Whether the name of a file has this extension, in letters of any case.
bool has_extension(std::string_view file_name, std::string_view extension);

bool is_matrix_market(std::string_view file_name, std::string_view head);
bool is_graph500_packed(std::string_view file_name, std::string_view head);
bool is_graph500_int64(std::string_view file_name, std::string_view head);
bool is_metis(std::string_view file_name, std::string_view head);
bool is_dimacs(std::string_view file_name, std::string_view head);
bool is_wordnet(std::string_view file_name, std::string_view head);

/// The files that make WordNet, in a folder that has them all.
inline constexpr std::array<std::string_view, 4> wordnet_files{"data.noun", "data.verb", "data.adj", "data.adv"};

/// Throws at `where` if the input has another number of vertices than the user states. If the user states none, throws
/// if `count` vertices are not plausible for so many edges: more than 2^20, and more than 256 per edge. A damaged
/// number would otherwise take all memory.
void check_vertex_count(const std::string& where, std::uint64_t count, std::uint64_t edges,
                        const read_options& options);

/// Throws at `where`, the header, if a file has more or fewer `things` than that says.
void check_edge_count(const std::string& where, std::uint64_t wanted, std::uint64_t found, std::string_view things);

}  // namespace amity::apps::graph
