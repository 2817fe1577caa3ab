#ifndef AMITY_INTEROP_SHMEM_SETUP_H
#define AMITY_INTEROP_SHMEM_SETUP_H

/* Beginning and end, who is there, symmetric memory, contexts and teams. */

#include "amity/interop/shmem/declare/types.h"

#ifdef __cplusplus
extern "C" {
#endif

void shmem_init(void);
int shmem_init_thread(int requested, int* provided);
void shmem_query_thread(int* provided);
void shmem_finalize(void);
void shmem_global_exit(int status) __attribute__((noreturn));

int shmem_my_pe(void);
int shmem_n_pes(void);
void shmem_info_get_version(int* major, int* minor);
void shmem_info_get_name(char* name);
int shmem_pe_accessible(int pe);
int shmem_addr_accessible(const void* address, int pe);
void* shmem_ptr(const void* dest, int pe);
void shmem_pcontrol(int level, ...);

void* shmem_malloc(size_t size);
void* shmem_malloc_with_hints(size_t size, long hints);
void* shmem_calloc(size_t count, size_t size);
void* shmem_align(size_t alignment, size_t size);
void* shmem_realloc(void* pointer, size_t size);
void shmem_free(void* pointer);

int shmem_ctx_create(long options, shmem_ctx_t* context);
int shmem_team_create_ctx(shmem_team_t team, long options, shmem_ctx_t* context);
void shmem_ctx_destroy(shmem_ctx_t context);
int shmem_ctx_get_team(shmem_ctx_t context, shmem_team_t* team);

int shmem_team_my_pe(shmem_team_t team);
int shmem_team_n_pes(shmem_team_t team);
int shmem_team_get_config(shmem_team_t team, long mask, shmem_team_config_t* config);
int shmem_team_translate_pe(shmem_team_t source, int pe, shmem_team_t dest);
int shmem_team_split_strided(shmem_team_t parent, int start, int stride, int size, const shmem_team_config_t* config,
                             long mask, shmem_team_t* team);
int shmem_team_split_2d(shmem_team_t parent, int columns, const shmem_team_config_t* x_config, long x_mask,
                        shmem_team_t* x_team, const shmem_team_config_t* y_config, long y_mask, shmem_team_t* y_team);
void* shmem_team_ptr(shmem_team_t team, const void* dest, int pe);
void shmem_team_destroy(shmem_team_t team);

/* Names of old. */
void start_pes(int unused);
int _my_pe(void);
int _num_pes(void);
void* shmalloc(size_t size);
void* shmemalign(size_t alignment, size_t size);
void* shrealloc(void* pointer, size_t size);
void shfree(void* pointer);
void shmem_set_cache_inv(void);
void shmem_clear_cache_inv(void);
void shmem_set_cache_line_inv(void* dest);
void shmem_clear_cache_line_inv(void* dest);
void shmem_udcflush(void);
void shmem_udcflush_line(void* dest);

#ifdef __cplusplus
}
#endif

#endif
