/// Memory of the symmetric heap, which all PEs take and give back together.

#include "amity/interop/shmem/addon/job.hpp"
#include "amity/interop/shmem/addon/profiling.hpp"

using namespace amity::shmem::addon;

#define DEFINE_FOR_ALL(Result, name, parameters, arguments)   \
  extern "C" decltype(name) p##name;                          \
  extern "C" Result name parameters {                         \
    if (self.joined != nullptr) self.joined->meet_all(#name); \
    return p##name arguments;                                 \
  }

DEFINE_FOR_ALL(void*, shmem_malloc, (size_t bytes), (bytes))
DEFINE_FOR_ALL(void*, shmem_calloc, (size_t count, size_t bytes), (count, bytes))
DEFINE_FOR_ALL(void*, shmem_align, (size_t alignment, size_t bytes), (alignment, bytes))
DEFINE_FOR_ALL(void*, shmem_realloc, (void* memory, size_t bytes), (memory, bytes))
DEFINE_FOR_ALL(void, shmem_free, (void* memory), (memory))

// The names of older programs.
DEFINE_FOR_ALL(void*, shmalloc, (size_t bytes), (bytes))
DEFINE_FOR_ALL(void*, shmemalign, (size_t alignment, size_t bytes), (alignment, bytes))
DEFINE_FOR_ALL(void*, shrealloc, (void* memory, size_t bytes), (memory, bytes))
DEFINE_FOR_ALL(void, shfree, (void* memory), (memory))
