#pragma once

/// Elements of the program that an operation with a layout reads or writes: a span, or blocks of a layout.

#include <concepts>
#include <cstddef>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>

#include "amity/base/types.hpp"
#include "amity/window/layout.hpp"

namespace amity {

/// Buffers stay as they are until the operation has local completion, as spans do; the layout may be given up at once.
template <class Element>
class layout_span {
  using byte = std::conditional_t<std::is_const_v<Element>, const std::byte, std::byte>;

 public:
  /// Nothing.
  layout_span() = default;
  /// Contiguous elements: anything that converts to a span.
  template <class Elements>
  requires std::convertible_to<Elements, std::span<Element>> layout_span(Elements&& contiguous) {
    const std::span<Element> all(contiguous);
    data_ = {reinterpret_cast<byte*>(all.data()), all.size_bytes()};
  }
  /// The blocks of a layout with `base` as its address. Null if offsets of the layout are addresses.
  layout_span(Element* base, std::shared_ptr<const layout> blocks)
      : data_(reinterpret_cast<byte*>(base), blocks == nullptr ? 0 : blocks->bytes()), blocks_(std::move(blocks)) {}

  /// As many bytes as the data, from its first byte or from the address of the layout on.
  std::span<byte> data() const noexcept { return data_; }
  /// Null: the data is contiguous.
  const std::shared_ptr<const layout>& blocks() const noexcept { return blocks_; }

 private:
  std::span<byte> data_;
  std::shared_ptr<const layout> blocks_;
};

}  // namespace amity
