#ifndef AMITY_MPP_SHMEM_H
#define AMITY_MPP_SHMEM_H

/* Where programs of old look for it. */

#include "amity/interop/shmem/include/shmem.h"

#endif
