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
  void print() const noexcept {
    for (std::size_t done = 0; done < size_;) {
      const ::ssize_t written = ::write(STDERR_FILENO, text_ + done, size_ - done);
      if (written <= 0) return;
      done += static_cast<std::size_t>(written);
    }
  }

 private:
  char text_[256];
  std::size_t size_ = 0;
};

}  // namespace amity
