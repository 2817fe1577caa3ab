#ifndef AMITY_SHMEMX_ADDON_H
#define AMITY_SHMEMX_ADDON_H

/* Active messages for programs of another OpenSHMEM: its own header, and what amity adds to it. Link amity_shmemx in
   front of that OpenSHMEM's library; docs/openshmem.md says how. */

#pragma GCC system_header /* strict compilers warn of #include_next elsewhere */

#include <shmem.h>
#if defined(__has_include_next)
#if __has_include_next(<shmemx.h>)
#include_next <shmemx.h>
#endif
#endif

#include "amity/interop/shmem/declare/messages.h"

#endif
