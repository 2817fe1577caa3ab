#ifndef AMITY_INTEROP_SHMEM_COLLECTIVES_H
#define AMITY_INTEROP_SHMEM_COLLECTIVES_H

/* Collective operations over teams, and over active sets: PE_start, the logarithm of a stride, a size. */

#include "amity/interop/shmem/declare/type_lists.h"
#include "amity/interop/shmem/declare/types.h"

#ifdef __cplusplus
extern "C" {
#endif

void shmem_barrier_all(void);
void shmem_sync_all(void);
void shmem_barrier(int start, int log_stride, int size, long* sync);
void shmem_sync(int start, int log_stride, int size, long* sync);
int shmem_team_sync(shmem_team_t team);

#define AMITY_SHMEM_DECLARE_SET_COLLECTIVES(bits)                                                               \
  void shmem_broadcast##bits(void* dest, const void* source, size_t count, int root, int start, int log_stride, \
                             int size, long* sync);                                                             \
  void shmem_collect##bits(void* dest, const void* source, size_t count, int start, int log_stride, int size,   \
                           long* sync);                                                                         \
  void shmem_fcollect##bits(void* dest, const void* source, size_t count, int start, int log_stride, int size,  \
                            long* sync);                                                                        \
  void shmem_alltoall##bits(void* dest, const void* source, size_t count, int start, int log_stride, int size,  \
                            long* sync);                                                                        \
  void shmem_alltoalls##bits(void* dest, const void* source, ptrdiff_t dest_stride, ptrdiff_t source_stride,    \
                             size_t count, int start, int log_stride, int size, long* sync);
AMITY_SHMEM_DECLARE_SET_COLLECTIVES(32)
AMITY_SHMEM_DECLARE_SET_COLLECTIVES(64)
#undef AMITY_SHMEM_DECLARE_SET_COLLECTIVES

#define AMITY_SHMEM_DECLARE_TEAM_COLLECTIVES(type, name)                                                   \
  int shmem_##name##_broadcast(shmem_team_t team, type* dest, const type* source, size_t count, int root); \
  int shmem_##name##_collect(shmem_team_t team, type* dest, const type* source, size_t count);             \
  int shmem_##name##_fcollect(shmem_team_t team, type* dest, const type* source, size_t count);            \
  int shmem_##name##_alltoall(shmem_team_t team, type* dest, const type* source, size_t count);            \
  int shmem_##name##_alltoalls(shmem_team_t team, type* dest, const type* source, ptrdiff_t dest_stride,   \
                               ptrdiff_t source_stride, size_t count);
AMITY_SHMEM_RMA_TYPES(AMITY_SHMEM_DECLARE_TEAM_COLLECTIVES)
#undef AMITY_SHMEM_DECLARE_TEAM_COLLECTIVES
int shmem_broadcastmem(shmem_team_t team, void* dest, const void* source, size_t count, int root);
int shmem_collectmem(shmem_team_t team, void* dest, const void* source, size_t count);
int shmem_fcollectmem(shmem_team_t team, void* dest, const void* source, size_t count);
int shmem_alltoallmem(shmem_team_t team, void* dest, const void* source, size_t count);
int shmem_alltoallsmem(shmem_team_t team, void* dest, const void* source, ptrdiff_t dest_stride,
                       ptrdiff_t source_stride, size_t count);

#define AMITY_SHMEM_DECLARE_REDUCE(type, name, operation) \
  int shmem_##name##_##operation##_reduce(shmem_team_t team, type* dest, const type* source, size_t count);
#define AMITY_SHMEM_DECLARE_TO_ALL(type, name, operation)                                                        \
  void shmem_##name##_##operation##_to_all(type* dest, const type* source, int count, int start, int log_stride, \
                                           int size, type* work, long* sync);
#define AMITY_SHMEM_DECLARE_BITWISE(type, name) \
  AMITY_SHMEM_DECLARE_REDUCE(type, name, and)   \
  AMITY_SHMEM_DECLARE_REDUCE(type, name, or)    \
  AMITY_SHMEM_DECLARE_REDUCE(type, name, xor)
#define AMITY_SHMEM_DECLARE_ORDER(type, name) \
  AMITY_SHMEM_DECLARE_REDUCE(type, name, min) AMITY_SHMEM_DECLARE_REDUCE(type, name, max)
#define AMITY_SHMEM_DECLARE_SUM(type, name) \
  AMITY_SHMEM_DECLARE_REDUCE(type, name, sum) AMITY_SHMEM_DECLARE_REDUCE(type, name, prod)
AMITY_SHMEM_REDUCE_BITWISE_TYPES(AMITY_SHMEM_DECLARE_BITWISE)
AMITY_SHMEM_REDUCE_ORDER_TYPES(AMITY_SHMEM_DECLARE_ORDER)
AMITY_SHMEM_REDUCE_SUM_TYPES(AMITY_SHMEM_DECLARE_SUM)
#undef AMITY_SHMEM_DECLARE_REDUCE
#define AMITY_SHMEM_DECLARE_REDUCE AMITY_SHMEM_DECLARE_TO_ALL
AMITY_SHMEM_TO_ALL_BITWISE_TYPES(AMITY_SHMEM_DECLARE_BITWISE)
AMITY_SHMEM_TO_ALL_ORDER_TYPES(AMITY_SHMEM_DECLARE_ORDER)
AMITY_SHMEM_TO_ALL_SUM_TYPES(AMITY_SHMEM_DECLARE_SUM)
#undef AMITY_SHMEM_DECLARE_REDUCE
#undef AMITY_SHMEM_DECLARE_TO_ALL
#undef AMITY_SHMEM_DECLARE_BITWISE
#undef AMITY_SHMEM_DECLARE_ORDER
#undef AMITY_SHMEM_DECLARE_SUM

#ifdef __cplusplus
}
#endif

#endif
