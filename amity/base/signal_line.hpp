#pragma once

/// A line of text that a signal handler may build and write: it uses no heap, stdio or locale.

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <string_view>

namespace amity {

/// Text beyond the capacity is cut.
class signal_line {
 public:
  signal_line& operator<<(std::string_view text) noexcept {
    const std::size_t bytes = std::min(text.size(), sizeof text_ - size_);
    std::memcpy(text_ + size_, text.data(), bytes);
    size_ += bytes;
    return *this;
  }
  signal_line& number(std::uint64_t value, unsigned base) noexcept {
    char digits[20];
    char* at = std::end(digits);
    do *--at = "0123456789abcdef"[value % base];
    while ((value /= base) != 0);
    return *this << std::string_view(at, static_cast<std::size_t>(std::end(digits) - at));
  }
  /// Text and numbers in columns of at least `width` characters.
  signal_line& left(std::string_view text, std::size_t width) noexcept {
    *this << text;
    return pad(text.size(), width);
  }
  signal_line& right(std::string_view text, std::size_t width) noexcept {
    pad(text.size(), width);
    return *this << text;
  }
  signal_line& right(std::uint64_t value, std::size_t width) noexcept {
    std::size_t digits = 1;
    for (std::uint64_t rest = value / 10; rest != 0; rest /= 10) ++digits;
    pad(digits, width);
    return number(value, 10);
  }
  void print() const noexcept {
    for (std::size_t done = 0; done < size_;) {
      const ::ssize_t written = ::write(STDERR_FILENO, text_ + done, size_ - done);
      if (written <= 0) return;
      done += static_cast<std::size_t>(written);
    }
  }

 private:
  signal_line& pad(std::size_t size, std::size_t width) noexcept {
    for (; size < width; ++size) *this << " ";
    return *this;
  }

  char text_[512];
  std::size_t size_ = 0;
};

}  // namespace amity
