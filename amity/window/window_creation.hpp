#pragma once

/// The calls that make a window are the same on all ranks of its world.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "amity/core/endpoint.hpp"

namespace amity::detail {

/// What the calls have in common.
struct window_creation {
  enum class function : std::uint8_t { allocate, create, allocate_contiguous, allocate_separate, create_dynamic };

  function called = function::allocate;
  bool is_checked = false;
  bool has_handlers = false;      ///< for active messages
  std::uint64_t handlers = 0;     ///< their fingerprint
  std::size_t element_bytes = 0;  ///< 0: a dynamic window
};

/// Throws the same `error` on all ranks if their calls differ. Collective. `title` names the window.
void check_same_creation(core::endpoint& in, const window_creation& own, std::string_view title);

}  // namespace amity::detail
