#include "amity/window/window_creation.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "amity/base/random.hpp"
#include "amity/window/window_error.hpp"

namespace amity::detail {
namespace {

using core::reduction;

/// In the order of `window_creation::function`.
constexpr std::array<std::string_view, 5> names{"allocate_window", "create_window",
                                                "allocate_shared_window (contiguous)",
                                                "allocate_shared_window (separate)", "create_dynamic_window"};

/// A call in one word: ranks compare it, and describe those of others.
constexpr unsigned element_bits = 32, handlers_bits = 27;
constexpr std::uint64_t low(unsigned bits) { return (std::uint64_t{1} << bits) - 1; }

std::uint64_t pack(const window_creation& call) noexcept {
  const std::uint64_t flags = static_cast<std::uint64_t>(call.called) << 2 | std::uint64_t{call.is_checked} << 1 |
                              std::uint64_t{call.has_handlers};
  const std::uint64_t bytes = std::min<std::uint64_t>(call.element_bytes, low(element_bits));
  return (flags << handlers_bits | (call.handlers & low(handlers_bits))) << element_bits | bytes;
}

/// "create_window of elements of 8 bytes, checked, with handlers of fingerprint 1f2e3d4"
std::string describe(std::uint64_t call) {
  const std::uint64_t bytes = call & low(element_bits);
  const std::uint64_t handlers = call >> element_bits & low(handlers_bits);
  const std::uint64_t flags = call >> (element_bits + handlers_bits);
  std::string text(names[flags >> 2]);
  if (bytes > 0) text += fmt::format(" of elements of {} bytes", bytes);
  if ((flags & 2) != 0) text += ", checked";
  if ((flags & 1) != 0) text += fmt::format(", with handlers of fingerprint {:x}", handlers);
  return text;
}

}  // namespace

void check_same_creation(core::endpoint& in, const window_creation& own, std::string_view title) {
  constexpr std::uint64_t none = ~std::uint64_t{0};
  const std::uint64_t call = pack(own);
  const std::uint64_t hash = splitmix64::mix(call + 1);
  const std::uint64_t same = hash * static_cast<std::uint64_t>(in.size());  // modulo 2^64, as the sum
  if (in.reduce(reduction::sum_u64, hash) == same) return;
  const std::uint64_t most = in.reduce(reduction::max_u64, call);
  const auto own_rank = static_cast<std::uint64_t>(in.rank());
  const std::uint64_t has_most = in.reduce(reduction::min_u64, call == most ? own_rank : none);
  const std::uint64_t differs = in.reduce(reduction::min_u64, call == most ? none : own_rank);
  const std::uint64_t its = in.reduce(reduction::max_u64, differs == own_rank ? call : 0);
  throw window_error(
      window_fault::argument, "window", in.rank(),
      fmt::format("{}: rank {} has called {}, rank {} {}", title, has_most, describe(most), differs, describe(its)),
      "call the same function, with the same options and handlers, on all ranks");
}

}  // namespace amity::detail
