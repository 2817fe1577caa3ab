#pragma once

/// The caches in which policies look for earlier messages.

#include <algorithm>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "amity/base/error.hpp"
#include "amity/base/random.hpp"
#include "amity/base/types.hpp"

namespace amity {

/// One place for each message: the quickest look-up; two messages that share a place push each other out.
struct direct_mapped {
  std::size_t slots = 4096;  ///< rounded up to a power of two; each costs 8 bytes and a message
};

/// Eight places for each message: fewer are pushed out, and a look-up takes longer.
struct hash_table {
  std::size_t slots = 4096;  ///< as above
};

namespace detail {

/// In how many places a message may be.
template <class Kind>
inline constexpr std::size_t cache_ways = 0;
template <>
inline constexpr std::size_t cache_ways<direct_mapped> = 1;
template <>
inline constexpr std::size_t cache_ways<hash_table> = 8;

template <class Kind>
concept cache_kind = cache_ways<Kind> >
0;

template <class Value>
concept hashable = std::equality_comparable<Value> && requires(const Value& value) {
  { std::hash<Value>{}(value) } -> std::convertible_to<std::size_t>;
};
/// Equal values have equal bytes.
template <class Value>
concept same_by_bytes = std::is_trivially_copyable_v<Value> && std::has_unique_object_representations_v<Value>;

template <class Value>
concept cache_key = hashable<Value> || same_by_bytes<Value>;

template <cache_key Value>
std::uint64_t hash_of(const Value& value) {
  if constexpr (hashable<Value>) {
    return splitmix64::mix(std::hash<Value>{}(value));
  } else {
    std::uint64_t hash = sizeof(Value);
    for (std::size_t at = 0; at < sizeof(Value); at += sizeof(std::uint64_t)) {
      std::uint64_t word = 0;
      std::memcpy(&word, reinterpret_cast<const std::byte*>(&value) + at, std::min(sizeof word, sizeof(Value) - at));
      hash = splitmix64::mix(hash ^ word);
    }
    return hash;
  }
}

template <cache_key Value>
bool are_same(const Value& a, const Value& b) {
  if constexpr (hashable<Value>) {
    return a == b;
  } else {
    return std::memcmp(&a, &b, sizeof(Value)) == 0;
  }
}

/// Messages by destination and key, as many as there are slots at most.
template <class Value, cache_kind Kind>
class message_cache {
 public:
  struct entry {
    std::uint32_t stamp = 0;  ///< free, unless it is the cache's
    rank_t dest = 0;
    Value message{};
  };

  /// Throws `error` if there are no slots. `call` is the user's, for errors.
  message_cache(std::string_view call, rank_t rank, const Kind& kind) {
    if (kind.slots == 0 || kind.slots > slots_max) {
      throw error(call, rank, "a cache of " + std::to_string(kind.slots) + " slots", "use 1 to 2^30 slots");
    }
    entries_.resize(std::bit_ceil(std::max(kind.slots, cache_ways<Kind>)));
  }

  std::size_t slots() const noexcept { return entries_.size(); }
  bool holds(const entry& e) const noexcept { return e.stamp == stamp_; }

  /// The entry of `dest` for whose message `matches` holds. If there is none: the entry that another message may take,
  /// which is free or must be pushed out.
  template <class Matches>
  entry& look_up(rank_t dest, std::uint64_t hash, Matches&& matches, bool& found) noexcept {
    const std::size_t mask = entries_.size() - 1;
    const auto home = static_cast<std::size_t>(hash ^ static_cast<std::uint64_t>(dest) * 0x9e3779b97f4a7c15u);
    entry* free = nullptr;
    for (std::size_t way = 0; way < cache_ways<Kind>; ++way) {
      entry& e = entries_[(home + way) & mask];
      if (!holds(e)) {
        if (free == nullptr) free = &e;
      } else if (e.dest == dest && matches(e.message)) {
        found = true;
        return e;
      }
    }
    found = false;
    return free != nullptr ? *free : entries_[home & mask];
  }

  void put(entry& place, rank_t dest, const Value& message) {
    place.stamp = stamp_;
    place.dest = dest;
    place.message = message;
  }
  void free(entry& place) noexcept { place.stamp = 0; }
  std::size_t index_of(const entry& place) const noexcept { return static_cast<std::size_t>(&place - entries_.data()); }
  entry& at(std::size_t index) noexcept { return entries_[index]; }

  /// Frees all entries.
  void clear() noexcept {
    if (++stamp_ != 0) return;
    for (entry& e : entries_) e.stamp = 0;
    stamp_ = 1;
  }

 private:
  static constexpr std::size_t slots_max = std::size_t{1} << 30;

  std::vector<entry> entries_;
  std::uint32_t stamp_ = 1;
};

}  // namespace detail
}  // namespace amity
