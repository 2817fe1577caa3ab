#pragma once

/// The members whose memory a rank reads and writes without a call. Members are added at their first use.
///
/// A hash table with open addressing. One thread at a time adds members, and others may look at the table during that,
/// if the engine is serialized: they see a member or do not see it yet. A table that is full is replaced by one of
/// twice the size, and stays until the window ends, because another thread may be looking at it.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "amity/base/types.hpp"
#include "amity/window/direct_accumulates.hpp"

namespace amity::detail {

/// A value that several threads may read while another one stores it, if the engine is serialized. A reader sees
/// what was written before the value was stored.
template <class Element>
class shared_value {
 public:
  shared_value(Element value = {}) noexcept : value_(value) {}
  shared_value(const shared_value& of) noexcept : value_(Element{of}) {}
  shared_value& operator=(const shared_value& of) noexcept { return *this = Element{of}; }
  shared_value& operator=(Element value) noexcept {
    value_.store(value, std::memory_order_release);
    return *this;
  }
  operator Element() const noexcept { return value_.load(std::memory_order_acquire); }

 private:
  std::atomic<Element> value_;
};

class direct_targets final : private immovable {
 public:
  struct target {
    shared_value<rank_t> member = no_rank;  ///< stored after the others, which do not change then, except `is_open`
    shared_value<bool> is_open = false;     ///< operations may go there
    std::byte* base = nullptr;
    std::size_t bytes = 0;
    const accumulate_words* words = nullptr;  ///< null: only this thread accumulates there
  };
  static_assert(sizeof(target) == 32);

  direct_targets() { use(std::make_unique<target[]>(capacity_min), capacity_min - 1); }

  /// Null: the member was not added, or is being added at the moment.
  target* find(rank_t member) const noexcept {
    const std::size_t last = last_;  // before the places: those of a later, larger table have all its indices
    target* const places = places_;
    target& first = places[first_index(member, last)];
    if (first.member == member) [[likely]]
      return &first;
    return find_after_first(places, last, member);
  }
  /// The member is not in the table. Returns false if targets have moved: pointers to them are no longer valid.
  bool add(rank_t member, std::byte* base, std::size_t bytes, const accumulate_words* words) {
    const bool is_full = (size_ + 1) * 4 > (last_ + 1) * 3;
    if (is_full) grow();
    target& added = find_free(places_, last_, member);
    added.base = base;
    added.bytes = bytes;
    added.words = words;
    added.member = member;
    ++size_;
    return !is_full;
  }

 private:
  static constexpr std::size_t capacity_min = 4;  // capacities are powers of two

  // `last` is the last index of a table, so a mask.

  static std::size_t first_index(rank_t member, std::size_t last) noexcept {
    // Fibonacci hashing: the bits in the middle of the product are well mixed.
    return static_cast<std::size_t>(static_cast<std::uint32_t>(member) * std::uint64_t{0x9e3779b97f4a7c15} >> 32) &
           last;
  }

  /// Looks at each place at most once: if the table has just been replaced, none of its first places may be free.
  /// Out of line: put and get are shorter without it.
  [[gnu::noinline]] static target* find_after_first(target* places, std::size_t last, rank_t member) noexcept {
    std::size_t at = first_index(member, last);
    for (std::size_t looked_at = 0; looked_at <= last && places[at].member != no_rank; ++looked_at) {
      if (places[at].member == member) return &places[at];
      at = (at + 1) & last;
    }
    return nullptr;
  }

  /// Where a member that is not in the table belongs. A table has free places.
  static target& find_free(target* places, std::size_t last, rank_t member) noexcept {
    std::size_t at = first_index(member, last);
    while (places[at].member != no_rank) at = (at + 1) & last;
    return places[at];
  }

  void grow() {
    const std::size_t capacity = 2 * (last_ + 1);
    auto larger = std::make_unique<target[]>(capacity);
    for (std::size_t i = 0; i <= last_; ++i) {
      const target& each = places_[i];
      if (each.member != no_rank) find_free(larger.get(), capacity - 1, each.member) = each;
    }
    use(std::move(larger), capacity - 1);
  }

  void use(std::unique_ptr<target[]> places, std::size_t last) {
    tables_.push_back(std::move(places));
    places_ = tables_.back().get();
    last_ = last;  // after the places: see `find`
  }

  shared_value<target*> places_;
  shared_value<std::size_t> last_;
  std::size_t size_ = 0;
  std::vector<std::unique_ptr<target[]>> tables_;  ///< the last one is in use
};

}  // namespace amity::detail
