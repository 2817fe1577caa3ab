#include "amity/core/registry.hpp"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "amity/base/assert.hpp"
#include "amity/base/error.hpp"
#include "amity/base/random.hpp"
#include "amity/core/handler_check.hpp"
#include "amity/core/packet_header.hpp"

namespace amity::core {
namespace {

std::uint64_t hash_of(std::string_view name) {
  std::uint64_t hash = 0;
  for (const char c : name) hash = splitmix64::mix(hash + static_cast<unsigned char>(c) + 1);
  return hash;
}

std::uint64_t hash_of(handler_id id, std::string_view name, std::string_view definition) {
  return splitmix64::mix(splitmix64::mix(hash_of(name) + id) + hash_of(definition));
}

}  // namespace

std::uint16_t check_of(std::string_view name) { return static_cast<std::uint16_t>(hash_of(name) & check_mask); }

handler_id registry::add(std::string_view name, deliver_function deliver, void* context, std::string_view definition) {
  AMITY_ASSERT(deliver != nullptr);
  const auto first_free = entries_.begin() + static_cast<std::ptrdiff_t>(first_free_);
  auto place = std::ranges::find(first_free, entries_.end(), nullptr, &entry::deliver);
  if (place == entries_.end()) {
    if (entries_.size() > std::numeric_limits<handler_id>::max()) {
      throw error("registering a handler", no_rank, fmt::format("'{}' would be handler {}", name, entries_.size()),
                  "remove handlers, or destroy message types, that are no longer used");
    }
    place = entries_.emplace(entries_.end());
  }
  const auto id = static_cast<handler_id>(place - entries_.begin());
  *place = {.name = std::string(name),
            .definition = std::string(definition),
            .check = check_of(name),
            .deliver = deliver,
            .context = context};
  fingerprint_ ^= hash_of(id, name, definition);
  first_free_ = id + std::size_t{1};
  return id;
}

void registry::remove(handler_id id) {
  AMITY_ASSERT(contains(id), id);
  fingerprint_ ^= hash_of(id, entries_[id].name, entries_[id].definition);
  entries_[id] = {};
  first_free_ = std::min<std::size_t>(first_free_, id);
}

std::string registry::definition(handler_id id) const {
  const entry& of = entries_[id];
  return of.definition.empty() ? of.name : fmt::format("{}, {}", of.name, of.definition);
}

std::string registry::describe() const {
  std::string text;
  for (std::size_t id = 0; id < entries_.size(); ++id) {
    if (entries_[id].deliver == nullptr) continue;
    text += fmt::format("{}#{} {}", text.empty() ? "" : ", ", id, entries_[id].name);
  }
  return text.empty() ? "none" : text;
}

}  // namespace amity::core
