#include "apps/graph/input/foreign_formats.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <vector>

#include "apps/graph/input/formats.hpp"
#include "apps/graph/input/weight_text.hpp"
#include "apps/graph/input/words.hpp"

namespace amity::apps::graph {
namespace {

using namespace std::string_view_literals;

constexpr auto unpack = "unpack it first, and pack it by gzip or pass it through a pipe to the input -"sv;
constexpr auto extract = "extract it, and name the file with the graph"sv;
constexpr auto convert = "write its edges as text, 'source target' or 'source target length' on each line"sv;

/// Bytes at a fixed place of each file of the format, which also has bytes that are no text.
struct signature {
  std::size_t offset;
  std::string_view bytes;
  foreign_format format;
};

constexpr auto signatures = std::to_array<signature>({
    {0,
     "\xfd"
     "7zXZ\0"sv,
     {"xz data", unpack}},
    {0, "\x1f\x8b\x08"sv, {"gzip data inside gzip data", unpack}},
    {0, "\x28\xb5\x2f\xfd"sv, {"Zstandard data", unpack}},
    {0, "\x04\x22\x4d\x18"sv, {"LZ4 data", unpack}},
    {0, "7z\xbc\xaf\x27\x1c"sv, {"a 7z archive", extract}},
    {0, "PK\x03\x04"sv, {"a zip archive (such as NumPy's .npz)", convert}},
    {0, "PK\x05\x06"sv, {"a zip archive (such as NumPy's .npz)", convert}},  // without content
    {257, "ustar"sv, {"a tar archive", extract}},
    {0, "\x93NUMPY"sv, {"NumPy data", convert}},
    {0, "PAR1"sv, {"Parquet", convert}},
    {0, "\x89HDF\r\n\x1a\n"sv, {"HDF5", convert}},
});

struct extension {
  std::string_view ending;
  foreign_format format;
};

constexpr auto extensions = std::to_array<extension>({
    {".xz", {"xz data", unpack}},
    {".lzma", {"lzma data", unpack}},
    {".bz2", {"bzip2 data", unpack}},
    {".zst", {"Zstandard data", unpack}},
    {".lz4", {"LZ4 data", unpack}},
    {".7z", {"a 7z archive", extract}},
    {".zip", {"a zip archive", extract}},
    {".tar", {"a tar archive", extract}},
    {".tgz", {"a tar archive", extract}},
    {".npz", {"NumPy data", convert}},
    {".npy", {"NumPy data", convert}},
    {".parquet", {"Parquet", convert}},
    {".h5", {"HDF5", convert}},
    {".hdf5", {"HDF5", convert}},
    {".graphml", {"GraphML", convert}},
    {".gexf", {"GEXF", convert}},
    {".xml", {"XML", convert}},
    {".gml", {"GML", convert}},
    {".dot", {"DOT (Graphviz)", convert}},
    {".gv", {"DOT (Graphviz)", convert}},
    {".json", {"JSON", convert}},
    {".jsonl", {"JSON", convert}},
    {".sif", {"SIF (source, interaction, target)", convert}},
    {".paj", {"Pajek", convert}},
});

/// Whether there is a control character, as in binary data. Without one, a signature of printable characters is no
/// proof: vertices can be named PAR1. With one, a word such as "graph [" is none.
bool has_control_character(std::string_view head) {
  constexpr std::size_t searched_bytes_max = 512;
  return std::ranges::any_of(head.substr(0, searched_bytes_max),
                             [](unsigned char c) { return std::iscntrl(c) != 0 && std::isspace(c) == 0; });
}

/// A byte order mark of UTF-16, and characters below 256.
bool is_utf16(std::string_view head) {
  const bool little_endian = head.starts_with("\xff\xfe");
  if (!little_endian && !head.starts_with("\xfe\xff")) return false;
  constexpr std::size_t searched_bytes_max = 64;
  const std::size_t end = std::min(head.size(), searched_bytes_max);
  for (std::size_t i = 2; i < end; ++i) {
    const bool upper = (i % 2 == 1) == little_endian;
    if ((head[i] == '\0') != upper) return false;
  }
  return end > 2;
}

/// "BZh", the size of blocks as a digit, then a block or the end.
bool is_bzip2(std::string_view head) {
  return head.size() > 4 && head.starts_with("BZh") &&
         (head.substr(4).starts_with("1AY&SY") || head.substr(4).starts_with("\x17\x72\x45\x38\x50\x90"));
}

constexpr auto blanks = " \t\r\n"sv;

void skip_blanks(std::string_view& text) { text.remove_prefix(std::min(text.find_first_not_of(blanks), text.size())); }

void skip_past(std::string_view& text, std::string_view end) {
  const std::size_t at = text.find(end);
  text.remove_prefix(at == text.npos ? text.size() : at + end.size());
}

/// Skips blanks, lines that begin with #, and the comments of C.
void skip_comments(std::string_view& text) {
  for (;;) {
    skip_blanks(text);
    if (text.starts_with('#') || text.starts_with("//")) {
      skip_past(text, "\n");
    } else if (text.starts_with("/*")) {
      skip_past(text, "*/");
    } else {
      return;
    }
  }
}

/// Takes a name or a quoted text; empty if there is neither.
std::string_view take_name(std::string_view& text) {
  std::size_t length = 0;
  if (text.starts_with('"')) {
    length = text.find('"', 1);
    length = length == text.npos ? 0 : length + 1;
  } else {
    const auto ends = [](unsigned char c) { return std::isalnum(c) == 0 && c != '_' && c < 0x80; };
    length = static_cast<std::size_t>(std::ranges::find_if(text, ends) - text.begin());
  }
  const std::string_view name = text.substr(0, length);
  text.remove_prefix(length);
  return name;
}

/// "digraph name {"
bool is_dot(std::string_view text) {
  skip_comments(text);
  std::string_view word = take_name(text);
  if (is_word(word, "strict")) {
    skip_comments(text);
    word = take_name(text);
  }
  if (!is_word(word, "graph") && !is_word(word, "digraph")) return false;
  skip_comments(text);
  take_name(text);
  skip_comments(text);
  return text.starts_with('{');
}

/// "graph [", perhaps after lines such as "Creator ..." and "Version 1".
bool is_gml(std::string_view text) {
  for (skip_comments(text); !text.empty(); skip_comments(text)) {
    const std::string_view key = take_name(text);
    if (is_word(key, "graph")) {
      skip_blanks(text);
      return text.starts_with('[');
    }
    const auto header = {"creator"sv, "version"sv, "comment"sv, "isplanar"sv};
    if (std::ranges::none_of(header, [&](std::string_view known) { return is_word(key, known); })) return false;
    skip_past(text, "\n");
  }
  return false;
}

/// Skips a string, a number or a literal of JSON; false if there is none. A word at the end of the text may be cut off.
bool skip_json_scalar(std::string_view& text) {
  if (text.starts_with('"')) {
    std::size_t end = 1;
    while (end < text.size() && text[end] != '"') end += text[end] == '\\' ? 2 : 1;
    text.remove_prefix(std::min(end + 1, text.size()));
    return true;
  }
  const auto ends = [](unsigned char c) {
    return std::isalnum(c) == 0 && "+-."sv.find(static_cast<char>(c)) == ""sv.npos;
  };
  const std::string_view word(text.begin(), std::ranges::find_if(text, ends));
  text.remove_prefix(word.size());
  if (word.empty() || text.empty()) return !word.empty();
  const bool number = (word[0] == '-' || is_digits(word.substr(0, 1))) && parse_number(word);
  return number || word == "true" || word == "false" || word == "null";
}

/// Whether the text is an object or an array of JSON as far as it goes: brackets match, there is a comma or colon
/// between values, and the line ends behind the last bracket.
bool is_json(std::string_view text) {
  if (!text.starts_with('{') && !text.starts_with('[')) return false;
  std::string open;  // brackets
  bool after_value = false;
  do {
    skip_blanks(text);
    if (text.empty()) return true;
    const char next = text.front();
    const bool opens = next == '{' || next == '[', closes = next == '}' || next == ']';
    const bool separates = next == ',' || next == ':';
    if (after_value ? !(closes || separates) : separates) return false;
    if (closes && open.back() != (next == '}' ? '{' : '[')) return false;
    if (opens) open += next;
    if (closes) open.pop_back();
    after_value = !opens && !separates;
    if (opens || closes || separates) {
      text.remove_prefix(1);
    } else if (!skip_json_scalar(text)) {
      return false;
    }
  } while (!open.empty());
  return text.substr(0, text.find('\n')).find_first_not_of(blanks) == text.npos;
}

bool has_xml_declaration(std::string_view text) {
  return take_word(text) == "<?xml" && take_word(text).starts_with("version=");
}

/// "*Vertices n", perhaps behind "*Network name".
bool is_pajek(std::string_view text) {
  constexpr auto comments = "%#"sv;
  std::string_view line = first_content(text, comments);
  std::string_view rest = line;
  if (is_word(take_word(rest), "*network")) {
    text.remove_prefix(static_cast<std::size_t>(line.data() + line.size() - text.data()));
    line = first_content(text, comments);
  }
  return is_word(take_word(line), "*vertices") && is_digits(take_word(line));
}

/// A name alone on the first line.
bool is_adjacency_graph(std::string_view text) {
  constexpr std::array names{"AdjacencyGraph"sv,      "WeightedAdjacencyGraph"sv,
                             "AdjacencyHypergraph"sv, "WeightedAdjacencyHypergraph"sv,
                             "EdgeArray"sv,           "WeightedEdgeArray"sv};
  std::string_view line;
  take_line(text, line);
  const std::string_view name = take_word(line);
  return std::ranges::find(names, name) != names.end() && take_word(line).empty();
}

/// The columns of the lines of an edge list that are neither blank nor comments.
std::vector<columns_of_line> split_lines(std::string_view text) {
  std::vector<columns_of_line> lines;
  for (std::string_view line; take_line(text, line);) {
    const columns_of_line found = split_columns(line);
    if (found.count > 0 && found.text[0][0] != '#' && found.text[0][0] != '%') lines.push_back(found);
  }
  return lines;
}

bool is_number(std::string_view word) { return parse_number(word).has_value(); }

/// Whether these are the lines of an edge list. One alone is no proof.
bool are_edges(const std::vector<columns_of_line>& lines) {
  return lines.size() > 1 && std::ranges::all_of(lines, [&](const columns_of_line& each) {
           return each.count == lines[0].count && (each.count == 2 || (each.count == 3 && is_number(each.text[2])));
         });
}

/// Whether the second column is an interaction of SIF's, or the arrow of an edge. Lines whose third column is no number
/// are left to the reader of edge lists, whose error names them.
bool have_interactions(const std::vector<columns_of_line>& lines) {
  constexpr std::array interactions{"pp"sv, "pd"sv, "pr"sv, "rc"sv, "cr"sv, "gl"sv, "pm"sv, "mp"sv, "->"sv, "--"sv};
  return !lines.empty() && std::ranges::all_of(lines, [&](const columns_of_line& each) {
    return each.count == 3 && std::ranges::find(interactions, each.text[1]) != interactions.end() &&
           is_number(each.text[2]);
  });
}

/// Whether the first line has two names, and all others have two numbers.
bool have_header(const std::vector<columns_of_line>& lines) {
  return lines.size() > 1 && std::ranges::all_of(lines, [&](const columns_of_line& each) {
           const bool first = &each == &lines[0];
           return each.count == 2 && is_number(each.text[0]) != first && is_number(each.text[1]) != first;
         });
}

std::optional<foreign_format> find_text_format(std::string_view text) {
  constexpr std::size_t searched_bytes_max = std::size_t{1} << 16;
  text = without_byte_order_mark(text);
  if (text.size() > searched_bytes_max) {  // whole lines, if there is one
    text = text.substr(0, searched_bytes_max);
    text = text.substr(0, text.rfind('\n'));
  }
  skip_blanks(text);
  if (is_json(text)) return foreign_format{"JSON", convert};
  if (is_pajek(text)) return foreign_format{"Pajek", convert};
  if (is_adjacency_graph(text)) return foreign_format{"an AdjacencyGraph or EdgeArray of Ligra and PBBS", convert};
  const auto lines = split_lines(text);
  if (have_interactions(lines)) return foreign_format{"SIF (source, interaction, target)", convert};
  if (have_header(lines)) {
    return foreign_format{"a table with the names of its columns on the first line",
                          "remove that line, or let it begin with #"};
  }
  if (are_edges(lines) && !has_xml_declaration(text)) return std::nullopt;
  if (text.starts_with("<?xml") || text.starts_with("<!--") || text.starts_with("<graphml")) {
    return foreign_format{text.find("<gexf") != text.npos ? "GEXF" : "XML (such as GraphML)", convert};
  }
  if (is_dot(text)) return foreign_format{"DOT (Graphviz)", convert};
  if (is_gml(text)) return foreign_format{"GML", convert};
  return std::nullopt;
}

}  // namespace

std::optional<foreign_format> find_foreign_format(std::string_view file_name, std::string_view head) {
  const bool binary = has_control_character(head);
  if (binary) {
    const auto by_content = std::ranges::find_if(signatures, [&](const signature& known) {
      return head.size() >= known.offset && head.substr(known.offset).starts_with(known.bytes);
    });
    if (by_content != signatures.end()) return by_content->format;
    if (is_bzip2(head)) return foreign_format{"bzip2 data", unpack};
    if (is_utf16(head)) return foreign_format{"text in UTF-16", "write it in UTF-8"};
  }
  const auto by_name =
      std::ranges::find_if(extensions, [&](const extension& known) { return has_extension(file_name, known.ending); });
  if (by_name != extensions.end()) return by_name->format;
  return binary ? std::nullopt : find_text_format(head);
}

}  // namespace amity::apps::graph
