#ifndef AMITY_INTEROP_SHMEM_ATOMICS_H
#define AMITY_INTEROP_SHMEM_ATOMICS_H

/* Atomic operations on symmetric words, with the names of OpenSHMEM 1.4 and those before it. */

#include "amity/interop/shmem/declare/type_lists.h"
#include "amity/interop/shmem/declare/types.h"

#ifdef __cplusplus
extern "C" {
#endif

#define AMITY_SHMEM_DECLARE_SWAPS(type, name)                                                         \
  AMITY_SHMEM_DECLARE_BOTH(type, name##_atomic_fetch, const type* source, int pe)                     \
  AMITY_SHMEM_DECLARE_BOTH(void, name##_atomic_set, type* dest, type value, int pe)                   \
  AMITY_SHMEM_DECLARE_BOTH(type, name##_atomic_swap, type* dest, type value, int pe)                  \
  AMITY_SHMEM_DECLARE_BOTH(void, name##_atomic_fetch_nbi, type* fetch, const type* source, int pe)    \
  AMITY_SHMEM_DECLARE_BOTH(void, name##_atomic_swap_nbi, type* fetch, type* dest, type value, int pe) \
  AMITY_SHMEM_DECLARE(type, name##_fetch, const type* source, int pe)                                 \
  AMITY_SHMEM_DECLARE(void, name##_set, type* dest, type value, int pe)                               \
  AMITY_SHMEM_DECLARE(type, name##_swap, type* dest, type value, int pe)

#define AMITY_SHMEM_DECLARE_ARITHMETIC(type, name)                                                                   \
  AMITY_SHMEM_DECLARE_BOTH(type, name##_atomic_compare_swap, type* dest, type expected, type value, int pe)          \
  AMITY_SHMEM_DECLARE_BOTH(type, name##_atomic_fetch_add, type* dest, type value, int pe)                            \
  AMITY_SHMEM_DECLARE_BOTH(type, name##_atomic_fetch_inc, type* dest, int pe)                                        \
  AMITY_SHMEM_DECLARE_BOTH(void, name##_atomic_add, type* dest, type value, int pe)                                  \
  AMITY_SHMEM_DECLARE_BOTH(void, name##_atomic_inc, type* dest, int pe)                                              \
  AMITY_SHMEM_DECLARE_BOTH(void, name##_atomic_compare_swap_nbi, type* fetch, type* dest, type expected, type value, \
                           int pe)                                                                                   \
  AMITY_SHMEM_DECLARE_BOTH(void, name##_atomic_fetch_add_nbi, type* fetch, type* dest, type value, int pe)           \
  AMITY_SHMEM_DECLARE_BOTH(void, name##_atomic_fetch_inc_nbi, type* fetch, type* dest, int pe)                       \
  AMITY_SHMEM_DECLARE(type, name##_cswap, type* dest, type expected, type value, int pe)                             \
  AMITY_SHMEM_DECLARE(type, name##_fadd, type* dest, type value, int pe)                                             \
  AMITY_SHMEM_DECLARE(type, name##_finc, type* dest, int pe)                                                         \
  AMITY_SHMEM_DECLARE(void, name##_add, type* dest, type value, int pe)                                              \
  AMITY_SHMEM_DECLARE(void, name##_inc, type* dest, int pe)

#define AMITY_SHMEM_DECLARE_BITWISE_OF(type, name, operation)                                     \
  AMITY_SHMEM_DECLARE_BOTH(void, name##_atomic_##operation, type* dest, type value, int pe)       \
  AMITY_SHMEM_DECLARE_BOTH(type, name##_atomic_fetch_##operation, type* dest, type value, int pe) \
  AMITY_SHMEM_DECLARE_BOTH(void, name##_atomic_fetch_##operation##_nbi, type* fetch, type* dest, type value, int pe)
#define AMITY_SHMEM_DECLARE_BITWISE(type, name) AMITY_SHMEM_EACH_BITWISE(AMITY_SHMEM_DECLARE_BITWISE_OF, type, name)

#define AMITY_SHMEM_DECLARE_ATOMICS                         \
  AMITY_SHMEM_SWAP_TYPES(AMITY_SHMEM_DECLARE_SWAPS)         \
  AMITY_SHMEM_WIDE_INTEGERS(AMITY_SHMEM_DECLARE_ARITHMETIC) \
  AMITY_SHMEM_BITWISE_TYPES(AMITY_SHMEM_DECLARE_BITWISE)
AMITY_SHMEM_DECLARE_ATOMICS

#ifdef __cplusplus
}
#endif

#endif
