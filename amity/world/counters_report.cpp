#include "amity/world/counters_report.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>

#include <fmt/format.h>

#include "amity/base/random.hpp"

namespace amity::detail {
namespace {

/// With what no message type has counted: remote calls, and handlers of the floor below.
core::counter_book with_registered(world& own, core::counter_book book) {
  const core::registry& handlers = own.endpoint().handlers();
  const core::ledger& counts = own.endpoint().counts();
  for (std::size_t i = 0; i < handlers.capacity(); ++i) {
    const auto id = static_cast<core::handler_id>(i);
    if (!handlers.contains(id)) continue;
    const core::message_counts messages = counts.of(id);
    const core::packet_counts packets = counts.packets_of(id);
    book.add(handlers.at(id).name,
             {.sent = messages.sent, .handled = messages.handled, .packets = packets.count, .bytes = packets.bytes});
  }
  return book;
}

/// Equal on two ranks if they have counters of the same names.
std::uint64_t fingerprint(const core::counter_book& book) {
  std::uint64_t hash = book.entries().size();
  for (const auto& each : book.entries()) {
    for (const char letter : each.name) hash = splitmix64::mix(hash ^ static_cast<unsigned char>(letter));
    hash = splitmix64::mix(hash);
  }
  return hash;
}

message_counters sum_over_ranks(world& own, const message_counters& mine) {
  auto words = std::bit_cast<message_counters::words>(mine);
  for (std::uint64_t& word : words) word = own.sum(word);
  return std::bit_cast<message_counters>(words);
}

std::string percent(double share, bool known) { return known ? fmt::format("{:.1f} %", 100 * share) : "-"; }

std::string line_of(const std::string& name, std::size_t width, const message_counters& all) {
  const auto look_ups = static_cast<double>(all.cache_hits() + all.cache_misses);
  return fmt::format("{:<{}} {:>14} {:>14} {:>12} {:>12} {:>12} {:>16} {:>10} {:>10}\n", name, width, all.sent,
                     all.handled, all.dropped, all.combined, all.packets, all.bytes,
                     percent(all.mean_fill(), all.room > 0),
                     percent(static_cast<double>(all.cache_hits()) / look_ups, look_ups > 0));
}

}  // namespace

std::string counters_report(world& own, const core::counter_book& ended) {
  const core::counter_book mine = with_registered(own, ended);
  const std::uint64_t names = fingerprint(mine);
  if (own.max(names) != own.min(names)) return "messages by type: the ranks have made different types of messages\n";
  std::string title = fmt::format("messages by type, all {} ranks", own.size());
  std::size_t width = title.size();
  for (const auto& each : mine.entries()) width = std::max(width, each.name.size());
  std::string table =
      fmt::format("{:<{}} {:>14} {:>14} {:>12} {:>12} {:>12} {:>16} {:>10} {:>10}\n", title, width, "sent", "handled",
                  "dropped", "combined", "packets", "bytes", "mean fill", "cache hits");
  for (const auto& each : mine.entries()) {
    const message_counters all = sum_over_ranks(own, each.counters);
    if (all.sent + all.handled + all.dropped > 0) table += line_of(each.name, width, all);
  }
  return table;
}

}  // namespace amity::detail
