#include "apps/graph/console/report.hpp"

#include <fmt/format.h>

#include <utility>

#include "apps/graph/console/text.hpp"

namespace amity::apps::graph {

void report::add(std::string_view key, json value, std::string_view label, std::string text) {
  object_[std::string(key)] = std::move(value);
  if (!label.empty()) lines_.push_back({std::string(label), std::move(text)});
}

void report::add_cost(const cost& spent, std::uint64_t repeats, bool virtual_time) {
  const double seconds = static_cast<double>(spent.ns) * 1e-9;
  const double fill = spent.packets == 0 ? 0 : static_cast<double>(spent.messages) / static_cast<double>(spent.packets);
  add("virtual_time", virtual_time);
  add("repeats", repeats);
  add("seconds", seconds, virtual_time ? "simulated time" : "time",
      duration_text(spent.ns) + (repeats > 1 ? fmt::format(", median of {}", repeats) : ""));
  add("messages", spent.messages, "messages", grouped(spent.messages));
  add("packets", spent.packets);
  add("bytes", spent.bytes, "bytes", bytes_text(spent.bytes));
  add("messages_per_packet", fill, "messages per packet", fmt::format("{:.1f}", fill));
}

std::string report::to_text() const {
  std::string text = "\n" + headline_ + "\n";
  for (const line& l : lines_) text += fmt::format("  {:<22}{}\n", l.label, l.text);
  for (const std::string& paragraph : paragraphs_) text += "\n" + paragraph;
  return text;
}

std::string report::to_json() const {
  return object_.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace amity::apps::graph
