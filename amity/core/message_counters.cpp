#include "amity/core/message_counters.hpp"

#include <bit>

namespace amity {

message_counters& message_counters::operator+=(const message_counters& other) noexcept {
  auto sum = std::bit_cast<words>(*this);
  const auto added = std::bit_cast<words>(other);
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += added[i];
  return *this = std::bit_cast<message_counters>(sum);
}

void core::counter_book::add(std::string_view name, const message_counters& counters) {
  const auto at =
      std::ranges::lower_bound(entries_, name, {}, [](const entry& e) -> std::string_view { return e.name; });
  if (at != entries_.end() && at->name == name) {
    at->counters += counters;
  } else {
    entries_.insert(at, {std::string(name), counters});
  }
}

}  // namespace amity
