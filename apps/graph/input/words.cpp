#include "apps/graph/input/words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>

#include "apps/graph/console/text.hpp"

namespace amity::apps::graph {

std::string_view take_word(std::string_view& line) {
  const auto blank = [](char c) { return c == ' ' || c == '\t'; };
  const auto begin = std::find_if_not(line.begin(), line.end(), blank);
  const auto end = std::find_if(begin, line.end(), blank);
  const std::string_view word(begin, end);
  line.remove_prefix(static_cast<std::size_t>(end - line.begin()));
  return word;
}

bool take_line(std::string_view& text, std::string_view& line) {
  if (text.empty()) return false;
  const std::size_t end = std::min(text.find('\n'), text.size());
  line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  if (line.ends_with('\r')) line.remove_suffix(1);
  return true;
}

std::string_view first_content(std::string_view text, std::string_view comments) {
  text = without_byte_order_mark(text);
  for (std::string_view line; take_line(text, line);) {
    std::string_view rest = line;
    const std::string_view word = take_word(rest);
    if (!word.empty() && comments.find(word[0]) == comments.npos) return line;
  }
  return {};
}

bool is_word(std::string_view word, std::string_view lower_case) {
  return std::ranges::equal(word, lower_case, {}, [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
}

bool is_digits(std::string_view word) {
  return !word.empty() && std::ranges::all_of(word, [](char c) { return c >= '0' && c <= '9'; });
}

columns_of_line split_columns(std::string_view line) {
  const auto is_separator = [](char c) { return c == ' ' || c == '\t' || c == ',' || c == ';'; };
  columns_of_line result;
  const char* at = line.data();
  const char* const end = at + line.size();
  while (result.count < result.text.size()) {
    int marks = 0;
    for (; at != end && is_separator(*at); ++at) marks += *at == ',' || *at == ';';
    result.has_gap |= marks > (result.count > 0 ? 1 : 0);
    if (at == end) break;
    const char* const begin = at;
    while (at != end && !is_separator(*at)) ++at;
    result.text[result.count++] = {begin, at};
  }
  return result;
}

std::uint64_t take_number(std::string_view& line, std::string_view what, const line_reader& lines,
                          std::string_view remedy) {
  const std::string_view word = take_word(line);
  if (word.empty()) lines.fail(fmt::format("the {} is missing", what), remedy);
  std::uint64_t number = 0;
  const auto [end, failed] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (failed == std::errc::result_out_of_range) {
    lines.fail(fmt::format("the {}, {}, is too large", what, word), remedy);
  }
  if (failed != std::errc{} || end != word.data() + word.size()) {
    lines.fail(fmt::format("the {}, '{}', is not a number that counts from 1", what, word), remedy);
  }
  return number;
}

vertex take_vertex(std::string_view& line, std::string_view what, std::uint64_t count, const line_reader& lines,
                   std::string_view remedy) {
  const std::uint64_t number = take_number(line, what, lines, remedy);
  if (number == 0) lines.fail(fmt::format("{} 0, where {} count from 1", what, plural(what)), remedy);
  if (number > count) {
    lines.fail(fmt::format("{} {} is greater than the number of {}, {}", what, number, plural(what), count), remedy);
  }
  return static_cast<vertex>(number - 1);
}

std::optional<weight_value> read_length(std::string_view word, std::string_view what, const read_options& options,
                                        const line_reader& lines, std::string_view remedy) {
  if (!options.with_lengths) {
    if (!parse_number(word)) lines.fail(fmt::format("{} '{}' is not a number", what, word), remedy);
    return {};
  }
  weight_value value;
  const weight_problem problem = parse_weight(word, options.rules, value);
  if (problem.reason.empty()) return value;
  if (!parse_number(word)) lines.fail(fmt::format("{} '{}' {}", what, word, problem.reason), remedy);
  lines.fail(fmt::format("{} {} {}", what, word, problem.reason), problem.remedy);
}

std::optional<weight_value> take_length(std::string_view& line, std::string_view what, const read_options& options,
                                        const line_reader& lines, std::string_view remedy) {
  const std::string_view word = take_word(line);
  if (word.empty()) lines.fail(fmt::format("the {} is missing", what), remedy);
  return read_length(word, what, options, lines, remedy);
}

bool next_content(line_reader& lines, std::string_view& line, char comment) {
  while (lines.next(line)) {
    std::string_view rest = line;
    const std::string_view word = take_word(rest);
    if (!word.empty() && word[0] != comment) return true;
  }
  return false;
}

}  // namespace amity::apps::graph
