/// shmemx_am_*: active messages as an addition to another library.

#include "amity/interop/shmem/addon/include/shmemx.h"
#include "amity/interop/shmem/addon/job.hpp"
#include "amity/interop/shmem/am/calls.hpp"

using namespace amity::shmem::addon;

namespace {

struct other_library {
  using substrate = public_substrate;

  static auto& messages(const char* call) { return running(call).messages(); }
  static auto& messages_to(const char* call, int pe) {
    check_pe(call, pe);
    return self.joined->messages();
  }
  static void barrier(const char* call) { self.joined->barrier_all(call); }
  static void look() { self.joined->look(); }
  static void passed() {}
};

}  // namespace

AMITY_SHMEMX_DEFINE(other_library)
