/// METIS graph files (METIS manual, section 4.1.1): a line with the numbers of vertices and edges, then a line for each
/// vertex that lists its neighbours. Vertices are numbered from 1; each edge is listed by both of its ends, and may be
/// traversed in both directions. Weights of edges are lengths; those of vertices are skipped.

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>
#include <vector>

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

header read_header(line_reader& lines) {
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

/// Gives each neighbor on the line of a vertex to `take`, with the weight of the edge if the file has weights.
template <class Take>
void each_neighbor(std::string_view line, vertex own, const header& expected, const read_options& options,
                   const line_reader& lines, const Take& take) {
  for (std::uint64_t i = 0; i < expected.vertex_weights; ++i) take_number(line, "weight of the vertex", lines, repair);
  for (std::string_view rest = line; !take_word(rest).empty(); rest = line) {
    const vertex other = take_vertex(line, "vertex", expected.vertices, lines, repair);
    std::optional<weight_value> length;
    if (expected.edge_weights) length = take_length(line, "weight", options, lines, repair);
    if (other == own) lines.fail(fmt::format("vertex {} is a neighbour of itself", own + 1), repair);
    take(other, length);
  }
}

/// The line of a vertex. An edge is kept where its lesser end lists it.
void read_neighbours(std::string_view line, vertex own, const header& expected, const read_options& options,
                     const line_reader& lines, edge_list& into) {
  each_neighbor(line, own, expected, options, lines, [&](vertex other, const std::optional<weight_value>& length) {
    ++into.listed;
    const std::uint64_t print = print_of(std::min(own, other), std::max(own, other), length.value_or(1));
    into.unpaired += own < other ? print : -print;
    if (own > other) return;
    into.edges.push_back({own, other});
    if (length) into.weights.add(*length, lines);
  });
}

/// Whether a text is METIS as far as it goes: its vertices list one another as neighbors. Throws `input_error` if it
/// cannot be. The columns of a file in which all vertices have the same degree are those of an edge list.
bool neighbors_agree(std::string_view text) {
  const bool whole = text.size() < input::buffer_bytes;
  if (!whole) text = text.substr(0, text.rfind('\n') + 1);
  progress quiet(progress::style::off);
  input from(text, "", quiet);
  line_reader lines(from);
  const header expected = read_header(lines);
  if (expected.vertices >= no_vertex) return false;
  vertex seen = 0;  // vertices with a line
  std::vector<edge_ends> listed;
  for (std::string_view line; lines.next(line);) {
    if (line.starts_with(comment)) continue;
    if (seen == expected.vertices) {
      if (take_word(line).empty()) continue;
      return false;
    }
    each_neighbor(line, seen, expected, {}, lines, [&](vertex other, const auto&) { listed.push_back({seen, other}); });
    ++seen;
  }
  if (whole && (seen != expected.vertices || listed.size() != 2 * expected.edges)) return false;
  std::vector<std::uint64_t> there, back;
  for (const auto [source, target] : listed) {
    if (target >= seen) continue;  // its line follows later
    there.push_back(std::uint64_t{source} << 32 | target);
    back.push_back(std::uint64_t{target} << 32 | source);
  }
  std::ranges::sort(there);
  std::ranges::sort(back);
  return !there.empty() && there == back && std::ranges::adjacent_find(there) == there.end();
}

}  // namespace

/// By its name, or by neighbors that list one another.
bool is_metis(std::string_view file_name, std::string_view head) {
  if (has_extension(file_name, ".graph") || has_extension(file_name, ".metis")) return true;
  std::string_view first = first_content(head, {&comment, 1});
  if (!is_digits(take_word(first)) || !is_digits(take_word(first))) return false;
  try {
    return neighbors_agree(head);
  } catch (const input_error&) {
    return false;
  }
}

void read_metis(input& from, const read_options& options, edge_list& into) {
  line_reader lines(from);
  const header expected = read_header(lines);
  check_vertex_count(lines.where(), expected.vertices, expected.edges, options);
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
