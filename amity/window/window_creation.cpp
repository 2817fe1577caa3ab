#include "amity/window/window_creation.hpp"

#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "amity/base/random.hpp"
#include "amity/window/window_error.hpp"

namespace amity::detail {
namespace {

using core::reduction;
using function = window_creation::function;

std::uint64_t hash_of(const window_creation& of) noexcept {
  std::uint64_t hash = 0;
  for (const std::uint64_t each : {static_cast<std::uint64_t>(of.called), std::uint64_t{of.is_checked},
                                   std::uint64_t{of.has_handlers}, of.handlers, std::uint64_t{of.element_bytes}})
    hash = splitmix64::mix(hash ^ each);
  return hash;
}

/// A call in one word, so that a reduction finds one that differs, and other ranks can describe it.
constexpr unsigned element_bits = 32, handlers_bits = 16;

std::uint64_t pack(const window_creation& call) noexcept {
  const std::uint64_t flags = static_cast<std::uint64_t>(call.called) << 2 | std::uint64_t{call.is_checked} << 1 |
                              std::uint64_t{call.has_handlers};
  const std::uint64_t handlers = call.handlers >> (64 - handlers_bits);
  const std::uint64_t bytes = std::min<std::uint64_t>(call.element_bytes, (std::uint64_t{1} << element_bits) - 1);
  return (flags << handlers_bits | handlers) << element_bits | bytes;
}

/// "create_window of elements of 8 bytes, checked, with handlers"
std::string describe(std::uint64_t packed) {
  const std::uint64_t bytes = packed & ((std::uint64_t{1} << element_bits) - 1);
  const std::uint64_t flags = packed >> (element_bits + handlers_bits);
  std::string text;
  switch (static_cast<function>(flags >> 2)) {
    case function::allocate:
      text = "allocate_window";
      break;
    case function::create:
      text = "create_window";
      break;
    case function::allocate_contiguous:
      text = "allocate_shared_window (contiguous)";
      break;
    case function::allocate_separate:
      text = "allocate_shared_window (separate)";
      break;
    case function::create_dynamic:
      text = "create_dynamic_window";
      break;
  }
  if (bytes > 0) text += fmt::format(" of elements of {} bytes", bytes);
  if ((flags & 2) != 0) text += ", checked";
  if ((flags & 1) != 0) text += fmt::format(", with handlers {:04x}", packed >> element_bits & 0xffff);
  return text;
}

}  // namespace

void check_same_creation(core::endpoint& in, const window_creation& own, std::string_view title) {
  const std::uint64_t hash = hash_of(own);
  const std::uint64_t same = hash * static_cast<std::uint64_t>(in.size());  // modulo 2^64, as the sum
  if (in.reduce(reduction::sum_u64, hash) == same) return;
  const std::uint64_t call = pack(own);
  const std::uint64_t most = in.reduce(reduction::max_u64, call);
  const std::uint64_t own_rank = static_cast<std::uint64_t>(in.rank());
  const auto has_most = static_cast<rank_t>(in.reduce(reduction::min_u64, call == most ? own_rank : ~std::uint64_t{0}));
  const auto differs = in.reduce(reduction::min_u64, call == most ? ~std::uint64_t{0} : own_rank);
  const std::uint64_t its = in.reduce(reduction::max_u64, differs == own_rank ? call : 0);
  throw window_error(window_fault::argument, "window", in.rank(),
                     differs == ~std::uint64_t{0}
                         ? fmt::format("{}: the handlers of its active messages differ between ranks", title)
                         : fmt::format("{}: rank {} has called {}, rank {} {}", title, has_most, describe(most),
                                       differs, describe(its)),
                     "call the same function, with the same options and handlers, on all ranks");
}

}  // namespace amity::detail
