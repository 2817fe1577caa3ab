/// METIS graph files (METIS manual, section 4.1.1): a line with the numbers of vertices and edges, then a line for each
/// vertex that lists its neighbours. Vertices are numbered from 1; each edge is listed by both of its ends, and may be
/// traversed in both directions. Weights of edges are lengths; those of vertices are skipped.

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>

#include "amity/base/random.hpp"
#include "apps/graph/input/formats.hpp"
#include "apps/graph/input/words.hpp"

namespace amity::apps::graph {
namespace {

constexpr std::string_view repair = "write the file again, as the manual of METIS wants it";
constexpr char comment = '%';
constexpr std::uint64_t weights_max = std::uint64_t{1} << 20;  // far more than METIS can balance

struct header {
  std::uint64_t vertices = 0;
  std::uint64_t edges = 0;
  std::uint64_t vertex_weights = 0;  ///< numbers in front of a vertex's neighbours
  bool edge_weights = false;
};

header read_header(line_reader& lines, const read_options& options) {
  header result;
  std::string_view line;
  if (!next_content(lines, line, comment)) lines.fail("the file ends before the line with the sizes", repair);
  result.vertices = take_number(line, "number of vertices", lines, repair);
  result.edges = take_number(line, "number of edges", lines, repair);
  std::string_view rest = line;
  const std::string_view format = take_word(rest);
  const std::uint64_t flags = format.empty() ? 0 : take_number(line, "format", lines, repair);
  const bool sizes = flags / 100 == 1;
  const bool weights = flags / 10 % 10 == 1;
  result.edge_weights = flags % 10 == 1;
  if (flags != 100u * sizes + 10u * weights + result.edge_weights) {
    lines.fail(fmt::format("the format '{}' is not three digits of 0 or 1", format), repair);
  }
  rest = line;
  const std::uint64_t constraints = take_word(rest).empty() ? 1 : take_number(line, "number of weights", lines, repair);
  if (constraints > weights_max) {
    lines.fail(fmt::format("the number of weights, {}, is out of range", constraints),
               fmt::format("use at most {} weights per vertex", weights_max));
  }
  if (!take_word(line).empty())
    lines.fail("there is more on the line than sizes, format and number of weights", repair);
  result.vertex_weights = sizes + (weights ? constraints : 0);
  check_vertex_count(lines.where(), result.vertices, result.edges, options);
  return result;
}

/// Equal for equal weights, such as 5 and 5.0.
std::uint64_t print_of(const weight_value& weight) {
  if (const auto* const integer = std::get_if<std::int64_t>(&weight)) return static_cast<std::uint64_t>(*integer);
  const double number = std::get<double>(weight);
  if (number == std::floor(number) && std::abs(number) < 0x1p63)
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(number));
  return std::bit_cast<std::uint64_t>(number);
}

/// Of an edge, whichever of its ends lists it.
std::uint64_t print_of(vertex lesser, vertex greater, const weight_value& weight) {
  return splitmix64::mix(splitmix64::mix(std::uint64_t{lesser} << 32 | greater) ^ print_of(weight));
}

/// The rest of a vertex's line. An edge is kept where its lesser end lists it.
void read_neighbours(std::string_view line, vertex own, const header& expected, const read_options& options,
                     const line_reader& lines, edge_list& into) {
  for (std::uint64_t i = 0; i < expected.vertex_weights; ++i) take_number(line, "weight of the vertex", lines, repair);
  for (std::string_view rest = line; !take_word(rest).empty(); rest = line) {
    const vertex other = take_vertex(line, "vertex", expected.vertices, lines, repair);
    std::optional<weight_value> length;
    if (expected.edge_weights) length = take_length(line, "weight", options, lines, repair);
    if (other == own) lines.fail(fmt::format("vertex {} is a neighbour of itself", own + 1), repair);
    ++into.listed;
    const std::uint64_t print = print_of(std::min(own, other), std::max(own, other), length.value_or(1));
    into.unpaired += own < other ? print : -print;
    if (own > other) continue;
    into.edges.push_back({own, other});
    if (length) into.weights.add(*length, lines);
  }
}

}  // namespace

bool is_metis(std::string_view file_name, std::string_view) {
  return file_name.ends_with(".graph") || file_name.ends_with(".metis");
}

void read_metis(input& from, const read_options& options, edge_list& into) {
  line_reader lines(from);
  const header expected = read_header(lines, options);
  const std::uint64_t lines_in_front = lines.line_number() - lines.percent_lines();
  const auto content_lines = [&] { return lines.line_number() - lines.percent_lines() - lines_in_front; };
  into.names = labels::numbered(static_cast<vertex>(expected.vertices), 1);
  into.has_lengths = expected.edge_weights;
  into.undirected = true;
  into.check = [wanted = expected.edges, where = lines.where()](const totals& all) {
    if (all.listed != 2 * all.edges) {
      fail(where,
           fmt::format("{} neighbours are greater than their vertex and {} are smaller, so that some edge is listed by "
                       "one end only",
                       all.edges, all.listed - all.edges),
           repair);
    }
    check_edge_count(where, wanted, all.edges, "edges");
    if (all.unpaired != 0) {
      fail(where, "some edge is listed by one of its ends only, or its ends give it different weights", repair);
    }
  };
  // A vertex may have all others as its neighbours.
  constexpr std::size_t neighbour_bytes_max = 64;
  lines.allow(neighbour_bytes_max * (expected.vertices + expected.vertex_weights));
  lines.share();
  for (std::string_view line; lines.next(line);) {
    if (line.starts_with(comment)) continue;
    const std::uint64_t number = content_lines();
    if (number > expected.vertices) {
      if (take_word(line).empty()) continue;
      lines.fail(fmt::format("there are more lines than the {} vertices of the header", expected.vertices), repair);
    }
    into.enter(lines.block());
    read_neighbours(line, static_cast<vertex>(number - 1), expected, options, lines, into);
  }
  if (content_lines() < expected.vertices) {
    lines.fail(fmt::format("the file ends after {} of {} vertices", content_lines(), expected.vertices), repair);
  }
}

}  // namespace amity::apps::graph
