#ifndef AMITY_SHMEM_H
#define AMITY_SHMEM_H

/* OpenSHMEM for C and C++: 1.4, what users expect of 1.5, and the names of older programs.

   Compile and link with amity-oshcc or amity-oshc++, start with amity-oshrun. docs/openshmem.md says what is symmetric,
   what differs from the specification, and what active messages (shmemx.h) add. */

#include "amity/interop/shmem/declare/atomics.h"
#include "amity/interop/shmem/declare/collectives.h"
#include "amity/interop/shmem/declare/generics.h"
#include "amity/interop/shmem/declare/setup.h"
#include "amity/interop/shmem/declare/transfers.h"
#include "amity/interop/shmem/declare/waiting.h"

#endif
