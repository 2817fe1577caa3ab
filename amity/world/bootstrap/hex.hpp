#pragma once

/// Bytes as text, for process managers that carry text only.

#include <string>
#include <string_view>

namespace amity::detail {

inline std::string to_hex(std::string_view bytes) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  for (const char each : bytes) {
    const auto value = static_cast<unsigned char>(each);
    text += digits[value / 16];
    text += digits[value % 16];
  }
  return text;
}

/// False for what `to_hex` has not made.
inline bool from_hex(std::string_view text, std::string& bytes) {
  const auto digit = [](char c) { return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1; };
  bytes.clear();
  if (text.size() % 2 != 0) return false;
  for (std::size_t i = 0; i < text.size(); i += 2) {
    const int high = digit(text[i]);
    const int low = digit(text[i + 1]);
    if (high < 0 || low < 0) return false;
    bytes += static_cast<char>(high * 16 + low);
  }
  return true;
}

}  // namespace amity::detail
