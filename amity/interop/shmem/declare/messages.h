#ifndef AMITY_INTEROP_SHMEM_MESSAGES_H
#define AMITY_INTEROP_SHMEM_MESSAGES_H

/* Active messages, after Jana et al., "Increasing Computational Asynchrony in OpenSHMEM with Active Messages".

   A handler runs on the PE that a request was sent to, inside a call of this library there; it may reply once. Where
   the paper leaves a choice, docs/openshmem.md says what holds here. */

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Names a request to its handler; valid while that runs. */
typedef void* shmemx_am_token_t;
typedef shmemx_am_token_t shmemx_am_token;

typedef void (*shmemx_am_handler)(void* buffer, size_t bytes, int source_pe, shmemx_am_token_t token);
typedef shmemx_am_handler shmemx_am_handler_t;
typedef shmemx_am_handler shmemx_am_handler_w_token;

/* Unlocked where it is zero. */
typedef long shmemx_am_mutex;
typedef shmemx_am_mutex shmemx_am_mutex_t;

/* All PEs: from the return on, `id` names `handler` on this PE. */
void shmemx_am_attach(int id, shmemx_am_handler handler);
/* The same for one PE, which sees to it that no request comes too early. */
void shmemx_am_attach_local(int id, shmemx_am_handler handler);
void shmemx_am_detach(int id);

/* Returns when the source may be changed. Not from a handler. */
void shmemx_am_request(int dest, int id, const void* source, size_t bytes);
/* At most once, from the handler of a request. */
void shmemx_am_reply(int id, const void* source, size_t bytes, shmemx_am_token_t token);

/* Until the handlers of all requests of this PE have run, and those of the replies to them. */
void shmemx_am_quiet(void);
void shmemx_am_poll(void);

/* No handler runs on a PE that holds a mutex, or waits for one. */
void shmemx_am_mutex_init(shmemx_am_mutex* mutex);
void shmemx_am_mutex_destroy(shmemx_am_mutex* mutex);
void shmemx_am_mutex_lock(shmemx_am_mutex* mutex);
void shmemx_am_mutex_unlock(shmemx_am_mutex* mutex);
int shmemx_am_mutex_trylock(shmemx_am_mutex* mutex);

#ifdef __cplusplus
}
#endif

#endif
