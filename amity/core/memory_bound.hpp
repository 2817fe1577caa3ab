#pragma once

/// Memory of what one thread of a rank has accepted and not sent, in two sums with one bound.
///
/// What is *leaving* waits for a credit: progress alone reduces it. What is *held* waits for something else, such as
/// the end of the handler that fills a packet. Callers look whether there is room before they add to either; what must
/// be kept in any case is added without a look.

#include <algorithm>
#include <cstddef>

namespace amity::core {

class memory_bound {
 public:
  explicit memory_bound(std::size_t bytes_max) : bytes_max_(bytes_max) {}

  std::size_t bytes_max() const noexcept { return bytes_max_; }
  std::size_t bytes() const noexcept { return leaving_ + held_; }
  std::size_t bytes_peak() const noexcept { return bytes_peak_; }
  std::size_t leaving_bytes() const noexcept { return leaving_; }
  /// Whether `bytes` more may be added.
  bool has_room(std::size_t bytes) const noexcept {
    return this->bytes() <= bytes_max_ && bytes <= bytes_max_ - this->bytes();
  }

  void add_leaving(std::size_t bytes) noexcept {
    leaving_ += bytes;
    bytes_peak_ = std::max(bytes_peak_, this->bytes());
  }
  void subtract_leaving(std::size_t bytes) noexcept { leaving_ -= bytes; }
  void add_held(std::size_t bytes) noexcept {
    held_ += bytes;
    bytes_peak_ = std::max(bytes_peak_, this->bytes());
  }
  void subtract_held(std::size_t bytes) noexcept { held_ -= bytes; }

 private:
  std::size_t bytes_max_;
  std::size_t leaving_ = 0;
  std::size_t held_ = 0;
  std::size_t bytes_peak_ = 0;
};

}  // namespace amity::core
