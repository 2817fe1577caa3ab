#pragma once

/// Arguments of a message that waits. Most have few: only as many words as there are get written and copied.

#include <array>
#include <cstdint>
#include <cstring>
#include <span>

#include "amity/core/long_envelope.hpp"

namespace amity::core {

class kept_arguments {
 public:
  // The words stay as they are: nobody reads more than were given.
  kept_arguments() noexcept {}
  kept_arguments(const kept_arguments& other) noexcept { assign(other.words()); }
  kept_arguments& operator=(const kept_arguments& other) noexcept {
    if (this != &other) assign(other.words());
    return *this;
  }

  void assign(std::span<const std::uint64_t> words) noexcept {
    count_ = words.size();
    if (!words.empty()) std::memcpy(words_.data(), words.data(), words.size_bytes());
  }
  std::span<const std::uint64_t> words() const noexcept { return std::span(words_).first(count_); }

 private:
  std::size_t count_ = 0;
  std::array<std::uint64_t, args_max> words_;
};

}  // namespace amity::core
