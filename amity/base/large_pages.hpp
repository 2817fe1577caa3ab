#pragma once

/// Large pages for memory that is about to be written for the first time.

#include <cstddef>

namespace amity {

/// Asks the system for large pages for the `bytes` bytes at `from`, as far as these cover whole large pages. Each first
/// write to a small page is a fault, which costs more than writing the page. Without large pages only speed differs.
void prefer_large_pages(void* from, std::size_t bytes) noexcept;

}  // namespace amity
