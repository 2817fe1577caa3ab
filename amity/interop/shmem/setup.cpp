/// Beginning and end of a PE, and who is there.

#include <stdlib.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <exception>

#include "amity/base/error.hpp"
#include "amity/interop/shmem/group.hpp"
#include "amity/interop/shmem/include/mpp/shmem.h"
#include "amity/interop/shmem/include/pshmem.h"
#include "amity/interop/shmem/job.hpp"

using namespace amity::shmem;

namespace {

void end() {
  job& joined = running("shmem_finalize");
  barrier("shmem_finalize", world());
  delete &joined;
}

/// A program that returns from main has come to its end. One that fails leaves the rest to the launcher, and a child
/// that a PE has forked to the PE.
void at_exit(int status, void*) {
  if (status == 0 && self.now == phase::running && self.pid == ::getpid()) end();
}

void begin(const char* call, int threads = SHMEM_THREAD_SINGLE) {
  if (self.now == phase::running) return;
  if (self.now == phase::after) fail(call, "it is called after shmem_finalize", "call it once in a program");
  try {
    new job(threads == SHMEM_THREAD_MULTIPLE);  // deleted when it ends; until then `self` knows it
  } catch (const std::exception& mistake) {
    std::fprintf(stderr, "%s\n", mistake.what());
    ::_exit(1);
  }
  self.now = phase::running;
  self.pid = ::getpid();
  self.threads = threads == SHMEM_THREAD_MULTIPLE ? SHMEM_THREAD_MULTIPLE : SHMEM_THREAD_SERIALIZED;
  ::on_exit(at_exit, nullptr);
}

}  // namespace

AMITY_SHMEM_DEFINE(void, init, ()) { begin("shmem_init"); }

AMITY_SHMEM_DEFINE(void, query_thread, (int* provided)) { *provided = self.threads; }

AMITY_SHMEM_DEFINE(int, init_thread, (int requested, int* provided)) {
  begin("shmem_init_thread", requested);
  pshmem_query_thread(provided);
  return requested <= self.threads ? 0 : 1;
}

AMITY_SHMEM_DEFINE(void, finalize, ()) {
  if (self.now == phase::after) return;
  end();
}

AMITY_SHMEM_DEFINE(void, global_exit, (int status)) {
  job& joined = running("shmem_global_exit");
  std::fflush(nullptr);
  if (status == 0) joined.end_successfully();
  joined.abort();
  ::_exit(status);
}

AMITY_SHMEM_DEFINE(int, my_pe, ()) {
  running("shmem_my_pe");
  return self.me;
}

AMITY_SHMEM_DEFINE(int, n_pes, ()) {
  running("shmem_n_pes");
  return self.pes;
}

AMITY_SHMEM_DEFINE(void, info_get_version, (int* major, int* minor)) {
  *major = SHMEM_MAJOR_VERSION;
  *minor = SHMEM_MINOR_VERSION;
}

AMITY_SHMEM_DEFINE(void, info_get_name, (char* name)) { std::strcpy(name, SHMEM_VENDOR_STRING); }

AMITY_SHMEM_DEFINE(void, pcontrol, (int, ...)) {}

AMITY_SHMEM_DEFINE(int, pe_accessible, (int pe)) {
  running("shmem_pe_accessible");
  return pe >= 0 && pe < self.pes ? 1 : 0;
}

AMITY_SHMEM_DEFINE(int, addr_accessible, (const void* address, int pe)) {
  running("shmem_addr_accessible");
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  return pe >= 0 && pe < self.pes && (self.heap.holds(at) || self.statics.holds(at)) ? 1 : 0;
}

// Null for PEs of other nodes.
AMITY_SHMEM_DEFINE(void*, ptr, (const void* dest, int pe)) {
  return pshmem_addr_accessible(dest, pe) != 0 ? const_cast<void*>(reach("shmem_ptr", dest, pe)) : nullptr;
}

AMITY_SHMEM_DEFINE(void*, team_ptr, (shmem_team_t team, const void* dest, int pe)) {
  if (team == SHMEM_TEAM_INVALID) return nullptr;
  const group all = team_of("shmem_team_ptr", team);
  return pe >= 0 && pe < all.size ? pshmem_ptr(dest, all.world_pe(pe)) : nullptr;
}

extern "C" {
void start_pes(int) { begin("start_pes"); }
int _my_pe() { return pshmem_my_pe(); }
int _num_pes() { return pshmem_n_pes(); }
}

// Caches are coherent.
AMITY_SHMEM_DEFINE(void, set_cache_inv, ()) {}
AMITY_SHMEM_DEFINE(void, clear_cache_inv, ()) {}
AMITY_SHMEM_DEFINE(void, set_cache_line_inv, (void*)) {}
AMITY_SHMEM_DEFINE(void, clear_cache_line_inv, (void*)) {}
AMITY_SHMEM_DEFINE(void, udcflush, ()) {}
AMITY_SHMEM_DEFINE(void, udcflush_line, (void*)) {}
