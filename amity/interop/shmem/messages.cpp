/// shmemx_am_*: active messages as part of this library.

#include "amity/interop/shmem/am/calls.hpp"
#include "amity/interop/shmem/group.hpp"
#include "amity/interop/shmem/include/shmemx.h"
#include "amity/interop/shmem/job.hpp"

using namespace amity::shmem;

AMITY_SHMEMX_DEFINE(barrier("shmemx_am_attach", world()), seldom_network_progress())
