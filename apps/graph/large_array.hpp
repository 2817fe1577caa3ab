#pragma once

/// Arrays that searches touch all over: in large pages where the system has them, since otherwise most accesses would
/// wait for an address translation too.

#include <sys/mman.h>

#include <cstddef>
#include <cstdlib>
#include <new>
#include <vector>

namespace amity::apps::graph {

/// An allocator whose large blocks are whole 2 MiB pages. Small blocks cost what they always do.
template <class T>
struct large_page_allocator {
  using value_type = T;
  static constexpr std::size_t page_bytes = std::size_t{1} << 21;

  large_page_allocator() = default;
  template <class Other>
  large_page_allocator(const large_page_allocator<Other>&) noexcept {}

  T* allocate(std::size_t count) {
    std::size_t bytes = count * sizeof(T);
    const bool large = bytes >= page_bytes / 2;
    if (large) bytes = (bytes + page_bytes - 1) / page_bytes * page_bytes;
    void* const block = std::aligned_alloc(large ? page_bytes : alignof(std::max_align_t), bytes);
    if (block == nullptr) throw std::bad_alloc();
    if (large) ::madvise(block, bytes, MADV_HUGEPAGE);  // a refusal costs speed, nothing else
    return static_cast<T*>(block);
  }
  void deallocate(T* block, std::size_t) noexcept { std::free(block); }

  bool operator==(const large_page_allocator&) const = default;
};

template <class T>
using large_array = std::vector<T, large_page_allocator<T>>;

}  // namespace amity::apps::graph
