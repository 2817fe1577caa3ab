#pragma once

/// Things by number, for peers to name them. A number is an index and a generation: places serve again, so that the
/// table grows with what is there at once, and whoever names what has gone is found out all the same.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

namespace amity::core {

template <class T>
class numbered {
 public:
  static constexpr unsigned index_bits = 20;
  static constexpr std::size_t count_max = std::size_t{1} << index_bits;

  bool full() const noexcept { return places_.size() == count_max && free_.empty(); }
  static constexpr std::uint32_t index(std::uint32_t number) noexcept { return number & (count_max - 1); }

  /// Its number. Not where it is full.
  std::uint32_t add(T value) {
    if (free_.empty()) {
      free_.push_back(static_cast<std::uint32_t>(places_.size()));
      places_.emplace_back().number = free_.back();
    }
    place& taken = places_[free_.back()];
    free_.pop_back();
    taken.value.emplace(std::move(value));
    return taken.number;
  }

  /// Null: it has gone, or never was. What is found stays where it is.
  T* find(std::uint32_t number) noexcept {
    if (index(number) >= places_.size()) return nullptr;
    place& at = places_[index(number)];
    return at.value && at.number == number ? &*at.value : nullptr;
  }
  const T* find(std::uint32_t number) const noexcept { return const_cast<numbered&>(*this).find(number); }

  /// False: it has gone, or never was.
  bool remove(std::uint32_t number) {
    if (find(number) == nullptr) return false;
    place& gone = places_[index(number)];
    free_.push_back(index(number));
    gone.value.reset();
    gone.number += count_max;  // modulo 2^32
    return true;
  }

  template <class Visit>
  void for_each(Visit&& visit) const {
    for (const place& each : places_) {
      if (each.value) visit(*each.value);
    }
  }
  /// The first for which `is_it(value)` holds; null: none.
  template <class IsIt>
  const T* find_if(IsIt&& is_it) const {
    for (const place& each : places_) {
      if (each.value && is_it(*each.value)) return &*each.value;
    }
    return nullptr;
  }

 private:
  struct place {
    std::uint32_t number = 0;
    std::optional<T> value;  ///< none: the place is free
  };

  std::deque<place> places_;  ///< by index
  std::vector<std::uint32_t> free_;
};

}  // namespace amity::core
