/// Waiting for what others write to this PE's memory: handlers run meanwhile.

#include <string>

#include "amity/interop/shmem/addon/job.hpp"
#include "amity/interop/shmem/declare/type_lists.h"

using namespace amity::shmem::addon;

namespace {

/// Programs that test in a loop make progress by that.
void look() {
  if (self.joined != nullptr) self.joined->look();
}

/// Ends the job if it would wait inside a handler. The other library's own beginning and end may wait, too.
template <class Ready>
void wait(const char* call, Ready ready) {
  if (self.joined != nullptr) {
    if (ready()) return;
    if (self.joined->messages().in_handler()) {
      fail(call, "it would wait inside a handler, where no other handler runs",
           "wait outside of handlers; use shmem_test inside them");
    }
    return self.joined->wait(ready, [&] { return std::string(call) + ": the variable is to change"; });
  }
  while (!ready()) {
  }
}

}  // namespace

#define DEFINE_WAITS(type, name)                                                                                \
  AMITY_SHMEM_PROFILING(name##_test);                                                                           \
  extern "C" void shmem_##name##_wait_until(volatile type* variable, int comparison, type value) {              \
    wait("shmem_" #name "_wait_until", [&] { return pshmem_##name##_test(variable, comparison, value) != 0; }); \
  }                                                                                                             \
  extern "C" int shmem_##name##_test(volatile type* variable, int comparison, type value) {                     \
    look();                                                                                                     \
    return pshmem_##name##_test(variable, comparison, value);                                                   \
  }
AMITY_SHMEM_WAIT_TYPES(DEFINE_WAITS)

// Where the other library still has them.
#define DEFINE_OLD_WAIT(type, name)                                          \
  extern "C" void shmem_##name##_wait(volatile type* variable, type value) { \
    shmem_##name##_wait_until(variable, SHMEM_CMP_NE, value);                \
  }
DEFINE_OLD_WAIT(short, short)
DEFINE_OLD_WAIT(int, int)
DEFINE_OLD_WAIT(long, long)
DEFINE_OLD_WAIT(long long, longlong)
extern "C" void shmem_wait(volatile long* variable, long value) { shmem_long_wait(variable, value); }
