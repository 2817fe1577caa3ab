#include "amity/fabric/sim/report.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <memory>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "amity/base/error.hpp"

namespace amity::fabric::sim {
namespace {

struct column {
  std::string_view name;
  std::uint64_t (*of)(const rank_figures&);
};

constexpr auto columns = std::to_array<column>({
    {"rank", [](const rank_figures& r) { return static_cast<std::uint64_t>(r.rank); }},
    {"thread", [](const rank_figures& r) { return static_cast<std::uint64_t>(r.thread); }},
    {"end_ns", [](const rank_figures& r) { return r.end_ns; }},
    {"busy_ns", [](const rank_figures& r) { return r.busy_ns; }},
    {"network_ns", [](const rank_figures& r) { return r.network_ns; }},
    {"waiting_ns", [](const rank_figures& r) { return r.waiting_ns(); }},
    {"stopped_ns", [](const rank_figures& r) { return r.stopped_ns; }},
    {"sent", [](const rank_figures& r) { return r.sent; }},
    {"bytes_sent", [](const rank_figures& r) { return r.bytes_sent; }},
    {"received", [](const rank_figures& r) { return r.received; }},
    {"flight_ns", [](const rank_figures& r) { return r.flight_ns; }},
    {"late_ns", [](const rank_figures& r) { return r.late_ns; }},
});

std::uint64_t mean(std::uint64_t sum, std::uint64_t count) { return count == 0 ? 0 : sum / count; }

using figure = std::uint64_t (*)(const rank_figures&);

/// What the table shows of ranks: a sum of what each has, or of each of so many things that it has.
struct row {
  std::string_view name;
  std::string_view unit;
  figure sum;
  figure count = [](const rank_figures&) -> std::uint64_t { return 1; };

  std::uint64_t of(const rank_figures& rank) const { return mean(sum(rank), count(rank)); }
};

constexpr auto rows = std::to_array<row>({
    {"end", "ns", [](const rank_figures& r) { return r.end_ns; }},
    {"busy", "ns", [](const rank_figures& r) { return r.busy_ns; }},
    {"in the network", "ns", [](const rank_figures& r) { return r.network_ns; }},
    {"waiting", "ns", [](const rank_figures& r) { return r.waiting_ns(); }},
    {"stopped", "ns", [](const rank_figures& r) { return r.stopped_ns; }},
    {"sent", "", [](const rank_figures& r) { return r.sent; }},
    {"bytes sent", "", [](const rank_figures& r) { return r.bytes_sent; }},
    {"received", "", [](const rank_figures& r) { return r.received; }},
    {"flight, each", "ns", [](const rank_figures& r) { return r.flight_ns; },
     [](const rank_figures& r) { return r.sent; }},
    {"late, each", "ns", [](const rank_figures& r) { return r.late_ns; },
     [](const rank_figures& r) { return r.received; }},
});

bool is_table(std::string_view where) { return where == "table"; }

}  // namespace

std::string extremes_table(std::span<const rank_figures> ranks) {
  const bool threaded = std::ranges::any_of(ranks, [](const rank_figures& each) { return each.thread > 0; });
  const auto name = [&](const rank_figures& each) {
    return threaded ? fmt::format("{}.{}", each.rank, each.thread) : std::to_string(each.rank);
  };
  const auto* const of = threaded ? "rank.thread" : "of rank";
  std::string text =
      fmt::format("simulated: {:<12} {:>14} {:>14} {:>11} {:>14} {:>11}\n",
                  fmt::format("{} {}", ranks.size(), threaded ? "threads" : "ranks"), "mean", "least", of, "most", of);
  for (const row& each : rows) {
    std::uint64_t sum = 0;
    std::uint64_t count = 0;
    for (const rank_figures& rank : ranks) {
      sum += each.sum(rank);
      count += each.count(rank);
    }
    // A rank that has none of what is counted is neither.
    const auto of_rank = [&](const rank_figures& rank) { return std::pair(each.count(rank) == 0, each.of(rank)); };
    const auto least = std::ranges::min_element(ranks, {}, of_rank);
    const auto most = std::ranges::max_element(ranks, {}, [&](const rank_figures& rank) { return each.of(rank); });
    fmt::format_to(std::back_inserter(text), "{:<20} {:>2} {:>14} {:>14} {:>11} {:>14} {:>11}\n", each.name, each.unit,
                   mean(sum, count), each.of(*least), name(*least), each.of(*most), name(*most));
  }
  return text;
}

std::string as_csv(std::span<const rank_figures> ranks) {
  std::string text;
  for (const column& each : columns) text += fmt::format("{}{}", text.empty() ? "" : ",", each.name);
  for (const rank_figures& rank : ranks) {
    for (const column& each : columns) {
      fmt::format_to(std::back_inserter(text), "{}{}", &each == columns.data() ? "\n" : ",", each.of(rank));
    }
  }
  return text + "\n";
}

std::string as_json(std::span<const rank_figures> ranks) {
  std::string text;
  for (const rank_figures& rank : ranks) {
    text += text.empty() ? "[\n{" : ",\n{";
    for (const column& each : columns) {
      fmt::format_to(std::back_inserter(text), "{}\"{}\":{}", &each == columns.data() ? "" : ",", each.name,
                     each.of(rank));
    }
    text += "}";
  }
  return text + "\n]\n";
}

void check_report(const std::string& where) {
  if (where.empty() || is_table(where) || where.ends_with(".csv") || where.ends_with(".json")) return;
  throw error("sim::run", no_rank,
              fmt::format("AMITY_SIM_REPORT={} is neither a table nor a file of a known kind", where),
              "give table, or the name of a file that ends in .csv or .json");
}

void write_report(const std::string& where, std::span<const rank_figures> ranks) {
  if (where.empty()) return;
  if (is_table(where)) {
    std::fputs(extremes_table(ranks).c_str(), stderr);
    return;
  }
  const std::string text = where.ends_with(".csv") ? as_csv(ranks) : as_json(ranks);
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(where.c_str(), "w"), &std::fclose);
  if (file && std::fputs(text.c_str(), file.get()) >= 0 && std::fflush(file.get()) == 0) return;
  throw error("sim::run", no_rank, fmt::format("cannot write AMITY_SIM_REPORT={}: {}", where, std::strerror(errno)),
              "name a file that can be written");
}

}  // namespace amity::fabric::sim
