#include "amity/core/handler_tables.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <span>
#include <string_view>

#include <fmt/format.h>

#include "amity/base/error.hpp"

namespace amity::core {
namespace {

// What is cut off is not compared; the first difference is usually far in front.
constexpr std::size_t text_bytes_max = std::size_t{64} << 10;

struct part {
  std::uint32_t total;
  std::uint32_t offset;
  char text[handler_tables::packet_bytes - 2 * sizeof(std::uint32_t)];
};

// A line for each handler: its number and its definition.
std::string text_of(const registry& own) {
  std::string text;
  for (std::size_t id = 0; id < own.capacity() && text.size() < text_bytes_max; ++id) {
    const auto handler = static_cast<handler_id>(id);
    if (!own.contains(handler)) continue;
    std::string definition = own.definition(handler);
    std::ranges::replace(definition, '\n', ' ');
    text += fmt::format("{} {}\n", id, definition);
  }
  text.resize(std::min(text.size(), text_bytes_max));
  return text;
}

using definitions = std::map<std::size_t, std::string>;

definitions read(std::string_view text) {
  definitions all;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    std::size_t id = 0;
    std::size_t at = 0;
    for (; at < line.size() && line[at] >= '0' && line[at] <= '9'; ++at) {
      id = id * 10 + static_cast<std::size_t>(line[at] - '0');
    }
    if (at < line.size()) all.emplace(id, line.substr(at + 1));
  }
  return all;
}

std::string describe(const definitions& of, std::size_t id) {
  const auto at = of.find(id);
  return at == of.end() ? "nothing" : fmt::format("'{}'", at->second);
}

std::string difference(rank_t rank, const definitions& own, rank_t source, const definitions& theirs) {
  const std::size_t end =
      std::max(own.empty() ? 0 : own.rbegin()->first, theirs.empty() ? 0 : theirs.rbegin()->first) + 1;
  for (std::size_t id = 0; id < end; ++id) {
    const std::string here = describe(own, id);
    const std::string there = describe(theirs, id);
    if (here != there)
      return fmt::format("number {} is {} on rank {}, and {} on rank {}", id, there, source, here, rank);
  }
  return fmt::format("those of rank {} are not those of rank {}", source, rank);
}

}  // namespace

void handler_tables::tell(rank_t lane, const registry& own, const std::function<void(bytes_view)>& send) {
  if (std::ranges::find(told_, lane) != told_.end()) return;
  told_.push_back(lane);
  std::string text = text_of(own);
  if (text.empty()) text.push_back('\n');
  for (std::size_t offset = 0; offset < text.size(); offset += sizeof part::text) {
    part each{
        .total = static_cast<std::uint32_t>(text.size()), .offset = static_cast<std::uint32_t>(offset), .text = {}};
    std::memcpy(each.text, text.data() + offset, std::min(sizeof each.text, text.size() - offset));
    send(std::as_bytes(std::span(&each, 1)));
  }
}

void handler_tables::on_packet(rank_t rank, rank_t source, bytes_view payload, const registry& own) {
  static_assert(sizeof(part) == packet_bytes);
  part each;
  std::memcpy(&each, payload.data(), sizeof each);
  if (each.total > text_bytes_max || each.offset >= each.total) return;
  auto at = std::ranges::find(arriving_, source, &table::source);
  if (at == arriving_.end()) at = arriving_.insert(at, {source, std::string(each.total, '\0'), each.total});
  if (at->text.size() != each.total) return;
  const std::size_t bytes = std::min<std::size_t>(sizeof each.text, each.total - each.offset);
  std::memcpy(at->text.data() + each.offset, each.text, bytes);
  at->missing -= std::min(bytes, at->missing);
  if (at->missing > 0) return;
  throw error("message types", rank, difference(rank, read(text_of(own)), source, read(at->text)),
              "make and destroy the same message types, with the same handlers and policies, in the same order on all "
              "ranks");
}

}  // namespace amity::core
