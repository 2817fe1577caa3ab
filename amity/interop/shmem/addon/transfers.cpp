/// Puts and gets.

#include "amity/interop/shmem/addon/forward.hpp"
#include "amity/interop/shmem/declare/type_lists.h"

#define DEFINE_BLOCK(type, name)                                                                \
  AMITY_SHMEM_FORWARD_BOTH(void, name, (type * dest, const type* source, size_t count, int pe), \
                           (dest, source, count, pe))
#define DEFINE_STRIDED(type, name)                                                                             \
  AMITY_SHMEM_FORWARD_BOTH(                                                                                    \
      void, name,                                                                                              \
      (type * dest, const type* source, ptrdiff_t dest_stride, ptrdiff_t source_stride, size_t count, int pe), \
      (dest, source, dest_stride, source_stride, count, pe))

#define DEFINE_TYPED(type, name)                                                                 \
  DEFINE_BLOCK(type, name##_put)                                                                 \
  DEFINE_BLOCK(type, name##_get)                                                                 \
  DEFINE_BLOCK(type, name##_put_nbi)                                                             \
  DEFINE_BLOCK(type, name##_get_nbi)                                                             \
  DEFINE_STRIDED(type, name##_iput)                                                              \
  DEFINE_STRIDED(type, name##_iget)                                                              \
  AMITY_SHMEM_FORWARD_BOTH(void, name##_p, (type * dest, type value, int pe), (dest, value, pe)) \
  AMITY_SHMEM_FORWARD_BOTH(type, name##_g, (const type* source, int pe), (source, pe))
AMITY_SHMEM_RMA_TYPES(DEFINE_TYPED)

#define DEFINE_UNTYPED(unit)          \
  DEFINE_BLOCK(void, put##unit)       \
  DEFINE_BLOCK(void, get##unit)       \
  DEFINE_BLOCK(void, put##unit##_nbi) \
  DEFINE_BLOCK(void, get##unit##_nbi)
#define DEFINE_SIZED(bits, bytes)  \
  DEFINE_UNTYPED(bits)             \
  DEFINE_STRIDED(void, iput##bits) \
  DEFINE_STRIDED(void, iget##bits)
AMITY_SHMEM_SIZES(DEFINE_SIZED)
DEFINE_UNTYPED(mem)

AMITY_SHMEM_FORWARD(void, fence, (), ())
AMITY_SHMEM_FORWARD(void, quiet, (), ())
