#pragma once

/// shmemx_am_*: the engine under its public names, whatever library it is part of.
///
/// `Library` says where the engine is and what the library has beside it:
/// - `substrate`: what the engine is over.
/// - `messages(call)`: the engine; ends the job if there is none, before the beginning or after the end.
/// - `messages_to(call, pe)`: the same, if there is such a PE.
/// - `barrier(call)`: over all PEs; active messages that were sent before have been handled.
/// - `look()`: runs handlers for a program that calls this in a loop.
/// - `passed()`: a call that looks for messages has been made; whatever else needs a look at times gets it here.

#include <string>

#include "amity/interop/shmem/am/engine.hpp"
#include "amity/interop/shmem/declare/messages.h"

namespace amity::shmem {

template <class Library>
struct am_calls {
  static void attach(const char* call, int id, shmemx_am_handler handler) {
    auto& messages = Library::messages(call);
    const guard::inside alone(messages.threads());
    if (handler == nullptr) fail(call, "the handler of id " + std::to_string(id) + " is null", "give it a function");
    if (messages.handlers().find(id) != nullptr) {
      fail(call, "id " + std::to_string(id) + " is registered already", "detach it first, or use another id");
    }
    messages.handlers().add(id, handler);
  }

  static void detach(const char* call, int id) {
    auto& messages = Library::messages(call);
    const guard::inside alone(messages.threads());
    if (messages.handlers().find(id) == nullptr) {
      fail(call, "id " + std::to_string(id) + " is not registered", "attach it first");
    }
    messages.handlers().remove(id);
  }

  static void unlock(const char* call, shmemx_am_mutex& mutex) {
    auto& messages = Library::messages(call);
    messages.unlock(mutex);
    messages.poll();  // what was kept back
  }

 private:
  [[noreturn, gnu::cold]] static void fail(const char* call, const std::string& problem, const char* remedy) {
    Library::substrate::fail(call, problem.c_str(), remedy);
  }
};

}  // namespace amity::shmem

/// Defines them. For one source of each library.
#define AMITY_SHMEMX_DEFINE(Library)                                                                            \
  extern "C" {                                                                                                  \
  void shmemx_am_attach(int id, shmemx_am_handler handler) {                                                    \
    amity::shmem::am_calls<Library>::attach("shmemx_am_attach", id, handler);                                   \
    Library::barrier("shmemx_am_attach");                                                                       \
  }                                                                                                             \
  void shmemx_am_attach_local(int id, shmemx_am_handler handler) {                                              \
    amity::shmem::am_calls<Library>::attach("shmemx_am_attach_local", id, handler);                             \
  }                                                                                                             \
  void shmemx_am_detach(int id) { amity::shmem::am_calls<Library>::detach("shmemx_am_detach", id); }            \
  void shmemx_am_request(int dest, int id, const void* source, size_t bytes) {                                  \
    Library::messages_to("shmemx_am_request", dest).request(dest, id, source, bytes);                           \
    Library::passed();                                                                                          \
  }                                                                                                             \
  void shmemx_am_reply(int id, const void* source, size_t bytes, shmemx_am_token_t token) {                     \
    Library::messages("shmemx_am_reply").reply(id, source, bytes, token);                                       \
  }                                                                                                             \
  void shmemx_am_quiet() {                                                                                      \
    Library::messages("shmemx_am_quiet").quiet();                                                               \
    Library::passed();                                                                                          \
  }                                                                                                             \
  void shmemx_am_poll() {                                                                                       \
    Library::messages("shmemx_am_poll");                                                                        \
    Library::look();                                                                                            \
  }                                                                                                             \
  void shmemx_am_mutex_init(shmemx_am_mutex* mutex) { *mutex = 0; }                                             \
  void shmemx_am_mutex_destroy(shmemx_am_mutex* mutex) { *mutex = 0; }                                          \
  void shmemx_am_mutex_lock(shmemx_am_mutex* mutex) { Library::messages("shmemx_am_mutex_lock").lock(*mutex); } \
  int shmemx_am_mutex_trylock(shmemx_am_mutex* mutex) {                                                         \
    Library::passed();                                                                                          \
    return Library::messages("shmemx_am_mutex_trylock").try_lock(*mutex) ? 1 : 0;                               \
  }                                                                                                             \
  void shmemx_am_mutex_unlock(shmemx_am_mutex* mutex) {                                                         \
    amity::shmem::am_calls<Library>::unlock("shmemx_am_mutex_unlock", *mutex);                                  \
    Library::passed();                                                                                          \
  }                                                                                                             \
  }
