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

/* Elements of one kind, as blocks: `ctx` is empty or the parameter of a context. */
#define AMITY_SHMEM_DECLARE_BLOCKS(type, name)                                                                       \
  void shmem_##name##_put(type* dest, const type* source, size_t count, int pe);                                     \
  void shmem_##name##_get(type* dest, const type* source, size_t count, int pe);                                     \
  void shmem_##name##_put_nbi(type* dest, const type* source, size_t count, int pe);                                 \
  void shmem_##name##_get_nbi(type* dest, const type* source, size_t count, int pe);                                 \
  void shmem_##name##_iput(type* dest, const type* source, ptrdiff_t dest_stride, ptrdiff_t source_stride,           \
                           size_t count, int pe);                                                                    \
  void shmem_##name##_iget(type* dest, const type* source, ptrdiff_t dest_stride, ptrdiff_t source_stride,           \
                           size_t count, int pe);                                                                    \
  void shmem_##name##_p(type* dest, type value, int pe);                                                             \
  type shmem_##name##_g(const type* source, int pe);                                                                 \
  void shmem_##name##_put_signal(type* dest, const type* source, size_t count, uint64_t* signal, uint64_t value,     \
                                 int operation, int pe);                                                             \
  void shmem_##name##_put_signal_nbi(type* dest, const type* source, size_t count, uint64_t* signal, uint64_t value, \
                                     int operation, int pe);                                                         \
  void shmem_ctx_##name##_put(shmem_ctx_t context, type* dest, const type* source, size_t count, int pe);            \
  void shmem_ctx_##name##_get(shmem_ctx_t context, type* dest, const type* source, size_t count, int pe);            \
  void shmem_ctx_##name##_put_nbi(shmem_ctx_t context, type* dest, const type* source, size_t count, int pe);        \
  void shmem_ctx_##name##_get_nbi(shmem_ctx_t context, type* dest, const type* source, size_t count, int pe);        \
  void shmem_ctx_##name##_iput(shmem_ctx_t context, type* dest, const type* source, ptrdiff_t dest_stride,           \
                               ptrdiff_t source_stride, size_t count, int pe);                                       \
  void shmem_ctx_##name##_iget(shmem_ctx_t context, type* dest, const type* source, ptrdiff_t dest_stride,           \
                               ptrdiff_t source_stride, size_t count, int pe);                                       \
  void shmem_ctx_##name##_p(shmem_ctx_t context, type* dest, type value, int pe);                                    \
  type shmem_ctx_##name##_g(shmem_ctx_t context, const type* source, int pe);                                        \
  void shmem_ctx_##name##_put_signal(shmem_ctx_t context, type* dest, const type* source, size_t count,              \
                                     uint64_t* signal, uint64_t value, int operation, int pe);                       \
  void shmem_ctx_##name##_put_signal_nbi(shmem_ctx_t context, type* dest, const type* source, size_t count,          \
                                         uint64_t* signal, uint64_t value, int operation, int pe);
AMITY_SHMEM_RMA_TYPES(AMITY_SHMEM_DECLARE_BLOCKS)
#undef AMITY_SHMEM_DECLARE_BLOCKS

/* The same by size: `unit` is empty for bytes, which have no strides. */
#define AMITY_SHMEM_DECLARE_SIZED(put, get)                                                                          \
  void shmem_##put(void* dest, const void* source, size_t count, int pe);                                            \
  void shmem_##get(void* dest, const void* source, size_t count, int pe);                                            \
  void shmem_##put##_nbi(void* dest, const void* source, size_t count, int pe);                                      \
  void shmem_##get##_nbi(void* dest, const void* source, size_t count, int pe);                                      \
  void shmem_##put##_signal(void* dest, const void* source, size_t count, uint64_t* signal, uint64_t value,          \
                            int operation, int pe);                                                                  \
  void shmem_##put##_signal_nbi(void* dest, const void* source, size_t count, uint64_t* signal, uint64_t value,      \
                                int operation, int pe);                                                              \
  void shmem_ctx_##put(shmem_ctx_t context, void* dest, const void* source, size_t count, int pe);                   \
  void shmem_ctx_##get(shmem_ctx_t context, void* dest, const void* source, size_t count, int pe);                   \
  void shmem_ctx_##put##_nbi(shmem_ctx_t context, void* dest, const void* source, size_t count, int pe);             \
  void shmem_ctx_##get##_nbi(shmem_ctx_t context, void* dest, const void* source, size_t count, int pe);             \
  void shmem_ctx_##put##_signal(shmem_ctx_t context, void* dest, const void* source, size_t count, uint64_t* signal, \
                                uint64_t value, int operation, int pe);                                              \
  void shmem_ctx_##put##_signal_nbi(shmem_ctx_t context, void* dest, const void* source, size_t count,               \
                                    uint64_t* signal, uint64_t value, int operation, int pe);
#define AMITY_SHMEM_DECLARE_BITS(bits, bytes)                                                                         \
  AMITY_SHMEM_DECLARE_SIZED(put##bits, get##bits)                                                                     \
  void shmem_iput##bits(void* dest, const void* source, ptrdiff_t dest_stride, ptrdiff_t source_stride, size_t count, \
                        int pe);                                                                                      \
  void shmem_iget##bits(void* dest, const void* source, ptrdiff_t dest_stride, ptrdiff_t source_stride, size_t count, \
                        int pe);                                                                                      \
  void shmem_ctx_iput##bits(shmem_ctx_t context, void* dest, const void* source, ptrdiff_t dest_stride,               \
                            ptrdiff_t source_stride, size_t count, int pe);                                           \
  void shmem_ctx_iget##bits(shmem_ctx_t context, void* dest, const void* source, ptrdiff_t dest_stride,               \
                            ptrdiff_t source_stride, size_t count, int pe);
AMITY_SHMEM_DECLARE_SIZED(putmem, getmem)
AMITY_SHMEM_SIZES(AMITY_SHMEM_DECLARE_BITS)
#undef AMITY_SHMEM_DECLARE_SIZED
#undef AMITY_SHMEM_DECLARE_BITS

uint64_t shmem_signal_fetch(const uint64_t* signal);

#ifdef __cplusplus
}
#endif

#endif
