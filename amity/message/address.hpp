#pragma once

/// Messages that find their rank by themselves, and the usual ways of dealing things out to ranks.

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "amity/base/error.hpp"
#include "amity/base/random.hpp"
#include "amity/base/types.hpp"
#include "amity/core/endpoint.hpp"
#include "amity/message/codec.hpp"
#include "amity/message/policy.hpp"

namespace amity {

/// Items 0 to count-1 in as many contiguous blocks as there are ranks; the first blocks are larger by one item if they
/// do not come out even.
class block_map {
 public:
  /// Throws `error` for no ranks.
  block_map(std::uint64_t count, rank_t ranks)
      : count_(count), ranks_(checked_ranks("block_map", ranks)), small_(count / ranks_), large_(count % ranks_) {}

  std::uint64_t count() const noexcept { return count_; }
  /// The rank of an item, which must be less than `count()`.
  rank_t owner(std::uint64_t item) const noexcept {
    const std::uint64_t in_large = large_ * (small_ + 1);
    if (item < in_large) return static_cast<rank_t>(item / (small_ + 1));
    if (small_ == 0) return static_cast<rank_t>(ranks_);  // there is no such item: no rank
    return static_cast<rank_t>(large_ + (item - in_large) / small_);
  }
  rank_t operator()(std::uint64_t item) const noexcept { return owner(item); }
  /// How many items a rank has, the first of them, and where an item stands among those of its rank.
  std::uint64_t items_of(rank_t rank) const noexcept { return small_ + (index(rank) < large_ ? 1 : 0); }
  std::uint64_t first_of(rank_t rank) const noexcept { return index(rank) * small_ + std::min(index(rank), large_); }
  std::uint64_t local(std::uint64_t item) const noexcept { return item - first_of(owner(item)); }
  std::uint64_t global(rank_t rank, std::uint64_t local) const noexcept { return first_of(rank) + local; }

 private:
  friend class cyclic_map;
  friend class hash_map;
  static std::uint64_t checked_ranks(const char* call, rank_t ranks) {
    if (ranks >= 1) return static_cast<std::uint64_t>(ranks);
    throw error(call, no_rank, std::to_string(ranks) + " ranks to deal out to", "use world::size()");
  }
  static std::uint64_t index(rank_t rank) noexcept { return static_cast<std::uint64_t>(rank); }

  std::uint64_t count_;
  std::uint64_t ranks_;
  std::uint64_t small_;  // items of a small block
  std::uint64_t large_;  // how many blocks have one item more
};

/// Items 0 to count-1 one by one: item i belongs to rank i modulo the number of ranks.
class cyclic_map {
 public:
  /// Throws `error` for no ranks.
  cyclic_map(std::uint64_t count, rank_t ranks)
      : count_(count), ranks_(block_map::checked_ranks("cyclic_map", ranks)) {}

  std::uint64_t count() const noexcept { return count_; }
  /// The rank of an item, which must be less than `count()`.
  rank_t owner(std::uint64_t item) const noexcept { return static_cast<rank_t>(item % ranks_); }
  rank_t operator()(std::uint64_t item) const noexcept { return owner(item); }
  std::uint64_t items_of(rank_t rank) const noexcept {
    return count_ / ranks_ + (block_map::index(rank) < count_ % ranks_ ? 1 : 0);
  }
  std::uint64_t local(std::uint64_t item) const noexcept { return item / ranks_; }
  std::uint64_t global(rank_t rank, std::uint64_t local) const noexcept {
    return local * ranks_ + block_map::index(rank);
  }

 private:
  std::uint64_t count_;
  std::uint64_t ranks_;
};

/// Keys of any kind that std::hash knows, dealt out evenly whatever the keys are.
class hash_map {
 public:
  /// Throws `error` for no ranks.
  explicit hash_map(rank_t ranks) : ranks_(block_map::checked_ranks("hash_map", ranks)) {}

  template <class Key>
  rank_t owner(const Key& key) const {
    const std::uint64_t hash = splitmix64::mix(hash_of(key));
    return static_cast<rank_t>((hash >> 32) * ranks_ >> 32);
  }
  template <class Key>
  rank_t operator()(const Key& key) const {
    return owner(key);
  }

 private:
  /// Text by what it says, whatever holds it.
  template <class Key>
  static std::uint64_t hash_of(const Key& key) {
    if constexpr (std::is_convertible_v<const Key&, std::string_view>) {
      return std::hash<std::string_view>{}(key);
    } else {
      static_assert(!std::is_pointer_v<Key>,
                    "amity: hash_map: a pointer has another value on each rank: give what it refers to");
      return std::hash<Key>{}(key);
    }
  }

  std::uint64_t ranks_;
};

/// Lets `message::send(value)` find the rank: `owner(value)`, where `owner` is one of the maps above, or any function
/// from a message to its rank. The first of the policies.
template <class Owner>
struct address {
  Owner owner;
};
template <class Owner>
address(Owner) -> address<Owner>;

namespace detail {

template <class Owner>
inline constexpr int policy_place<address<Owner>> = 0;

template <class Policy>
inline constexpr bool is_address = false;
template <class Owner>
inline constexpr bool is_address<address<Owner>> = true;

template <class Value, class Next, class Owner>
class stage<Value, Next, address<Owner>> final : public stage_base<Next> {
  static_assert(std::is_invocable_r_v<rank_t, const Owner&, const Value&>,
                "amity: address{owner}: the owner cannot be called with this message: let it take (const T&) and "
                "return its rank");

 public:
  template <class MakeNext>
  stage(core::endpoint&, const address<Owner>& policy, const MakeNext& make_next)
      : stage_base<Next>(make_next), owner_(policy.owner) {}

  void send(rank_t dest, const Value& message) { this->next_.send(dest, message); }
  void send(const Value& message) { this->next_.send(std::invoke(owner_, message), message); }
  void send(rank_t dest, Value&& message) requires(!plain<Value>) { this->next_.send(dest, std::move(message)); }
  void send(Value&& message) requires(!plain<Value>) {
    const rank_t dest = std::invoke(owner_, std::as_const(message));
    this->next_.send(dest, std::move(message));
  }

 private:
  [[no_unique_address]] Owner owner_;
};

}  // namespace detail
}  // namespace amity
