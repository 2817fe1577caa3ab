#pragma once

/// A queue whose room was reserved beforehand.

#include <cstddef>
#include <vector>

#include "amity/base/assert.hpp"

namespace amity::fabric::ofi {

template <class T>
class bounded_queue {
 public:
  explicit bounded_queue(std::size_t capacity) : places_(capacity + 1) {}
  bool empty() const noexcept { return first_ == end_; }
  /// How many more there is room for.
  std::size_t room() const noexcept { return (first_ + places_.size() - end_ - 1) % places_.size(); }
  T& front() noexcept { return places_[first_]; }
  void push(const T& value) noexcept {
    places_[end_] = value;
    end_ = after(end_);
    AMITY_DEBUG_ASSERT(first_ != end_);
  }
  void pop() noexcept { first_ = after(first_); }

 private:
  std::size_t after(std::size_t place) const noexcept { return place + 1 == places_.size() ? 0 : place + 1; }

  std::vector<T> places_;
  std::size_t first_ = 0;
  std::size_t end_ = 0;
};

}  // namespace amity::fabric::ofi
