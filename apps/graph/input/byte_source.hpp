#pragma once

/// Bytes of a descriptor, or of memory, read once from front to back.

#include <cstddef>
#include <cstdint>
#include <span>
#include <variant>

#include "apps/graph/owned_descriptor.hpp"

namespace amity::apps::graph {

class byte_source {
 public:
  explicit byte_source(owned_descriptor from) : from_(std::move(from)) {}
  /// The bytes must outlive the source.
  explicit byte_source(std::span<const char> bytes) : from_(bytes) {}

  /// Fills `into`; returns fewer bytes only at the end. Waits for the writer of a pipe. Throws `std::system_error`.
  std::size_t read(std::span<char> into);

  /// Number of bytes that `read` has returned.
  std::uint64_t position() const noexcept { return position_; }

 private:
  std::size_t read_some(std::span<char> into);

  std::variant<owned_descriptor, std::span<const char>> from_;
  std::uint64_t position_ = 0;
  bool ended_ = false;  ///< a terminal must not be read again after its end
};

}  // namespace amity::apps::graph
