#pragma once

/// One operation of a program on the memory of a window.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "amity/base/types.hpp"
#include "amity/window/accumulate.hpp"
#include "amity/window/compare_swap.hpp"
#include "amity/window/layout.hpp"

namespace amity::detail {

enum class operation_kind : std::uint8_t { put, get, accumulate, compare_swap };

struct window_operation {
  operation_kind kind;
  rank_t target;           ///< a member
  std::uint64_t at;        ///< bytes from the beginning of the target's memory
  bytes_view from{};       ///< data of a put, operands of an accumulate
  mutable_bytes into{};    ///< of a get, or what was there before an accumulate or a swap; empty: it is not asked for
  bool in_blocks = false;  ///< of a layout; otherwise all bytes follow one another
  bool is_packed = false;  ///< `from` is a copy that the window keeps
  std::shared_ptr<const layout> there{};  ///< with `at` as its address; null if not in blocks
  accumulate_op op = accumulate_op::replace;
  element_type type = element_type::byte;
  std::uint32_t index_bytes = 1;  ///< size of an element, if the program has named an index in place of `at`
  swap_operands swap{};
  // How far records have taken it.
  std::size_t moved = 0;  ///< bytes
  std::optional<std::uint32_t> question{};

  bool writes() const noexcept {
    return kind == operation_kind::accumulate ? op != accumulate_op::no_op : kind != operation_kind::get;
  }
  /// Bytes of the target's memory.
  std::size_t bytes() const noexcept {
    return kind == operation_kind::put || from.size() > 0 ? from.size() : into.size();
  }
};

/// The blocks of an operation's data at the origin. `from` or `into` of the operation has the address of the layout,
/// and as many bytes as its data. Null: the data is contiguous.
struct origin_layouts {
  std::shared_ptr<const layout> from{};
  std::shared_ptr<const layout> into{};
};

}  // namespace amity::detail
