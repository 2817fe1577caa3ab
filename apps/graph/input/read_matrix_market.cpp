/// Matrix Market coordinate files (https://math.nist.gov/MatrixMarket/formats.html): entry (i, j) is an edge from i to
/// j. Vertices are numbered from 1, and exist even if no edge does. A symmetric file gives each pair once, on or
/// below the diagonal, and its edges may be traversed in both directions.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "amity/base/edit_distance.hpp"
#include "apps/graph/input/formats.hpp"
#include "apps/graph/input/words.hpp"

namespace amity::apps::graph {
namespace {

constexpr std::string_view repair = "write the file again, as the Matrix Market format wants it";
constexpr std::string_view banner = "%%MatrixMarket";
constexpr char comment = '%';

/// What the first two lines that are no comments say.
struct header {
  bool pattern = false;  ///< entries have no value
  bool integer = false;  ///< values are whole numbers
  bool symmetric = false;
  std::uint64_t rows = 0;
  std::uint64_t columns = 0;
  std::uint64_t entries = 0;
};

std::string lower(std::string_view word) {
  std::string result(word);
  std::transform(result.begin(), result.end(), result.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return result;
}

void read_banner(std::string_view line, const line_reader& lines, header& into) {
  std::string_view rest = line;
  const std::string_view found = take_word(rest);
  std::array<std::string, 5> words;
  for (std::string& word : words) word = lower(take_word(line));
  const auto& [start, object, layout, field, symmetry] = words;
  if (start != lower(banner)) {
    lines.fail(fmt::format("the file does not begin with {}", banner),
               fmt::format("write that in place of '{}' on the first line, or name another format by --format", found));
  }
  const auto want = [&](std::string_view what, const std::string& word, std::initializer_list<std::string_view> known) {
    if (std::find(known.begin(), known.end(), word) != known.end()) return;
    lines.fail(fmt::format("the {} '{}' is not read", what, word),
               fmt::format("write it as {}", fmt::join(known, " or ")));
  };
  want("object", object, {"matrix"});
  want("layout", layout, {"coordinate"});
  want("field", field, {"pattern", "real", "integer"});
  want("symmetry", symmetry, {"general", "symmetric"});
  into.pattern = field == "pattern";
  into.integer = field == "integer";
  into.symmetric = symmetry == "symmetric";
}

/// Returns whether a comment is a banner, possibly a damaged one: "MatrixMarket" with at most two wrong letters and
/// then "matrix", or "matrix coordinate" and a field.
bool is_banner(std::string_view line) {
  constexpr std::size_t mistakes_max = 2;
  line.remove_prefix(std::min(line.find_first_not_of("%# \t"), line.size()));
  std::array<std::string, 5> words;
  for (std::string& word : words) word = lower(take_word(line));
  const bool names_format =
      words[0].size() <= 2 * banner.size() && edit_distance(words[0], "matrixmarket") <= mistakes_max;
  if (names_format && words[1] == "matrix") return true;
  const std::array<std::string, 2> begin{"matrix", "coordinate"};
  const auto found = std::ranges::search(words, begin);
  constexpr std::array<std::string_view, 5> fields{"pattern", "real", "integer", "complex", "double"};
  return found.begin() != words.end() && found.end() != words.end() &&
         std::ranges::find(fields, *found.end()) != fields.end();
}

header read_header(line_reader& lines, const read_options& options) {
  header result;
  std::string_view line;
  lines.next(line);
  read_banner(line, lines, result);
  if (!next_content(lines, line, comment)) lines.fail("the file ends before the line with the sizes", repair);
  result.rows = take_number(line, "number of rows", lines, repair);
  result.columns = take_number(line, "number of columns", lines, repair);
  result.entries = take_number(line, "number of entries", lines, repair);
  if (result.rows != result.columns) {
    lines.fail(fmt::format("{} rows and {} columns are no square, so rows and columns are not the same vertices",
                           result.rows, result.columns),
               "name the matrix of a graph");
  }
  if (!take_word(line).empty()) lines.fail("there is more on the line than the three sizes", repair);
  check_vertex_count(lines.where(), result.rows, result.entries, options);
  return result;
}

bool is_integer(std::string_view word) {
  if (word.starts_with('-') || word.starts_with('+')) word.remove_prefix(1);
  return is_digits(word);
}

/// Takes the value of an entry, which must have the type that the header states even if lengths are not used.
std::optional<weight_value> take_value(std::string_view& line, const header& expected, const read_options& options,
                                       const line_reader& lines) {
  if (expected.pattern) return std::nullopt;
  std::string_view rest = line;
  const std::string_view word = take_word(rest);
  if (expected.integer && !word.empty() && !is_integer(word)) {
    lines.fail(fmt::format("value '{}' is not an integer, which the header states", word),
               "write integers, or 'real' in the first line");
  }
  return take_length(line, "value", options, lines, repair);
}

}  // namespace

/// Recognizes the file by its name, or by a banner before the first line with numbers. The reader refuses a damaged
/// banner.
bool is_matrix_market(std::string_view file_name, std::string_view head) {
  if (has_extension(file_name, ".mtx")) return true;
  head = without_byte_order_mark(head);
  for (std::string_view line; take_line(head, line);) {
    const std::size_t begin = line.find_first_not_of(" \t");
    if (begin == line.npos) continue;
    if (line[begin] != comment && line[begin] != '#') return false;
    if (is_banner(line)) return true;
  }
  return false;
}

void read_matrix_market(input& from, const read_options& options, edge_list& into) {
  line_reader lines(from);
  const header expected = read_header(lines, options);
  into.names = labels::numbered(static_cast<vertex>(expected.rows), 1);
  into.has_lengths = !expected.pattern;
  into.undirected = expected.symmetric;
  into.check = [wanted = expected.entries, where = lines.where()](const totals& all) {
    check_edge_count(where, wanted, all.edges, "entries");
  };
  lines.share();
  for (std::string_view line; next_content(lines, line, comment);) {
    const vertex row = take_vertex(line, "row", expected.rows, lines, repair);
    const vertex column = take_vertex(line, "column", expected.rows, lines, repair);
    into.enter(lines.block());
    if (expected.symmetric && row < column) {
      lines.fail(fmt::format("entry ({}, {}) is above the diagonal of a symmetric matrix", row + 1, column + 1),
                 "write only the entries on and below the diagonal, or 'general' in the first line");
    }
    into.edges.push_back({row, column});
    if (const auto value = take_value(line, expected, options, lines)) into.weights.add(*value, lines);
    if (!take_word(line).empty()) lines.fail("there is more on the line than one entry", repair);
  }
}

}  // namespace amity::apps::graph
