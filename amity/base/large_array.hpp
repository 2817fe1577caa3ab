#pragma once

/// Arrays that are touched all over: in large pages where the system has them, since otherwise most accesses would
/// wait for an address translation too.

#include <cstddef>
#include <memory>
#include <new>
#include <vector>

#include "amity/base/large_pages.hpp"

namespace amity {

/// An allocator whose large blocks are whole 2 MiB pages. Small blocks cost what they always do.
template <class Element>
struct large_page_allocator {
  using value_type = Element;
  static constexpr std::size_t page_bytes = std::size_t{1} << 21;

  large_page_allocator() = default;
  template <class Other>
  large_page_allocator(const large_page_allocator<Other>&) noexcept {}

  Element* allocate(std::size_t count) {
    if (!is_large(count)) return std::allocator<Element>().allocate(count);
    const std::size_t bytes = (count * sizeof(Element) + page_bytes - 1) / page_bytes * page_bytes;
    void* const block = ::operator new(bytes, std::align_val_t(page_bytes));
    prefer_large_pages(block, bytes);
    return static_cast<Element*>(block);
  }
  void deallocate(Element* block, std::size_t count) noexcept {
    if (!is_large(count)) return std::allocator<Element>().deallocate(block, count);
    ::operator delete(block, std::align_val_t(page_bytes));
  }

  bool operator==(const large_page_allocator&) const = default;

 private:
  static bool is_large(std::size_t count) { return count >= page_bytes / 2 / sizeof(Element); }
};

template <class Element>
using large_array = std::vector<Element, large_page_allocator<Element>>;

}  // namespace amity
