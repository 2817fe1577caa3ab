/// The data files of WordNet (its manual, wndb(5)): data.noun, data.verb, data.adj and data.adv, or the folder with all
/// four. A vertex is a synset, labelled by part of speech and offset as in "n00001740"; an edge is a pointer from one
/// to another. WordNet 3.0 has 117,659 synsets and 377,592 pointers. Its licence stands in front of the synsets, on
/// lines that begin with a blank.

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "apps/graph/input/formats.hpp"
#include "apps/graph/input/words.hpp"

namespace amity::apps::graph {
namespace {

constexpr std::string_view repair = "install WordNet again";

/// "n00001740". Satellites of adjectives lie among the adjectives.
std::string label_of(std::string_view part_of_speech, std::string_view offset) {
  return fmt::format("{}{}", part_of_speech == "s" ? "a" : part_of_speech, offset);
}

std::string_view take(std::string_view& line, std::string_view what, const line_reader& lines) {
  const std::string_view word = take_word(line);
  if (word.empty()) lines.fail(fmt::format("the {} is missing", what), repair);
  return word;
}

bool is_offset(std::string_view word) { return word.size() == 8 && is_digits(word); }
bool is_part_of_speech(std::string_view word) {
  return word.size() == 1 && std::string_view("nvasr").find(word) != std::string_view::npos;
}

std::string take_synset(std::string_view offset, std::string_view part, const line_reader& lines) {
  if (!is_offset(offset)) lines.fail(fmt::format("the offset '{}' is not 8 digits", offset), repair);
  if (!is_part_of_speech(part)) {
    lines.fail(fmt::format("the part of speech '{}' is none of n, v, a, s and r", part), repair);
  }
  return label_of(part, offset);
}

std::uint64_t take_count(std::string_view& line, std::string_view what, int base, const line_reader& lines) {
  const std::string_view word = take(line, what, lines);
  std::uint64_t number = 0;
  const auto [end, failed] = std::from_chars(word.data(), word.data() + word.size(), number, base);
  if (failed != std::errc{} || end != word.data() + word.size()) {
    lines.fail(fmt::format("the {}, '{}', is not a number", what, word), repair);
  }
  return number;
}

}  // namespace

/// By its name, or by the first synset behind the licence, which has more words than an edge.
bool is_wordnet(std::string_view file_name, std::string_view head) {
  if (std::ranges::find(wordnet_files, file_name) != wordnet_files.end()) return true;
  head = without_byte_order_mark(head);
  std::string_view line;
  while (take_line(head, line) && (line.empty() || line.starts_with(' '))) line = {};
  const bool offset = is_offset(take_word(line));
  take_word(line);  // the file number
  return offset && is_part_of_speech(take_word(line)) && !take_word(line).empty();
}

void read_wordnet(input& from, const read_options&, edge_list& into) {
  line_reader lines(from);
  lines.share();
  into.noun = "synset";
  for (std::string_view line; lines.next(line);) {
    if (line.starts_with(' ') || line.empty()) continue;
    into.enter(lines.block());
    const std::string_view offset = take(line, "offset", lines);
    take(line, "file number", lines);
    const vertex source = into.names.intern(take_synset(offset, take(line, "part of speech", lines), lines));
    for (std::uint64_t words = take_count(line, "number of words", 16, lines); words > 0; --words) {
      take(line, "word", lines);
      take(line, "sense of the word", lines);
    }
    for (std::uint64_t pointers = take_count(line, "number of pointers", 10, lines); pointers > 0; --pointers) {
      take(line, "symbol of the pointer", lines);
      const std::string_view target = take(line, "offset", lines);
      const std::string label = take_synset(target, take(line, "part of speech", lines), lines);
      take(line, "mark of the pointer's words", lines);
      into.edges.push_back({source, into.names.intern(label)});
    }
  }
}

}  // namespace amity::apps::graph
