#pragma once

/// How large the symmetric heap is to be.

#include <cstddef>

namespace amity::shmem {

/// SHMEM_SYMMETRIC_SIZE, or SMA_SYMMETRIC_SIZE as it was once called: bytes, with a K, M, G or T behind if need be.
/// Memory is taken only where it is touched. Throws `error` for what is no size.
std::size_t heap_bytes_wanted();

}  // namespace amity::shmem
