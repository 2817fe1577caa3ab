#pragma once

/// Words and numbers between blanks, as the text formats with headers share them. Each function takes what it finds
/// off the front of the line, and throws an `input_error` about the line if it finds something else.

#include <cstdint>
#include <optional>
#include <string_view>

#include "apps/graph/input/formats.hpp"
#include "apps/graph/input/input.hpp"

namespace amity::apps::graph {

/// Empty if there is none.
std::string_view take_word(std::string_view& line);

std::uint64_t take_number(std::string_view& line, std::string_view what, const line_reader& lines,
                          std::string_view remedy);

/// A number from 1 to `count`, as a vertex that counts from 0.
vertex take_vertex(std::string_view& line, std::string_view what, std::uint64_t count, const line_reader& lines,
                   std::string_view remedy);

/// Nothing if weights are not used; then the word must still be a number. `what` names it in errors.
std::optional<weight_value> take_length(std::string_view& line, std::string_view what, const read_options& options,
                                        const line_reader& lines, std::string_view remedy);

/// The weight that a word means; see `take_length`.
weight_value read_length(std::string_view word, std::string_view what, const read_options& options,
                         const line_reader& lines, std::string_view remedy);

/// The next line that is neither blank nor a comment; false at the end.
bool next_content(line_reader& lines, std::string_view& line, char comment);

}  // namespace amity::apps::graph
