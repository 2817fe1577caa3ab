/// shmemx_am_*: the engine under its public names.

#include <fmt/format.h>

#include "amity/interop/shmem/group.hpp"
#include "amity/interop/shmem/include/shmemx.h"
#include "amity/interop/shmem/job.hpp"

using namespace amity::shmem;

namespace {

auto& engine(const char* call) { return running(call).messages(); }

void attach(const char* call, int id, shmemx_am_handler handler) {
  const guard::inside alone(engine(call).threads());
  auto& handlers = engine(call).handlers();
  if (handler == nullptr) fail(call, fmt::format("the handler of id {} is null", id).c_str(), "give it a function");
  if (handlers.find(id) != nullptr) {
    fail(call, fmt::format("id {} is registered already", id).c_str(), "detach it first, or use another id");
  }
  handlers.add(id, handler);
}

}  // namespace

extern "C" {

void shmemx_am_attach(int id, shmemx_am_handler handler) {
  attach("shmemx_am_attach", id, handler);
  barrier(world());
}

void shmemx_am_attach_local(int id, shmemx_am_handler handler) { attach("shmemx_am_attach_local", id, handler); }

void shmemx_am_detach(int id) {
  const guard::inside alone(engine("shmemx_am_detach").threads());
  auto& handlers = engine("shmemx_am_detach").handlers();
  if (handlers.find(id) == nullptr) {
    fail("shmemx_am_detach", fmt::format("id {} is not registered", id).c_str(), "attach it first");
  }
  handlers.remove(id);
}

void shmemx_am_request(int dest, int id, const void* source, size_t bytes) {
  check_pe("shmemx_am_request", dest);
  self.joined->messages().request(dest, id, source, bytes);
  seldom_network_progress();
}

void shmemx_am_reply(int id, const void* source, size_t bytes, shmemx_am_token_t token) {
  engine("shmemx_am_reply").reply(id, source, bytes, token);
}

void shmemx_am_quiet() {
  engine("shmemx_am_quiet").quiet();
  seldom_network_progress();
}

void shmemx_am_poll() { running("shmemx_am_poll").look(); }

void shmemx_am_mutex_init(shmemx_am_mutex* mutex) { *mutex = 0; }

void shmemx_am_mutex_destroy(shmemx_am_mutex* mutex) { *mutex = 0; }

void shmemx_am_mutex_lock(shmemx_am_mutex* mutex) { engine("shmemx_am_mutex_lock").lock(*mutex); }

int shmemx_am_mutex_trylock(shmemx_am_mutex* mutex) {
  seldom_network_progress();
  return engine("shmemx_am_mutex_trylock").try_lock(*mutex) ? 1 : 0;
}

void shmemx_am_mutex_unlock(shmemx_am_mutex* mutex) {
  auto& messages = engine("shmemx_am_mutex_unlock");
  messages.unlock(*mutex);
  messages.poll();  // what was kept back
  seldom_network_progress();
}
}
