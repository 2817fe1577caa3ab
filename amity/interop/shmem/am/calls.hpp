#pragma once

/// shmemx_am_*: the engine under its public names, whatever library it is part of.

#include "amity/interop/shmem/declare/messages.h"

/// Defines them. For one source of each library, which uses the namespace of its process: `self`, `running`,
/// `check_pe`.
/// - `barrier`: over all PEs; active messages that were sent before have been handled.
/// - `passed`: a call that looks for messages has been made; whatever else needs a look at times gets it here.
#define AMITY_SHMEMX_DEFINE(barrier, passed)                                                                     \
  extern "C" {                                                                                                   \
  void shmemx_am_attach(int id, shmemx_am_handler handler) {                                                     \
    running("shmemx_am_attach").messages().attach("shmemx_am_attach", id, handler);                              \
    barrier;                                                                                                     \
  }                                                                                                              \
  void shmemx_am_attach_local(int id, shmemx_am_handler handler) {                                               \
    running("shmemx_am_attach_local").messages().attach("shmemx_am_attach_local", id, handler);                  \
  }                                                                                                              \
  void shmemx_am_detach(int id) { running("shmemx_am_detach").messages().detach(id); }                           \
  void shmemx_am_request(int dest, int id, const void* source, size_t bytes) {                                   \
    check_pe("shmemx_am_request", dest);                                                                         \
    self.joined->messages().request(dest, id, source, bytes);                                                    \
    passed;                                                                                                      \
  }                                                                                                              \
  void shmemx_am_reply(int id, const void* source, size_t bytes, shmemx_am_token_t token) {                      \
    running("shmemx_am_reply").messages().reply(id, source, bytes, token);                                       \
  }                                                                                                              \
  void shmemx_am_quiet() {                                                                                       \
    running("shmemx_am_quiet").messages().quiet();                                                               \
    passed;                                                                                                      \
  }                                                                                                              \
  void shmemx_am_poll() { running("shmemx_am_poll").look(); }                                                    \
  void shmemx_am_mutex_init(shmemx_am_mutex* mutex) { *mutex = 0; }                                              \
  void shmemx_am_mutex_destroy(shmemx_am_mutex* mutex) { *mutex = 0; }                                           \
  void shmemx_am_mutex_lock(shmemx_am_mutex* mutex) { running("shmemx_am_mutex_lock").messages().lock(*mutex); } \
  int shmemx_am_mutex_trylock(shmemx_am_mutex* mutex) {                                                          \
    passed;                                                                                                      \
    return running("shmemx_am_mutex_trylock").messages().try_lock(*mutex) ? 1 : 0;                               \
  }                                                                                                              \
  void shmemx_am_mutex_unlock(shmemx_am_mutex* mutex) {                                                          \
    running("shmemx_am_mutex_unlock").messages().unlock(*mutex);                                                 \
    passed;                                                                                                      \
  }                                                                                                              \
  }
