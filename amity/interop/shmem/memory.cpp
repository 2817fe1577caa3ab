/// The symmetric heap as programs see it: collective calls that take and give back memory.

#include <algorithm>
#include <bit>
#include <cstring>

#include <fmt/format.h>

#include "amity/interop/shmem/group.hpp"
#include "amity/interop/shmem/include/shmem.h"
#include "amity/interop/shmem/job.hpp"

using namespace amity::shmem;

namespace {

void* take(job& joined, std::size_t bytes, std::size_t alignment) {
  if (bytes == 0) return nullptr;
  const auto offset = joined.heap().take(bytes, alignment);
  return offset ? reinterpret_cast<void*>(self.heap.first + *offset) : nullptr;
}

/// The offset of what a program has been given.
std::size_t offset_of(const char* call, job& joined, void* pointer) {
  const auto at = reinterpret_cast<std::uintptr_t>(pointer);
  if (!self.heap.holds(at) || joined.heap().size_at(at - self.heap.first) == 0) {
    fail(call, fmt::format("{} is no memory of shmem_malloc's", pointer).c_str(),
         "pass what shmem_malloc and its kin have returned, once");
  }
  return at - self.heap.first;
}

constexpr const char* in_heap = "offset of the object in the symmetric heap";

}  // namespace

AMITY_SHMEM_DEFINE(void*, malloc, (size_t size)) {
  job& joined = running("shmem_malloc");
  void* const pointer = take(joined, size, symmetric_heap::alignment_min);
  if (size > 0) barrier("shmem_malloc", world(), {"size", size});
  return pointer;
}

AMITY_SHMEM_DEFINE(void*, malloc_with_hints, (size_t size, long)) { return pshmem_malloc(size); }

AMITY_SHMEM_DEFINE(void*, calloc, (size_t count, size_t size)) {
  job& joined = running("shmem_calloc");
  std::size_t bytes = 0;
  const bool too_large = __builtin_mul_overflow(count, size, &bytes);
  void* const pointer = too_large ? nullptr : take(joined, bytes, symmetric_heap::alignment_min);
  if (pointer != nullptr) std::memset(pointer, 0, bytes);
  if (too_large || bytes > 0) barrier("shmem_calloc", world(), {"count", count}, {"size", size});
  return pointer;
}

AMITY_SHMEM_DEFINE(void*, align, (size_t alignment, size_t size)) {
  job& joined = running("shmem_align");
  if (!std::has_single_bit(alignment)) {
    fail("shmem_align", fmt::format("{} is no alignment", alignment).c_str(), "use a power of two");
  }
  void* const pointer = alignment > joined.heap().alignment_max() ? nullptr : take(joined, size, alignment);
  if (size > 0) barrier("shmem_align", world(), {"alignment", alignment}, {"size", size});
  return pointer;
}

AMITY_SHMEM_DEFINE(void, free, (void* pointer)) {
  job& joined = running("shmem_free");
  if (pointer == nullptr) return;
  const std::size_t offset = offset_of("shmem_free", joined, pointer);
  barrier("shmem_free", world(), {in_heap, offset});  // a peer may be about to put there
  joined.heap().give_back(offset);
}

AMITY_SHMEM_DEFINE(void*, realloc, (void* pointer, size_t size)) {
  job& joined = running("shmem_realloc");
  if (pointer == nullptr) return pshmem_malloc(size);
  if (size == 0) {
    pshmem_free(pointer);
    return nullptr;
  }
  const std::size_t before = offset_of("shmem_realloc", joined, pointer);
  barrier("shmem_realloc", world(), {in_heap, before}, {"size", size});
  const std::size_t bytes = joined.heap().size_at(before);
  void* moved = pointer;
  if (size > bytes) {
    moved = take(joined, size, symmetric_heap::alignment_min);
    if (moved != nullptr) {
      std::memcpy(moved, pointer, std::min(bytes, size));
      joined.heap().give_back(before);
    }
  }
  barrier("shmem_realloc", world());
  return moved;
}

extern "C" {
void* shmalloc(size_t size) { return pshmem_malloc(size); }
void* shmemalign(size_t alignment, size_t size) { return pshmem_align(alignment, size); }
void* shrealloc(void* pointer, size_t size) { return pshmem_realloc(pointer, size); }
void shfree(void* pointer) { pshmem_free(pointer); }
}
