#include "apps/graph/input/write_values.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "amity/base/assert.hpp"
#include "apps/graph/input/input.hpp"
#include "apps/graph/input/together.hpp"

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

[[noreturn]] void fail_to_write(const std::filesystem::path& file) {
  fail(file.string(), std::strerror(errno), "name a file that can be written, where there is space");
}

/// Writes text into the file from an offset on. `mode` is that of fopen.
void write_at(const std::filesystem::path& file, const char* mode, std::uint64_t offset, std::string_view text) {
  std::FILE* const out = std::fopen(file.c_str(), mode);
  if (out == nullptr) fail_to_write(file);
  const bool written = ::fseeko(out, static_cast<::off_t>(offset), SEEK_SET) == 0 &&
                       std::fwrite(text.data(), 1, text.size(), out) == text.size();
  const bool closed = std::fclose(out) == 0;
  if (!written || !closed) fail_to_write(file);
}

}  // namespace

void write_values(world& w, const std::filesystem::path& file, const distributed_names& names,
                  const value_lines& lines) {
  together(w, [&] {
    if (w.rank() == 0) write_at(file, "w", 0, "");
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
  const block_count size{static_cast<std::uint64_t>(w.rank()), text.size()};
  const auto offsets = counts_in_front(w, {&size, 1});
  together(w, [&] { write_at(file, "r+", offsets[size.block], text); });
}

}  // namespace amity::apps::graph
