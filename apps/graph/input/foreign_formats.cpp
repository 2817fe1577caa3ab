#include "apps/graph/input/foreign_formats.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>

namespace amity::apps::graph {
namespace {

using namespace std::string_view_literals;

constexpr auto unpack = "unpack it first, and pack it by gzip or pass it through a pipe to the input -"sv;
constexpr auto extract = "extract it, and name the file with the graph"sv;
constexpr auto convert = "write its edges as text, 'source target' or 'source target length' on each line"sv;

/// Bytes at a fixed place of each file of the format.
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
});

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

/// Whether `word` is `lower_case`, in letters of any case.
bool is_word(std::string_view word, std::string_view lower_case) {
  return std::ranges::equal(word, lower_case, {}, [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
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

/// An object, or an array of anything but bare words.
bool is_json(std::string_view text) {
  const bool object = text.starts_with('{');
  if (!object && !text.starts_with('[')) return false;
  text.remove_prefix(1);
  skip_blanks(text);
  return !text.empty() && (object ? "\"}"sv : "[]{\"-0123456789"sv).find(text.front()) != std::string_view::npos;
}

std::optional<foreign_format> find_text_format(std::string_view text) {
  constexpr std::size_t searched_bytes_max = std::size_t{1} << 16;
  text = text.substr(0, searched_bytes_max);
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);  // a byte order mark
  skip_blanks(text);
  if (text.starts_with("<?xml") || text.starts_with("<!--") || text.starts_with("<graphml")) {
    return foreign_format{text.find("<gexf") != text.npos ? "GEXF" : "XML (such as GraphML)", convert};
  }
  if (is_json(text)) return foreign_format{"JSON", convert};
  if (is_dot(text)) return foreign_format{"DOT (Graphviz)", convert};
  if (is_gml(text)) return foreign_format{"GML", convert};
  return std::nullopt;
}

}  // namespace

std::optional<foreign_format> find_foreign_format(std::string_view file_name, std::string_view head) {
  const auto by_content = std::ranges::find_if(signatures, [&](const signature& known) {
    return head.size() >= known.offset && head.substr(known.offset).starts_with(known.bytes);
  });
  if (by_content != signatures.end()) return by_content->format;
  if (is_bzip2(head)) return foreign_format{"bzip2 data", unpack};
  const auto by_name = std::ranges::find_if(extensions, [&](const extension& known) {
    return file_name.size() > known.ending.size() &&
           is_word(file_name.substr(file_name.size() - known.ending.size()), known.ending);
  });
  if (by_name != extensions.end()) return by_name->format;
  return find_text_format(head);
}

}  // namespace amity::apps::graph
