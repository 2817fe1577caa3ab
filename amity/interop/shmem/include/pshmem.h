#ifndef AMITY_PSHMEM_H
#define AMITY_PSHMEM_H

/* The functions of shmem.h under their profiling names: a tool defines shmem_put, and calls pshmem_put in it. */

#include "amity/interop/shmem/include/shmem.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A function of the same type as the one without the `p`. */
#define AMITY_PSHMEM(name) extern __typeof__(shmem_##name) pshmem_##name;
#define AMITY_PSHMEM_BOTH(name) AMITY_PSHMEM(name) AMITY_PSHMEM(ctx_##name)
#define AMITY_PSHMEM_5(X, a, b, c, d, e) X(a) X(b) X(c) X(d) X(e)

/* setup.h */
AMITY_PSHMEM_5(AMITY_PSHMEM, init, init_thread, query_thread, finalize, global_exit)
AMITY_PSHMEM_5(AMITY_PSHMEM, my_pe, n_pes, info_get_version, info_get_name, pcontrol)
AMITY_PSHMEM_5(AMITY_PSHMEM, pe_accessible, addr_accessible, ptr, malloc, malloc_with_hints)
AMITY_PSHMEM_5(AMITY_PSHMEM, calloc, align, realloc, free, ctx_create)
AMITY_PSHMEM_5(AMITY_PSHMEM, team_create_ctx, ctx_destroy, ctx_get_team, team_my_pe, team_n_pes)
AMITY_PSHMEM_5(AMITY_PSHMEM, team_get_config, team_translate_pe, team_split_strided, team_split_2d, team_destroy)
AMITY_PSHMEM_5(AMITY_PSHMEM, set_cache_inv, clear_cache_inv, set_cache_line_inv, clear_cache_line_inv, udcflush)
AMITY_PSHMEM(udcflush_line)

