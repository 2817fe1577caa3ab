/// What operations on a window may name.

#include "amity/window/window_epochs.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "amity/window/window_error.hpp"

namespace amity::detail {
namespace {

/// What the addresses of an atomic operation are multiples of: instructions of the processor use whole elements.
std::size_t alignment_of(const window_operation& what) noexcept {
  if (what.kind == operation_kind::compare_swap) return what.bytes();
  const element_layout& element = layout_of(what.type);
  return element.is_covered ? element.bytes : 1;
}

}  // namespace

void window_epochs::refuse_member(std::string_view call, rank_t member) const {
  throw window_error(window_fault::member, call, member_, fmt::format("{}: rank {} is not a member", title_, member),
                     fmt::format("name one of 0 to {}", members().size() - 1));
}

void window_epochs::check_members(std::string_view call, std::span<const rank_t> all) const {
  if (all.data() == nullptr && !all.empty())
    throw window_error(window_fault::argument, call, member_,
                       fmt::format("{}: {} ranks at a null pointer", title_, all.size()), "pass a span of ranks");
  std::vector<rank_t> sorted(all.begin(), all.end());
  std::ranges::sort(sorted);
  for (const rank_t each : sorted) check_member(call, each);
  const auto twice = std::ranges::adjacent_find(sorted);
  if (twice == sorted.end()) return;
  throw window_error(window_fault::member, call, member_, fmt::format("{}: rank {} is named twice", title_, *twice),
                     "name each rank once");
}

void window_epochs::refuse_promises(std::string_view call, window_assert promised) const {
  throw window_error(window_fault::argument, call, member_,
                     fmt::format("{}: {:#x} is not a set of promises", title_, static_cast<unsigned>(promised)),
                     "combine enumerators of window_assert by |");
}

void window_epochs::check_operation(std::string_view call, const window_peer& of, const window_operation& what) const {
  const std::size_t bytes = what.bytes();
  const bool is_null =
      (what.from.data() == nullptr && !what.from.empty()) || (what.into.data() == nullptr && !what.into.empty());
  if (is_null) {
    throw window_error(window_fault::argument, call, member_,
                       fmt::format("{}: {} bytes at a null pointer", title_, bytes), "pass a span of elements");
  }
  if (what.in_blocks && what.there == nullptr) {
    throw window_error(window_fault::layout, call, member_, fmt::format("{}: the layout is a null pointer", title_),
                       "pass a layout, or call the form without one");
  }
  if (what.there != nullptr && what.there->bytes() != bytes) {
    throw window_error(window_fault::layout, call, member_,
                       fmt::format("{}: {} bytes of data for a layout of {} bytes", title_, bytes, what.there->bytes()),
                       "pass as much data as the layout has");
  }
  if (attached_ == nullptr) check_place(call, of, what);
  if (what.kind == operation_kind::accumulate) check_operands(call, what);
  check_alignment(call, of, what);
  if (attached_ != nullptr) check_address(call, what);
}

void window_epochs::check_place(std::string_view call, const window_peer& of, const window_operation& what) const {
  const std::size_t bytes = what.bytes();
  const auto size = static_cast<std::ptrdiff_t>(of.bytes);
  const auto at = static_cast<std::ptrdiff_t>(what.at);
  const bool fits = what.there == nullptr
                        ? what.at <= of.bytes && bytes <= of.bytes - what.at
                        : at >= 0 && at <= size && what.there->first() >= -at && what.there->end() <= size - at;
  if (!fits) refuse_place(call, of, {.at = what.at, .bytes = bytes, .index_bytes = what.index_bytes});
}

void window_epochs::refuse_place(std::string_view call, const window_peer& of, const named_place& what) const {
  std::string place = fmt::format("{} bytes at offset {}", what.bytes, what.at), size;
  if (what.index_bytes > 1 && what.at == SIZE_MAX) {
    place = fmt::format("{} bytes at an index above {}", what.bytes, SIZE_MAX / what.index_bytes);
  } else if (what.index_bytes > 1) {
    place += fmt::format(", element {},", what.at / what.index_bytes);
    size = fmt::format(", {} elements", of.bytes / what.index_bytes);
  }
  throw window_error(window_fault::range, call, member_,
                     fmt::format("{}: {} are out of range: the memory of rank {} has {} bytes{}", title_, place,
                                 of.member, of.bytes, size),
                     "pass an index and a count that lie in the target's memory");
}

// Segments begin on words, so that the address is known but for a multiple of the largest element.
void window_epochs::check_alignment(std::string_view call, const window_peer& of, const window_operation& what) const {
  const bool is_atomic = what.kind == operation_kind::compare_swap || what.kind == operation_kind::accumulate;
  if (!is_atomic || what.bytes() == 0) return;
  const std::size_t alignment = alignment_of(what);
  const std::uint64_t base = of.base == nullptr ? of.data_offset : reinterpret_cast<std::uintptr_t>(of.base);
  if ((base + what.at) % alignment == 0) return;
  throw window_error(
      window_fault::alignment, call, member_,
      fmt::format("{}: the address at {} {:#x} of rank {} is not a multiple of the {} bytes of an element", title_,
                  attached_ == nullptr ? "offset" : "address", what.at, of.member, alignment),
      "pass the address of an element");
}

// In a dynamic window, only the target knows which memory is attached.
void window_epochs::check_address(std::string_view call, const window_operation& what) const {
  if (what.target != member_) return;
  const std::string problem = attached_->find_problem(what.at, what.bytes(), what.there.get(), 0);
  if (!problem.empty())
    throw window_error(window_fault::range, call, member_, fmt::format("{}: {}", title_, problem),
                       attached_memory::remedy);
}

void window_epochs::check_operands(std::string_view call, const window_operation& what) const {
  const auto refuse = [&](window_fault fault, std::string_view problem, std::string_view remedy) -> window_error {
    return {fault, call, member_, fmt::format("{}: {}", title_, problem), remedy};
  };
  const element_layout& element = layout_of(what.type);
  if (!is_valid(what.op))
    throw refuse(window_fault::operation, fmt::format("{} is not an accumulate_op", static_cast<int>(what.op)),
                 "pass an enumerator, sum to no_op");
  if (find_accumulate(what.op, what.type) == nullptr)
    throw refuse(window_fault::operation, fmt::format("{} is not defined on {}", name_of(what.op), element.name),
                 "choose another operation");
  if (what.from.empty() && what.op != accumulate_op::no_op && !what.into.empty())
    throw refuse(window_fault::argument, fmt::format("{} without operands", name_of(what.op)),
                 "pass an operand for each element");
  if (!what.from.empty() && !what.into.empty() && what.from.size() != what.into.size()) {
    throw refuse(
        window_fault::argument,
        fmt::format("{} bytes of operands, and {} for what was there before", what.from.size(), what.into.size()),
        "pass as many of both");
  }
  if (what.there == nullptr) return;
  if (what.there->size_grain() % element.bytes != 0) {
    throw refuse(
        window_fault::layout,
        fmt::format("blocks of a layout that are not whole elements of {} ({} bytes)", element.name, element.bytes),
        "describe blocks whose sizes are multiples of the element");
  }
  if (what.there->offset_grain() % alignment_of(what) != 0) {
    throw refuse(window_fault::alignment,
                 fmt::format("blocks of a layout at offsets that are not multiples of the {} bytes of {}",
                             element.bytes, element.name),
                 "describe blocks whose offsets are multiples of the element");
  }
}

void window_epochs::check_dynamic(std::string_view call) const {
  if (attached_ != nullptr) return;
  throw window_error(window_fault::attachment, call, member_, fmt::format("{}: its memory is fixed", title_),
                     "create it with create_dynamic_window");
}

}  // namespace amity::detail
