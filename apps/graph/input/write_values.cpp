#include "apps/graph/input/write_values.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "amity/base/assert.hpp"
#include "apps/graph/input/together.hpp"
#include "apps/graph/output/output_file.hpp"

namespace amity::apps::graph {
namespace {

/// A line on its way to the rank that writes it.
struct value_line {
  vertex about;
  vertex other;
  std::array<char, 31> text;
  std::uint8_t size;
  std::string_view value() const { return {text.data(), size}; }
};

/// Collective: brings every line to the rank that writes it, and puts those of each rank in order.
std::vector<value_line> deal_lines(world& w, vertex vertices, const value_lines& lines) {
  const auto ranks = static_cast<vertex>(w.size());
  const vertex share = vertices / ranks + 1;
  std::vector<value_line> own;
  auto deal = w.message<value_line>([&](const value_line& line) { own.push_back(line); }, coalesce{});
  w.epoch([&] {
    lines.mine([&](vertex v, std::string_view value, vertex other) {
      value_line line{.about = v, .other = other, .text = {}, .size = static_cast<std::uint8_t>(value.size())};
      AMITY_ASSERT(value.size() <= line.text.size(), value.size());
      std::ranges::copy(value, line.text.begin());
      deal.send(static_cast<rank_t>(v / share), line);
    });
  });
  std::ranges::sort(own, {}, &value_line::about);
  return own;
}

/// Part of a text on its way to rank 0.
struct text_piece {
  std::uint64_t offset;  ///< in the whole text
  std::uint32_t size;
  std::array<char, 244> bytes;
};

/// Bytes that rank 0 collects before it writes them.
constexpr std::uint64_t window_bytes = std::uint64_t{8} << 20;

/// Collective: writes the texts of all ranks in the order of the ranks. Rank 0 has the file, and collects one window of
/// the whole text after the other, so that neither its memory nor what is in flight grows with the text.
void write_in_order(world& w, std::optional<output_file>& file, std::string_view mine) {
  const block_count size{static_cast<std::uint64_t>(w.rank()), mine.size()};
  const auto offsets = counts_in_front(w, {&size, 1});
  const std::uint64_t begin = offsets[size.block], end = begin + mine.size(), total = offsets.back();
  std::string window;
  std::uint64_t first = 0;  // offset of the window
  auto collect = w.message<text_piece>(
      [&](const text_piece& piece) {
        std::copy_n(piece.bytes.begin(), piece.size,
                    window.begin() + static_cast<std::ptrdiff_t>(piece.offset - first));
      },
      coalesce{});
  for (; first < total; first += window_bytes) {
    const std::uint64_t last = std::min(total, first + window_bytes);
    if (w.rank() == 0) window.resize(last - first);  // pieces that arrive earlier wait for the epoch
    w.epoch([&] {
      for (std::uint64_t at = std::max(first, begin); at < std::min(last, end);) {
        text_piece piece{.offset = at, .size = 0, .bytes = {}};
        const auto part =
            mine.substr(at - begin, std::min<std::uint64_t>(piece.bytes.size(), std::min(last, end) - at));
        piece.size = static_cast<std::uint32_t>(part.size());
        std::ranges::copy(part, piece.bytes.begin());
        collect.send(0, piece);
        at += part.size();
      }
    });
    together(w, [&] {
      if (file) file->write(window);
    });
  }
}

}  // namespace

void write_values(world& w, const std::string& file, const distributed_names& names, const value_lines& lines) {
  std::optional<output_file> out;
  together(w, [&] {
    if (w.rank() == 0) out.emplace(file);
  });
  const bool values = lines.shown != columns::other, others = lines.shown != columns::value;
  const auto own = deal_lines(w, names.size(), lines);
  std::vector<vertex> wanted;
  for (const value_line& line : own) {
    wanted.push_back(line.about);
    if (others && line.other != no_vertex) wanted.push_back(line.other);
  }
  const auto labels = names.texts(w, wanted);
  std::string text;
  auto label = labels.begin();
  for (const value_line& line : own) {
    text += *label++;
    if (values) text.append(" ").append(line.value());
    if (others) text.append(" ").append(line.other == no_vertex ? "-" : *label++);
    text += '\n';
  }
  write_in_order(w, out, text);
  together(w, [&] {
    if (out) out->commit();
  });
}

}  // namespace amity::apps::graph
