/// Edge lists as text: "source target [length]" on each line, between blanks, tabs, commas or semicolons; lines that
/// begin with # or % are comments. A label is any text; if it is all digits, it is a number from 0 to 2^64 - 1, and
/// leading zeros do not count. The first edge says whether there are lengths.

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "apps/graph/input/formats.hpp"
#include "apps/graph/input/words.hpp"

namespace amity::apps::graph {
namespace {

constexpr std::string_view repair = "write 'source target' or 'source target length' on each line";

constexpr std::string_view repair_of_length =
    "write 'source target' or 'source target length' on each line; in a CSV file, remove the line with names of "
    "columns, "
    "and in a SIF file the column of interactions";

/// The vertex of a label; one that is all digits is a number, and is kept without leading zeros.
vertex read_vertex(std::string_view label, const line_reader& lines, labels& names) {
  const bool negative = label.size() > 1 && label[0] == '-';
  if (!is_digits(label.substr(negative ? 1 : 0))) return names.intern(label);
  if (negative) lines.fail(fmt::format("vertex {} is negative", label), "number vertices from 0");
  while (label.size() > 1 && label[0] == '0') label.remove_prefix(1);
  std::uint64_t number = 0;
  const auto result = std::from_chars(label.data(), label.data() + label.size(), number);
  if (result.ec != std::errc{}) {
    lines.fail(fmt::format("vertex {} is greater than {}", label, ~std::uint64_t{0}), "renumber the vertices");
  }
  return names.intern(label, number);
}

}  // namespace

void read_text_edges(input& from, const read_options& options, edge_list& into) {
  line_reader lines(from);
  std::size_t columns = 0;
  for (std::string_view line; lines.next(line);) {
    const columns_of_line found = split_columns(line);
    if (found.count == 0 || found.text[0][0] == '#' || found.text[0][0] == '%') continue;
    if (line.find('\0') != std::string_view::npos) lines.fail("there is a NUL byte: this is not text", "see --format");
    if (line.find('\r') != std::string_view::npos)
      lines.fail("there is a carriage return inside a line", "end lines by LF, or CR LF");
    if (found.has_gap) lines.fail("a column is empty", repair);
    if (found.count == 1) lines.fail(fmt::format("vertex '{}' has no target", found.text[0]), repair);
    if (found.count > 3) lines.fail("there are more than 3 columns", repair);
    if (columns == 0) {  // the first edge, which says it for all ranks
      columns = found.count;
      lines.share();
      if (!lines.mine()) continue;
    }
    if (found.count != columns) {
      lines.fail(fmt::format("{} columns, where the lines before have {}", found.count, columns), repair);
    }
    into.enter(lines.block());
    const vertex source = read_vertex(found.text[0], lines, into.names);
    const vertex target = read_vertex(found.text[1], lines, into.names);
    if (std::max(source, target) == no_vertex) lines.fail("there are more vertices than 2^32 - 1", "split the graph");
    into.edges.push_back({source, target});
    const bool has_no_data = found.text[2] == "{}" && !options.with_lengths;  // as NetworkX writes edges
    if (columns == 3 && !has_no_data) {
      const auto length = read_length(found.text[2], "length", options, lines, repair_of_length);
      if (length) into.weights.add(*length, lines);
    }
  }
  into.has_lengths = columns == 3;
  into.check = [name = from.name()](const totals& all) {
    if (all.edges == 0) fail(name, "there are no edges in it", repair);
  };
}

}  // namespace amity::apps::graph
