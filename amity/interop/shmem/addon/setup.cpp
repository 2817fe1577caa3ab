/// Beginning and end of a PE.

#include <stdlib.h>

#include "amity/interop/shmem/addon/job.hpp"

AMITY_SHMEM_PROFILING(init);
AMITY_SHMEM_PROFILING(init_thread);
AMITY_SHMEM_PROFILING(finalize);
AMITY_SHMEM_PROFILING(my_pe);
AMITY_SHMEM_PROFILING(n_pes);

using namespace amity::shmem::addon;

namespace {

void end() {
  self.joined->barrier_all("shmem_finalize");
  delete self.joined;  // its memory goes with the heap
  self.joined = nullptr;
  delete[] self.peers;
  self.peers = nullptr;
  self.pes = 0;
  self.now = phase::after;
}

/// A program that returns from main has come to its end. One that fails leaves the rest to the launcher.
void at_exit(int status, void*) {
  if (status == 0 && self.now == phase::running) end();
}

/// As of programs of amity's own, whose table of settings is not here.
std::uint64_t stall_seconds() {
  constexpr std::uint64_t usual = 30, most = 86400;
  const char* const given = ::getenv("AMITY_CORE_STALL_SECONDS");
  if (given == nullptr || *given < '0' || *given > '9') return usual;
  char* end = nullptr;
  const std::uint64_t seconds = ::strtoul(given, &end, 10);
  return *end == '\0' && seconds <= most ? seconds : usual;
}

/// The other library has begun.
void begin(bool threads) {
  if (self.now != phase::before) return;
  self.me = pshmem_my_pe();
  self.pes = pshmem_n_pes();
  self.peers = new peer_memory[static_cast<std::size_t>(self.pes)];  // deleted when it ends, as the next one
  self.stall_ns = stall_seconds() * 1'000'000'000;
  self.joined = new job(threads);
  self.now = phase::running;
  ::on_exit(at_exit, nullptr);
}

}  // namespace

extern "C" {

void shmem_init() {
  pshmem_init();
  begin(false);
}

int shmem_init_thread(int requested, int* provided) {
  const int status = pshmem_init_thread(requested, provided);
  begin(*provided == SHMEM_THREAD_MULTIPLE);
  return status;
}

void start_pes(int) { shmem_init(); }

void shmem_finalize() {
  if (self.now == phase::running) end();
  pshmem_finalize();
}
}
