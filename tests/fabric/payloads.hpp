#pragma once

/// Payloads whose every byte says whether it belongs there.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "amity/base/random.hpp"
#include "amity/base/types.hpp"

namespace amity::fabric::testing {

/// What byte `at` of the payload `key` is.
inline std::byte payload_byte(std::uint64_t key, std::size_t at) {
  return static_cast<std::byte>(splitmix64::mix(key * 0x1000193 + at / 8) >> (at % 8 * 8));
}

inline void fill(mutable_bytes payload, std::uint64_t key) {
  for (std::size_t at = 0; at < payload.size(); ++at) payload[at] = payload_byte(key, at);
}

inline std::vector<std::byte> make_payload(std::size_t bytes, std::uint64_t key) {
  std::vector<std::byte> payload(bytes);
  fill(payload, key);
  return payload;
}

inline bool is_payload(bytes_view payload, std::uint64_t key) {
  for (std::size_t at = 0; at < payload.size(); ++at) {
    if (payload[at] != payload_byte(key, at)) return false;
  }
  return true;
}

/// The sizes at which fabrics change their road, and the ends.
inline std::vector<std::size_t> interesting_sizes(std::size_t packet_bytes_max) {
  std::vector<std::size_t> sizes{0, 1, 8, 47, 48, 49, 1000, packet_bytes_max};
  std::erase_if(sizes, [&](std::size_t bytes) { return bytes > packet_bytes_max; });
  return sizes;
}

}  // namespace amity::fabric::testing
