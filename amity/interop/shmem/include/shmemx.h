#ifndef AMITY_SHMEMX_H
#define AMITY_SHMEMX_H

/* Active messages for OpenSHMEM. */

#include "amity/interop/shmem/declare/messages.h"
#include "amity/interop/shmem/include/shmem.h"

#endif
