/// Matrix Market coordinate files (https://math.nist.gov/MatrixMarket/formats.html): entry (i, j) is an edge from i to
/// j. Vertices are numbered from 1, and exist even if no edge does. A symmetric file gives each pair once, and its
/// edges may be walked in both directions.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

#include "apps/graph/console/text.hpp"
#include "apps/graph/input/formats.hpp"

namespace amity::apps::graph {
namespace {

constexpr std::string_view repair = "write the file again, as the Matrix Market format wants it";
constexpr std::string_view banner = "%%MatrixMarket";

/// What the first two lines that are no comments say.
struct header {
  bool pattern = false;  ///< entries have no value
  bool symmetric = false;
  std::uint64_t rows = 0;
  std::uint64_t columns = 0;
  std::uint64_t entries = 0;
};

/// Takes the next word off the front of `line`; empty if there is none.
std::string_view take_word(std::string_view& line) {
  const auto blank = [](char c) { return c == ' ' || c == '\t'; };
  const auto begin = std::find_if_not(line.begin(), line.end(), blank);
  const auto end = std::find_if(begin, line.end(), blank);
  const std::string_view word(begin, end);
  line.remove_prefix(static_cast<std::size_t>(end - line.begin()));
  return word;
}

std::string lower(std::string_view word) {
  std::string result(word);
  std::transform(result.begin(), result.end(), result.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return result;
}

/// Takes a number off the front of `line`.
std::uint64_t take_number(std::string_view& line, std::string_view what, const line_reader& lines) {
  const std::string_view word = take_word(line);
  if (word.empty()) lines.fail(fmt::format("the {} is missing", what), repair);
  std::uint64_t number = 0;
  const auto [end, failed] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (failed == std::errc::result_out_of_range) {
    lines.fail(fmt::format("the {}, {}, is too large", what, word), repair);
  }
  if (failed != std::errc{} || end != word.data() + word.size()) {
    lines.fail(fmt::format("the {}, '{}', is not a number that counts from 1", what, word), repair);
  }
  return number;
}

void read_banner(std::string_view line, const line_reader& lines, header& into) {
  std::array<std::string, 5> words;
  for (std::string& word : words) word = lower(take_word(line));
  const auto& [start, object, layout, field, symmetry] = words;
  if (start != lower(banner)) lines.fail(fmt::format("the file does not begin with {}", banner), "see --format");
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
  into.symmetric = symmetry == "symmetric";
}

/// The next line that is neither blank nor a comment; false at the end.
bool next_content(line_reader& lines, std::string_view& line) {
  while (lines.next(line)) {
    std::string_view rest = line;
    const std::string_view word = take_word(rest);
    if (!word.empty() && word[0] != '%') return true;
  }
  return false;
}

header read_header(line_reader& lines) {
  header result;
  std::string_view line;
  lines.next(line);
  read_banner(line, lines, result);
  if (!next_content(lines, line)) lines.fail("the file ends before the line with the sizes", repair);
  result.rows = take_number(line, "number of rows", lines);
  result.columns = take_number(line, "number of columns", lines);
  result.entries = take_number(line, "number of entries", lines);
  if (result.rows != result.columns) {
    lines.fail(fmt::format("{} rows and {} columns are no square, so rows and columns are not the same vertices",
                           result.rows, result.columns),
               "name the matrix of a graph");
  }
  check_vertex_count(lines.where(), result.rows, result.entries);
  return result;
}

/// Takes "row" or "column" off the front of `line`, as a vertex.
vertex take_vertex(std::string_view& line, std::string_view what, const header& expected, const line_reader& lines) {
  const std::uint64_t number = take_number(line, what, lines);
  if (number == 0) lines.fail(fmt::format("{} 0, where {}s count from 1", what, what), repair);
  if (number > expected.rows) {
    lines.fail(fmt::format("{} {} is greater than the number of {}s, {}", what, number, what, expected.rows), repair);
  }
  return static_cast<vertex>(number - 1);
}

float take_value(std::string_view& line, const read_options& options, const line_reader& lines) {
  const std::string_view word = take_word(line);
  if (word.empty()) lines.fail("the value is missing", repair);
  const auto value = parse_length(word);
  if (!value) lines.fail(fmt::format("value '{}' is not a number", word), repair);
  const std::string problem = length_problem(*value);
  if (options.with_lengths && !problem.empty()) {
    lines.fail(fmt::format("value {} {}", word, problem), "shortest paths want lengths that are finite and at least 0");
  }
  return options.with_lengths ? *value : 1.0f;
}

}  // namespace

bool is_matrix_market(std::string_view file_name, std::string_view head) {
  return file_name.ends_with(".mtx") || head.starts_with(banner);
}

void read_matrix_market(input& from, const read_options& options, edge_list& into) {
  line_reader lines(from);
  const header expected = read_header(lines);
  into.names = labels::numbered(static_cast<vertex>(expected.rows), 1);
  into.has_lengths = !expected.pattern;
  into.undirected = expected.symmetric;
  for (std::string_view line; next_content(lines, line);) {
    if (into.edges.size() == expected.entries) {
      lines.fail(fmt::format("there are more entries than the {} of the header", expected.entries), repair);
    }
    const vertex row = take_vertex(line, "row", expected, lines);
    const vertex column = take_vertex(line, "column", expected, lines);
    into.edges.push_back({row, column, expected.pattern ? 1.0f : take_value(line, options, lines)});
    if (!take_word(line).empty()) lines.fail("there is more on the line than one entry", repair);
  }
  if (into.edges.size() != expected.entries) {
    lines.fail(fmt::format("the file ends after {} of {} entries", into.edges.size(), expected.entries), repair);
  }
}

}  // namespace amity::apps::graph