/* transfers.h */
#define AMITY_PSHMEM_BLOCKS(put, get) \
  AMITY_PSHMEM_BOTH(put)              \
  AMITY_PSHMEM_BOTH(get)              \
  AMITY_PSHMEM_BOTH(put##_nbi)        \
  AMITY_PSHMEM_BOTH(get##_nbi)        \
  AMITY_PSHMEM_BOTH(put##_signal)     \
  AMITY_PSHMEM_BOTH(put##_signal_nbi)
#define AMITY_PSHMEM_RMA(type, name)          \
  AMITY_PSHMEM_BLOCKS(name##_put, name##_get) \
  AMITY_PSHMEM_BOTH(name##_iput)              \
  AMITY_PSHMEM_BOTH(name##_iget)              \
  AMITY_PSHMEM_BOTH(name##_p)                 \
  AMITY_PSHMEM_BOTH(name##_g)
#define AMITY_PSHMEM_BITS(bits, bytes)      \
  AMITY_PSHMEM_BLOCKS(put##bits, get##bits) \
  AMITY_PSHMEM_BOTH(iput##bits)             \
  AMITY_PSHMEM_BOTH(iget##bits)
AMITY_PSHMEM_BOTH(fence)
AMITY_PSHMEM_BOTH(quiet)
AMITY_PSHMEM(signal_fetch)
AMITY_PSHMEM_BLOCKS(putmem, getmem)
AMITY_SHMEM_RMA_TYPES(AMITY_PSHMEM_RMA)
AMITY_SHMEM_SIZES(AMITY_PSHMEM_BITS)

/* atomics.h */
#define AMITY_PSHMEM_SWAPS(type, name)       \
  AMITY_PSHMEM_BOTH(name##_atomic_fetch)     \
  AMITY_PSHMEM_BOTH(name##_atomic_set)       \
  AMITY_PSHMEM_BOTH(name##_atomic_swap)      \
  AMITY_PSHMEM_BOTH(name##_atomic_fetch_nbi) \
  AMITY_PSHMEM_BOTH(name##_atomic_swap_nbi)  \
  AMITY_PSHMEM(name##_fetch)                 \
  AMITY_PSHMEM(name##_set)                   \
  AMITY_PSHMEM(name##_swap)
#define AMITY_PSHMEM_ARITHMETIC(type, name)         \
  AMITY_PSHMEM_BOTH(name##_atomic_compare_swap)     \
  AMITY_PSHMEM_BOTH(name##_atomic_fetch_add)        \
  AMITY_PSHMEM_BOTH(name##_atomic_fetch_inc)        \
  AMITY_PSHMEM_BOTH(name##_atomic_add)              \
  AMITY_PSHMEM_BOTH(name##_atomic_inc)              \
  AMITY_PSHMEM_BOTH(name##_atomic_compare_swap_nbi) \
  AMITY_PSHMEM_BOTH(name##_atomic_fetch_add_nbi)    \
  AMITY_PSHMEM_BOTH(name##_atomic_fetch_inc_nbi)    \
  AMITY_PSHMEM_5(AMITY_PSHMEM, name##_cswap, name##_fadd, name##_finc, name##_add, name##_inc)
#define AMITY_PSHMEM_BITWISE_OF(name, operation)     \
  AMITY_PSHMEM_BOTH(name##_atomic_##operation)       \
  AMITY_PSHMEM_BOTH(name##_atomic_fetch_##operation) \
  AMITY_PSHMEM_BOTH(name##_atomic_fetch_##operation##_nbi)
#define AMITY_PSHMEM_BITWISE(type, name) \
  AMITY_PSHMEM_BITWISE_OF(name, and) AMITY_PSHMEM_BITWISE_OF(name, or) AMITY_PSHMEM_BITWISE_OF(name, xor)
AMITY_SHMEM_SWAP_TYPES(AMITY_PSHMEM_SWAPS)
AMITY_SHMEM_WIDE_INTEGERS(AMITY_PSHMEM_ARITHMETIC)
AMITY_SHMEM_BITWISE_TYPES(AMITY_PSHMEM_BITWISE)

/* collectives.h */
#define AMITY_PSHMEM_MOVES(before, after)                                                                 \
  AMITY_PSHMEM_5(AMITY_PSHMEM, before##broadcast##after, before##collect##after, before##fcollect##after, \
                 before##alltoall##after, before##alltoalls##after)
#define AMITY_PSHMEM_TEAM_MOVES(type, name) AMITY_PSHMEM_MOVES(name##_, )
#define AMITY_PSHMEM_BITS_TO(name, to) \
  AMITY_PSHMEM(name##_and_##to) AMITY_PSHMEM(name##_or_##to) AMITY_PSHMEM(name##_xor_##to)
#define AMITY_PSHMEM_REDUCE_BITS(type, name) AMITY_PSHMEM_BITS_TO(name, reduce)
#define AMITY_PSHMEM_REDUCE_ORDER(type, name) AMITY_PSHMEM(name##_min_reduce) AMITY_PSHMEM(name##_max_reduce)
#define AMITY_PSHMEM_REDUCE_SUM(type, name) AMITY_PSHMEM(name##_sum_reduce) AMITY_PSHMEM(name##_prod_reduce)
#define AMITY_PSHMEM_TO_ALL_BITS(type, name) AMITY_PSHMEM_BITS_TO(name, to_all)
#define AMITY_PSHMEM_TO_ALL_ORDER(type, name) AMITY_PSHMEM(name##_min_to_all) AMITY_PSHMEM(name##_max_to_all)
#define AMITY_PSHMEM_TO_ALL_SUM(type, name) AMITY_PSHMEM(name##_sum_to_all) AMITY_PSHMEM(name##_prod_to_all)
AMITY_PSHMEM_5(AMITY_PSHMEM, barrier_all, sync_all, barrier, sync, team_sync)
AMITY_PSHMEM_MOVES(, 32)
AMITY_PSHMEM_MOVES(, 64)
AMITY_PSHMEM_MOVES(, mem)
AMITY_SHMEM_RMA_TYPES(AMITY_PSHMEM_TEAM_MOVES)
AMITY_SHMEM_REDUCE_BITWISE_TYPES(AMITY_PSHMEM_REDUCE_BITS)
AMITY_SHMEM_REDUCE_ORDER_TYPES(AMITY_PSHMEM_REDUCE_ORDER)
AMITY_SHMEM_REDUCE_SUM_TYPES(AMITY_PSHMEM_REDUCE_SUM)
AMITY_SHMEM_TO_ALL_BITWISE_TYPES(AMITY_PSHMEM_TO_ALL_BITS)
AMITY_SHMEM_TO_ALL_ORDER_TYPES(AMITY_PSHMEM_TO_ALL_ORDER)
AMITY_SHMEM_TO_ALL_SUM_TYPES(AMITY_PSHMEM_TO_ALL_SUM)

/* waiting.h */
#define AMITY_PSHMEM_ON_MANY(name) AMITY_PSHMEM(name) AMITY_PSHMEM(name##_vector)
#define AMITY_PSHMEM_WAITS(type, name)         \
  AMITY_PSHMEM(name##_wait)                    \
  AMITY_PSHMEM(name##_wait_until)              \
  AMITY_PSHMEM(name##_test)                    \
  AMITY_PSHMEM_ON_MANY(name##_wait_until_all)  \
  AMITY_PSHMEM_ON_MANY(name##_wait_until_any)  \
  AMITY_PSHMEM_ON_MANY(name##_wait_until_some) \
  AMITY_PSHMEM_ON_MANY(name##_test_all)        \
  AMITY_PSHMEM_ON_MANY(name##_test_any)        \
  AMITY_PSHMEM_ON_MANY(name##_test_some)
AMITY_PSHMEM_5(AMITY_PSHMEM, signal_wait_until, wait, set_lock, clear_lock, test_lock)
AMITY_SHMEM_WAIT_TYPES(AMITY_PSHMEM_WAITS)

#ifdef __cplusplus
}
#endif

#endif
