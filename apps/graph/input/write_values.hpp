#pragma once

/// Writes what a kernel has found of each vertex as text: its label, and a value, another vertex's label, or both.
///
/// Lines come in the order of the vertices' numbers, and so are the same for any number of ranks. Every rank makes its
/// part of the text, and has it in memory for a moment. Rank 0 writes all parts: the ranks need no common file system,
/// and the output can be a FIFO or standard output.

#include <functional>
#include <string>
#include <string_view>

#include "amity/amity.hpp"
#include "apps/graph/input/distributed_names.hpp"

namespace amity::apps::graph {

/// Says a vertex of the whole graph, its value (at most 31 characters), and another vertex, or `no_vertex` for none,
/// where "-" is written. Vertices about which nobody says anything get no line.
using value_taker = std::function<void(vertex v, std::string_view value, vertex other)>;

/// What stands in a line behind the label.
enum class columns { value, other, value_and_other };

struct value_lines {
  columns shown = columns::value;
  std::function<void(const value_taker& say)> mine;  ///< says all that this rank knows
};

/// Collective: writes the output with this name (output_file.hpp), the same on all ranks. Throws the same
/// `amity::error` on all of them if it cannot be written; an existing file is unchanged then.
void write_values(world& w, const std::string& file, const distributed_names& names, const value_lines& lines);

}  // namespace amity::apps::graph
