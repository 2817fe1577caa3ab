#pragma once

/// The other OpenSHMEM: its functions under their profiling names, behind which this library puts its own.
///
/// Functions of this library call these alone, never the names that programs use: those lead back here.

#include <shmem.h>

/// Declares the profiling name of a function; what it takes is for the other library's header to say.
#define AMITY_SHMEM_PROFILING(name) extern "C" decltype(shmem_##name) pshmem_##name
