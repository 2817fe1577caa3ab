/// shmemx_am_*: active messages as an addition to another library.

#include "amity/interop/shmem/addon/include/shmemx.h"
#include "amity/interop/shmem/addon/job.hpp"
#include "amity/interop/shmem/am/calls.hpp"

using namespace amity::shmem::addon;

AMITY_SHMEMX_DEFINE(self.joined->barrier_all("shmemx_am_attach"), )
