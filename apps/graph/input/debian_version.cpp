#include "apps/graph/input/debian_version.hpp"

#include <algorithm>
#include <utility>

namespace amity::apps::graph {
namespace {

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

/// Takes the longest front of `text` whose characters all are, or all are not, digits.
std::string_view take(std::string_view& text, bool digits) {
  const auto end = std::find_if(text.begin(), text.end(), [&](char c) { return is_digit(c) != digits; });
  const std::string_view front(text.begin(), end);
  text.remove_prefix(front.size());
  return front;
}

/// '~' sorts before the end, the end before letters, letters before the rest.
int rank_of_character(std::string_view text, std::size_t i) {
  if (i >= text.size()) return 0;
  if (text[i] == '~') return -1;
  return is_letter(text[i]) ? text[i] : text[i] + 256;
}

int compare_texts(std::string_view a, std::string_view b) {
  for (std::size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
    if (rank_of_character(a, i) != rank_of_character(b, i)) return rank_of_character(a, i) - rank_of_character(b, i);
  }
  return 0;
}

int compare_numbers(std::string_view a, std::string_view b) {
  a.remove_prefix(std::min(a.find_first_not_of('0'), a.size()));
  b.remove_prefix(std::min(b.find_first_not_of('0'), b.size()));
  if (a.size() != b.size()) return a.size() < b.size() ? -1 : 1;
  return a.compare(b);
}

/// Texts and numbers take turns, beginning with a text, either of which may be empty.
int compare_parts(std::string_view a, std::string_view b) {
  while (!a.empty() || !b.empty()) {
    const auto text_a = take(a, false), text_b = take(b, false);
    if (const int order = compare_texts(text_a, text_b); order != 0) return order;
    const auto number_a = take(a, true), number_b = take(b, true);
    if (const int order = compare_numbers(number_a, number_b); order != 0) return order;
  }
  return 0;
}

/// [epoch:]upstream[-revision]
struct version {
  std::string_view epoch = "0";
  std::string_view upstream;
  std::string_view revision = "0";

  explicit version(std::string_view text) {
    if (const auto colon = text.find(':'); colon != text.npos) {
      epoch = text.substr(0, colon);
      text.remove_prefix(colon + 1);
    }
    const auto hyphen = text.rfind('-');
    upstream = text.substr(0, hyphen);
    if (hyphen != text.npos) revision = text.substr(hyphen + 1);
  }
};

}  // namespace

int compare_versions(std::string_view a, std::string_view b) {
  const version left(a), right(b);
  if (const int order = compare_parts(left.epoch, right.epoch); order != 0) return order;
  if (const int order = compare_parts(left.upstream, right.upstream); order != 0) return order;
  return compare_parts(left.revision, right.revision);
}

}  // namespace amity::apps::graph
