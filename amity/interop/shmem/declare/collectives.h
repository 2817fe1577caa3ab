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

#define AMITY_SHMEM_DECLARE_OVER_SET(name, ...)                                                                     \
  AMITY_SHMEM_DECLARE(void, name, void* dest, const void* source, __VA_ARGS__, int start, int log_stride, int size, \
                      long* sync)
#define AMITY_SHMEM_DECLARE_SET_COLLECTIVES(bits)                       \
  AMITY_SHMEM_DECLARE_OVER_SET(broadcast##bits, size_t count, int root) \
  AMITY_SHMEM_DECLARE_OVER_SET(collect##bits, size_t count)             \
  AMITY_SHMEM_DECLARE_OVER_SET(fcollect##bits, size_t count)            \
  AMITY_SHMEM_DECLARE_OVER_SET(alltoall##bits, size_t count)            \
  AMITY_SHMEM_DECLARE_OVER_SET(alltoalls##bits, ptrdiff_t dest_stride, ptrdiff_t source_stride, size_t count)

#define AMITY_SHMEM_DECLARE_OVER_TEAM(type, name, ...) \
  AMITY_SHMEM_DECLARE(int, name, shmem_team_t team, type* dest, const type* source, __VA_ARGS__)
#define AMITY_SHMEM_DECLARE_TEAM_COLLECTIVES(type, before, after)                                               \
  AMITY_SHMEM_DECLARE_OVER_TEAM(type, before##broadcast##after, size_t count, int root)                         \
  AMITY_SHMEM_DECLARE_OVER_TEAM(type, before##collect##after, size_t count)                                     \
  AMITY_SHMEM_DECLARE_OVER_TEAM(type, before##fcollect##after, size_t count)                                    \
  AMITY_SHMEM_DECLARE_OVER_TEAM(type, before##alltoall##after, size_t count)                                    \
  AMITY_SHMEM_DECLARE_OVER_TEAM(type, before##alltoalls##after, ptrdiff_t dest_stride, ptrdiff_t source_stride, \
                                size_t count)
#define AMITY_SHMEM_DECLARE_TYPE_COLLECTIVES(type, name) AMITY_SHMEM_DECLARE_TEAM_COLLECTIVES(type, name##_, )

#define AMITY_SHMEM_DECLARE_REDUCE(type, name, operation) \
  AMITY_SHMEM_DECLARE_OVER_TEAM(type, name##_##operation##_reduce, size_t count)
#define AMITY_SHMEM_DECLARE_TO_ALL(type, name, operation)                                                      \
  AMITY_SHMEM_DECLARE(void, name##_##operation##_to_all, type* dest, const type* source, int count, int start, \
                      int log_stride, int size, type* work, long* sync)
#define AMITY_SHMEM_DECLARE_REDUCE_BITWISE(type, name) AMITY_SHMEM_EACH_BITWISE(AMITY_SHMEM_DECLARE_REDUCE, type, name)
#define AMITY_SHMEM_DECLARE_REDUCE_ORDER(type, name) AMITY_SHMEM_EACH_ORDER(AMITY_SHMEM_DECLARE_REDUCE, type, name)
#define AMITY_SHMEM_DECLARE_REDUCE_SUM(type, name) AMITY_SHMEM_EACH_SUM(AMITY_SHMEM_DECLARE_REDUCE, type, name)
#define AMITY_SHMEM_DECLARE_TO_ALL_BITWISE(type, name) AMITY_SHMEM_EACH_BITWISE(AMITY_SHMEM_DECLARE_TO_ALL, type, name)
#define AMITY_SHMEM_DECLARE_TO_ALL_ORDER(type, name) AMITY_SHMEM_EACH_ORDER(AMITY_SHMEM_DECLARE_TO_ALL, type, name)
#define AMITY_SHMEM_DECLARE_TO_ALL_SUM(type, name) AMITY_SHMEM_EACH_SUM(AMITY_SHMEM_DECLARE_TO_ALL, type, name)

#define AMITY_SHMEM_DECLARE_COLLECTIVES                                \
  AMITY_SHMEM_DECLARE_SET_COLLECTIVES(32)                              \
  AMITY_SHMEM_DECLARE_SET_COLLECTIVES(64)                              \
  AMITY_SHMEM_RMA_TYPES(AMITY_SHMEM_DECLARE_TYPE_COLLECTIVES)          \
  AMITY_SHMEM_DECLARE_TEAM_COLLECTIVES(void, , mem)                    \
  AMITY_SHMEM_REDUCE_BITWISE_TYPES(AMITY_SHMEM_DECLARE_REDUCE_BITWISE) \
  AMITY_SHMEM_REDUCE_ORDER_TYPES(AMITY_SHMEM_DECLARE_REDUCE_ORDER)     \
  AMITY_SHMEM_REDUCE_SUM_TYPES(AMITY_SHMEM_DECLARE_REDUCE_SUM)         \
  AMITY_SHMEM_TO_ALL_BITWISE_TYPES(AMITY_SHMEM_DECLARE_TO_ALL_BITWISE) \
  AMITY_SHMEM_TO_ALL_ORDER_TYPES(AMITY_SHMEM_DECLARE_TO_ALL_ORDER)     \
  AMITY_SHMEM_TO_ALL_SUM_TYPES(AMITY_SHMEM_DECLARE_TO_ALL_SUM)
AMITY_SHMEM_DECLARE_COLLECTIVES

#ifdef __cplusplus
}

/* Overloads for complex numbers of C, which GCC and Clang offer in C++. They have the layout of std::complex. */
extern "C++" {
__extension__ typedef double _Complex amity_shmem_complexd;
__extension__ typedef float _Complex amity_shmem_complexf;
#define AMITY_SHMEM_OVERLOAD_COMPLEX(type, name, operation)                                                            \
  inline int shmem_##name##_##operation##_reduce(shmem_team_t team, amity_shmem_##name* dest,                          \
                                                 const amity_shmem_##name* source, size_t count) {                     \
    return shmem_##name##_##operation##_reduce(team, reinterpret_cast<std::complex<type>*>(dest),                      \
                                               reinterpret_cast<const std::complex<type>*>(source), count);            \
  }                                                                                                                    \
  inline void shmem_##name##_##operation##_to_all(amity_shmem_##name* dest, const amity_shmem_##name* source,          \
                                                  int count, int start, int log_stride, int size,                      \
                                                  amity_shmem_##name* work, long* sync) {                              \
    shmem_##name##_##operation##_to_all(reinterpret_cast<std::complex<type>*>(dest),                                   \
                                        reinterpret_cast<const std::complex<type>*>(source), count, start, log_stride, \
                                        size, reinterpret_cast<std::complex<type>*>(work), sync);                      \
  }
AMITY_SHMEM_EACH_SUM(AMITY_SHMEM_OVERLOAD_COMPLEX, double, complexd)
AMITY_SHMEM_EACH_SUM(AMITY_SHMEM_OVERLOAD_COMPLEX, float, complexf)
}
#endif

#endif
