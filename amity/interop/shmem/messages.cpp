/// shmemx_am_*: active messages as part of this library.

#include "amity/interop/shmem/am/calls.hpp"
#include "amity/interop/shmem/group.hpp"
#include "amity/interop/shmem/include/shmemx.h"
#include "amity/interop/shmem/job.hpp"

using namespace amity::shmem;

namespace {

struct own_library {
  using substrate = node_substrate;

  static auto& messages(const char* call) { return running(call).messages(); }
  static auto& messages_to(const char* call, int pe) {
    check_pe(call, pe);
    return self.joined->messages();
  }
  static void barrier(const char* call) { amity::shmem::barrier(call, world()); }
  static void look() { self.joined->look(); }
  static void passed() { seldom_network_progress(); }
};

}  // namespace

AMITY_SHMEMX_DEFINE(own_library)
