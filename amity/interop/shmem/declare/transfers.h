#ifndef AMITY_INTEROP_SHMEM_TRANSFERS_H
#define AMITY_INTEROP_SHMEM_TRANSFERS_H

/* Puts and gets, in blocks, single or with strides, and what orders and completes them. */

#include "amity/interop/shmem/declare/type_lists.h"
#include "amity/interop/shmem/declare/types.h"

#ifdef __cplusplus
extern "C" {
#endif

void shmem_fence(void);
void shmem_quiet(void);
void shmem_ctx_fence(shmem_ctx_t context);
void shmem_ctx_quiet(shmem_ctx_t context);

/* Elements of one kind, as blocks and with strides. */
#define AMITY_SHMEM_DECLARE_BLOCKS(type, put, get)                                                                 \
  AMITY_SHMEM_DECLARE_BOTH(void, put, type* dest, const type* source, size_t count, int pe)                        \
  AMITY_SHMEM_DECLARE_BOTH(void, get, type* dest, const type* source, size_t count, int pe)                        \
  AMITY_SHMEM_DECLARE_BOTH(void, put##_nbi, type* dest, const type* source, size_t count, int pe)                  \
  AMITY_SHMEM_DECLARE_BOTH(void, get##_nbi, type* dest, const type* source, size_t count, int pe)                  \
  AMITY_SHMEM_DECLARE_BOTH(void, put##_signal, type* dest, const type* source, size_t count, uint64_t* signal,     \
                           uint64_t value, int operation, int pe)                                                  \
  AMITY_SHMEM_DECLARE_BOTH(void, put##_signal_nbi, type* dest, const type* source, size_t count, uint64_t* signal, \
                           uint64_t value, int operation, int pe)
#define AMITY_SHMEM_DECLARE_STRIDED(type, name)                                                                        \
  AMITY_SHMEM_DECLARE_BOTH(void, name, type* dest, const type* source, ptrdiff_t dest_stride, ptrdiff_t source_stride, \
                           size_t count, int pe)

#define AMITY_SHMEM_DECLARE_RMA(type, name)                                \
  AMITY_SHMEM_DECLARE_BLOCKS(type, name##_put, name##_get)                 \
  AMITY_SHMEM_DECLARE_STRIDED(type, name##_iput)                           \
  AMITY_SHMEM_DECLARE_STRIDED(type, name##_iget)                           \
  AMITY_SHMEM_DECLARE_BOTH(void, name##_p, type* dest, type value, int pe) \
  AMITY_SHMEM_DECLARE_BOTH(type, name##_g, const type* source, int pe)

/* The same by size; bytes have no strides. */
#define AMITY_SHMEM_DECLARE_BITS(bits, bytes)            \
  AMITY_SHMEM_DECLARE_BLOCKS(void, put##bits, get##bits) \
  AMITY_SHMEM_DECLARE_STRIDED(void, iput##bits)          \
  AMITY_SHMEM_DECLARE_STRIDED(void, iget##bits)

#define AMITY_SHMEM_DECLARE_TRANSFERS              \
  AMITY_SHMEM_RMA_TYPES(AMITY_SHMEM_DECLARE_RMA)   \
  AMITY_SHMEM_DECLARE_BLOCKS(void, putmem, getmem) \
  AMITY_SHMEM_SIZES(AMITY_SHMEM_DECLARE_BITS)
AMITY_SHMEM_DECLARE_TRANSFERS

uint64_t shmem_signal_fetch(const uint64_t* signal);

#ifdef __cplusplus
}
#endif

#endif
