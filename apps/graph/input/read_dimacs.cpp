/// Shortest-path files of the 9th DIMACS challenge (http://www.diag.uniroma1.it/challenge9/format.shtml): "p sp n m",
/// then "a source target length" for each of m arcs; lines that begin with c are comments. Vertices are numbered from
/// 1. Arcs lead one way: where a street leads both ways, there are two.

#include <fmt/format.h>

#include "apps/graph/input/formats.hpp"
#include "apps/graph/input/words.hpp"

namespace amity::apps::graph {
namespace {

constexpr std::string_view repair = "write the file again, as the DIMACS format wants it";
constexpr char comment = 'c';

}  // namespace

/// By its name, or by "p PROBLEM n m". With fewer words that line is an edge, such as from p to sp.
bool is_dimacs(std::string_view file_name, std::string_view head) {
  if (has_extension(file_name, ".gr")) return true;
  std::string_view line = first_content(head, "c#%");
  return is_word(take_word(line), "p") && !take_word(line).empty() && is_digits(take_word(line)) &&
         is_digits(take_word(line));
}

void read_dimacs(input& from, const read_options& options, edge_list& into) {
  line_reader lines(from);
  std::string_view line;
  if (!next_content(lines, line, comment)) lines.fail("the file ends before the line 'p sp'", repair);
  const std::string_view mark = take_word(line);
  const std::string_view problem = take_word(line);
  if (mark != "p" || problem.empty()) lines.fail("the first line is not 'p sp'", repair);
  if (problem != "sp") {
    lines.fail(fmt::format("the DIMACS problem '{}' is not read", problem),
               "name a file of shortest paths, 'p sp', or write its edges as text, 'source target' on each line");
  }
  const std::uint64_t vertices = take_number(line, "number of vertices", lines, repair);
  const std::uint64_t arcs = take_number(line, "number of arcs", lines, repair);
  if (!take_word(line).empty()) lines.fail("there is more on the line than the two sizes", repair);
  check_vertex_count(lines.where(), vertices, arcs, options);
  into.names = labels::numbered(static_cast<vertex>(vertices), 1);
  into.has_lengths = true;
  into.check = [arcs, where = lines.where()](const totals& all) { check_edge_count(where, arcs, all.edges, "arcs"); };
  lines.share();
  while (next_content(lines, line, comment)) {
    const std::string_view kind = take_word(line);
    if (kind != "a") lines.fail(fmt::format("'{}' begins neither an arc nor a comment", kind), repair);
    const vertex source = take_vertex(line, "vertex", vertices, lines, repair);
    const vertex target = take_vertex(line, "vertex", vertices, lines, repair);
    into.enter(lines.block());
    into.edges.push_back({source, target});
    if (const auto length = take_length(line, "length", options, lines, repair)) into.weights.add(*length, lines);
    if (!take_word(line).empty()) lines.fail("there is more on the line than one arc", repair);
  }
}

}  // namespace amity::apps::graph
