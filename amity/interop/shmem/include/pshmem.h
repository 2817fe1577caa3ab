#ifndef AMITY_PSHMEM_H
#define AMITY_PSHMEM_H

/* The functions of shmem.h under their profiling names: a tool defines shmem_put, and calls pshmem_put in it. */

#include "amity/interop/shmem/include/shmem.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A function of the same type as the one without the `p`. */
#define AMITY_PSHMEM(name) extern __typeof__(shmem_##name) pshmem_##name;
#define AMITY_PSHMEM_5(a, b, c, d, e) AMITY_PSHMEM(a) AMITY_PSHMEM(b) AMITY_PSHMEM(c) AMITY_PSHMEM(d) AMITY_PSHMEM(e)
AMITY_PSHMEM_5(init, init_thread, query_thread, finalize, global_exit)
AMITY_PSHMEM_5(my_pe, n_pes, info_get_version, info_get_name, pcontrol)
AMITY_PSHMEM_5(pe_accessible, addr_accessible, ptr, malloc, malloc_with_hints)
AMITY_PSHMEM_5(calloc, align, realloc, free, ctx_create)
AMITY_PSHMEM_5(team_create_ctx, ctx_destroy, ctx_get_team, team_my_pe, team_n_pes)
AMITY_PSHMEM_5(team_get_config, team_translate_pe, team_split_strided, team_split_2d, team_destroy)
AMITY_PSHMEM_5(set_cache_inv, clear_cache_inv, set_cache_line_inv, clear_cache_line_inv, udcflush)
AMITY_PSHMEM_5(fence, quiet, ctx_fence, ctx_quiet, udcflush_line)
AMITY_PSHMEM(team_ptr)
AMITY_PSHMEM_5(barrier_all, sync_all, barrier, sync, team_sync)
AMITY_PSHMEM_5(signal_wait_until, wait, set_lock, clear_lock, test_lock)
AMITY_PSHMEM(signal_fetch)

/* The functions that the other headers declare in families. */
#undef AMITY_SHMEM_DECLARE
#undef AMITY_SHMEM_DECLARE_BOTH
#define AMITY_SHMEM_DECLARE(Result, name, ...) Result pshmem_##name(__VA_ARGS__);
#define AMITY_SHMEM_DECLARE_BOTH(Result, name, ...) \
  Result pshmem_##name(__VA_ARGS__);                \
  Result pshmem_ctx_##name(shmem_ctx_t context, __VA_ARGS__);
AMITY_SHMEM_DECLARE_ATOMICS
AMITY_SHMEM_DECLARE_COLLECTIVES
AMITY_SHMEM_DECLARE_TRANSFERS
AMITY_SHMEM_WAIT_TYPES(AMITY_SHMEM_DECLARE_WAITS)

#ifdef __cplusplus
}
#endif

#endif
