/// Atomics, of the types for which all implementations have them.

#include "amity/interop/shmem/addon/forward.hpp"
#include "amity/interop/shmem/declare/type_lists.h"

#define DEFINE_SWAPS(type, name)                                                                              \
  AMITY_SHMEM_FORWARD_BOTH(type, name##_atomic_fetch, (const type* target, int pe), (target, pe))             \
  AMITY_SHMEM_FORWARD_BOTH(void, name##_atomic_set, (type * target, type value, int pe), (target, value, pe)) \
  AMITY_SHMEM_FORWARD_BOTH(type, name##_atomic_swap, (type * target, type value, int pe), (target, value, pe))
AMITY_SHMEM_PLAIN_INTEGERS(DEFINE_SWAPS)
AMITY_SHMEM_FLOATS(DEFINE_SWAPS)

#define DEFINE_SUMS(type, name)                                                                                     \
  AMITY_SHMEM_FORWARD_BOTH(type, name##_atomic_compare_swap, (type * target, type expected, type value, int pe),    \
                           (target, expected, value, pe))                                                           \
  AMITY_SHMEM_FORWARD_BOTH(type, name##_atomic_fetch_inc, (type * target, int pe), (target, pe))                    \
  AMITY_SHMEM_FORWARD_BOTH(void, name##_atomic_inc, (type * target, int pe), (target, pe))                          \
  AMITY_SHMEM_FORWARD_BOTH(type, name##_atomic_fetch_add, (type * target, type value, int pe), (target, value, pe)) \
  AMITY_SHMEM_FORWARD_BOTH(void, name##_atomic_add, (type * target, type value, int pe), (target, value, pe))
AMITY_SHMEM_PLAIN_INTEGERS(DEFINE_SUMS)

#define DEFINE_BITS(type, name, operation)                                                             \
  AMITY_SHMEM_FORWARD_BOTH(type, name##_atomic_fetch_##operation, (type * target, type value, int pe), \
                           (target, value, pe))                                                        \
  AMITY_SHMEM_FORWARD_BOTH(void, name##_atomic_##operation, (type * target, type value, int pe), (target, value, pe))
#define DEFINE_BITWISE(type, name) \
  DEFINE_BITS(type, name, and)     \
  DEFINE_BITS(type, name, or)      \
  DEFINE_BITS(type, name, xor)
AMITY_SHMEM_BITWISE_TYPES(DEFINE_BITWISE)

// The names of older programs.
#define DEFINE_OLD_SWAPS(type, name)                                                               \
  AMITY_SHMEM_FORWARD(type, name##_swap, (type * target, type value, int pe), (target, value, pe)) \
  AMITY_SHMEM_FORWARD(type, name##_fetch, (const type* target, int pe), (target, pe))              \
  AMITY_SHMEM_FORWARD(void, name##_set, (type * target, type value, int pe), (target, value, pe))
#define DEFINE_OLD_SUMS(type, name)                                                                \
  AMITY_SHMEM_FORWARD(type, name##_cswap, (type * target, type expected, type value, int pe),      \
                      (target, expected, value, pe))                                               \
  AMITY_SHMEM_FORWARD(type, name##_fadd, (type * target, type value, int pe), (target, value, pe)) \
  AMITY_SHMEM_FORWARD(type, name##_finc, (type * target, int pe), (target, pe))                    \
  AMITY_SHMEM_FORWARD(void, name##_add, (type * target, type value, int pe), (target, value, pe))  \
  AMITY_SHMEM_FORWARD(void, name##_inc, (type * target, int pe), (target, pe))
#define OLD_INTEGERS(X) X(int, int) X(long, long) X(long long, longlong)
OLD_INTEGERS(DEFINE_OLD_SWAPS)
AMITY_SHMEM_FLOATS(DEFINE_OLD_SWAPS)
OLD_INTEGERS(DEFINE_OLD_SUMS)
