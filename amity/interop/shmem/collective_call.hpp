#pragma once

/// A collective call as PEs announce it to each other with each notification, so that calls that differ are found.

#include <array>
#include <cstdint>
#include <cstring>

#include "amity/interop/shmem/team.hpp"

namespace amity::shmem {

/// A number that all PEs must pass to a collective call.
struct argument {
  const char* name = nullptr;  ///< for errors; null: the call has no such argument
  std::uint64_t value = 0;
};

struct collective_call {
  std::array<std::uint64_t, 2> values{};  ///< of its arguments
  std::int32_t start = 0;                 ///< of its group, as the next two
  std::int32_t stride = 0;
  std::int32_t size = 0;
  std::array<char, 28> name{};  ///< filled with zeros

  collective_call() = default;
  collective_call(const char* call, const group& all, const std::array<std::uint64_t, 2>& arguments)
      : values(arguments), start(all.start), stride(all.stride), size(all.size) {
    std::memcpy(name.data(), call, strnlen(call, name.size()));
  }

  bool is_of(const group& all) const noexcept { return start == all.start && stride == all.stride && size == all.size; }
  /// A hash of all: what PEs compare.
  std::uint32_t id() const noexcept {
    std::array<std::uint64_t, sizeof(collective_call) / 8> words;
    std::memcpy(words.data(), this, sizeof words);
    std::uint64_t hash = 0;
    for (const std::uint64_t word : words) {
      hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
      hash ^= hash >> 32;
    }
    return static_cast<std::uint32_t>(hash);
  }
};
static_assert(sizeof(collective_call) == 56);  // without padding

}  // namespace amity::shmem
