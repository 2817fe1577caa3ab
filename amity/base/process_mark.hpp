#pragma once

/// Recognizes a child that `fork` has made of the process.

#include <cstdint>

#include "amity/base/types.hpp"

namespace amity {

/// A word that a child of the process reads as 0: the kernel wipes its memory in children.
class process_mark : private immovable {
 public:
  /// If it is not wanted, or the system does not offer such memory, `is_own` returns true in all processes.
  explicit process_mark(bool is_wanted) noexcept;
  ~process_mark();

  /// Whether the calling process has made the object.
  bool is_own() const noexcept { return *word_ != 0; }

 private:
  static constexpr std::uint32_t always = 1;

  const std::uint32_t* word_ = &always;
};

}  // namespace amity
