#include "amity/base/large_pages.hpp"

#include <sys/mman.h>

#include <memory>

namespace amity {

void prefer_large_pages(void* from, std::size_t bytes) noexcept {
  constexpr std::size_t page_bytes = std::size_t{1} << 21;
  void* begin = from;
  if (std::align(page_bytes, page_bytes, begin, bytes) == nullptr) return;
  ::madvise(begin, bytes / page_bytes * page_bytes, MADV_HUGEPAGE);
}

}  // namespace amity
