#include "amity/interop/shmem/addon/process.hpp"

#include <unistd.h>

#include <cstdio>
#include <string>

#include "amity/interop/shmem/addon/job.hpp"

AMITY_SHMEM_PROFILING(global_exit);

namespace amity::shmem::addon {

constinit process self;

void fail(const char* call, const char* problem, const char* remedy) {
  std::fflush(stdout);
  const std::string rank = self.me < 0 ? "" : " (rank " + std::to_string(self.me) + ")";
  std::fprintf(stderr, "amity: %s%s: %s; %s\n", call, rank.c_str(), problem, remedy);
  std::fflush(nullptr);
  if (self.joined != nullptr) pshmem_global_exit(1);
  ::_exit(1);
}

void fail_outside(const char* call) {
  if (self.now == phase::before) {
    fail(call, "it is called before shmem_init",
         "call shmem_init first, and link amity_shmemx in front of the library of OpenSHMEM");
  }
  fail(call, "it is called after shmem_finalize", "call shmem_finalize last");
}

void fail_pe(const char* call, int pe) {
  if (self.pes == 0) fail_outside(call);
  fail(call, ("there is no PE " + std::to_string(pe)).c_str(), ("use 0 to " + std::to_string(self.pes - 1)).c_str());
}

void report_stall(double seconds, const std::string& waits_for) {
  std::fprintf(stderr, "amity: rank %d: no progress for %.0f s in %s\n", self.me, seconds, waits_for.c_str());
}

void progress() {
  if (self.joined != nullptr) self.joined->look_seldom();
}

}  // namespace amity::shmem::addon
