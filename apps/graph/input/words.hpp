#pragma once

/// Lines, words and numbers, as the text formats share them. Each function `take_...` takes what it finds off the front
/// of the text. Those that know the line throw an `input_error` about it if they find something else.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "apps/graph/input/formats.hpp"
#include "apps/graph/input/input.hpp"

namespace amity::apps::graph {

/// A word between blanks; empty if there is none.
std::string_view take_word(std::string_view& line);

/// A line without its end ("\n" or "\r\n"); false if nothing is left.
bool take_line(std::string_view& text, std::string_view& line);

/// The first line whose first word begins with none of the characters `comments`; empty if there is none. A byte order
/// mark is skipped.
std::string_view first_content(std::string_view text, std::string_view comments);

/// Whether `word` is `lower_case`, in letters of any case.
bool is_word(std::string_view word, std::string_view lower_case);

/// Whether `word` is digits.
bool is_digits(std::string_view word);

/// The columns of an edge list's line, between blanks, tabs, commas or semicolons.
struct columns_of_line {
  std::array<std::string_view, 4> text;  ///< one more than is legal, to notice a line that is too long
  std::size_t count = 0;
  bool has_gap = false;  ///< there is no word between two separators, or before the first one
};
columns_of_line split_columns(std::string_view line);

std::uint64_t take_number(std::string_view& line, std::string_view what, const line_reader& lines,
                          std::string_view remedy);

/// A number from 1 to `count`, as a vertex that counts from 0.
vertex take_vertex(std::string_view& line, std::string_view what, std::uint64_t count, const line_reader& lines,
                   std::string_view remedy);

/// Nothing if weights are not used; then the word must still be a number. `what` names it in errors.
std::optional<weight_value> take_length(std::string_view& line, std::string_view what, const read_options& options,
                                        const line_reader& lines, std::string_view remedy);

/// The weight that a word means; see `take_length`.
std::optional<weight_value> read_length(std::string_view word, std::string_view what, const read_options& options,
                                        const line_reader& lines, std::string_view remedy);

/// The next line that is neither blank nor a comment; false at the end.
bool next_content(line_reader& lines, std::string_view& line, char comment);

}  // namespace amity::apps::graph
