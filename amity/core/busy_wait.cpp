#include "amity/core/busy_wait.hpp"

#include <utility>

#include <fmt/format.h>

namespace amity::core {

bool busy_wait::is_due(std::uint64_t now_ns, const registry& handlers, const ledger& counts, std::uint64_t handled) {
  if (rounds_ == rounds_per_look) {
    handled_before_ = handled;
    clock_.restart();
    before_.clear();
    for (std::size_t id = 0; id < handlers.capacity(); ++id) before_.push_back(counts.of(static_cast<handler_id>(id)));
  }
  return clock_.is_due(now_ns) && std::exchange(handled_before_, handled) != handled;
}

std::string busy_wait::rates(const registry& handlers, const ledger& counts) const {
  std::string text;
  for (std::size_t id = 0; id < handlers.capacity(); ++id) {
    const auto handler = static_cast<handler_id>(id);
    if (!handlers.contains(handler)) continue;
    const message_counts now = counts.of(handler);
    const message_counts before = id < before_.size() ? before_[id] : message_counts{};
    const auto per_second = [&](std::uint64_t from, std::uint64_t to) {
      return to < from ? 0 : static_cast<double>(to - from) / seconds();  // its number may have served another handler
    };
    const double sent = per_second(before.sent, now.sent), handled = per_second(before.handled, now.handled);
    if (sent + handled == 0) continue;
    text += fmt::format("{}'{}': {:.0f}/s sent, {:.0f}/s handled", text.empty() ? "" : "; ", handlers.at(handler).name,
                        sent, handled);
  }
  return text;
}

}  // namespace amity::core
