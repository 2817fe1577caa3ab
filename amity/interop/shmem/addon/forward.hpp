#pragma once

/// Functions that only pass on what they are given, and make progress now and then.

#include "amity/interop/shmem/addon/process.hpp"
#include "amity/interop/shmem/addon/profiling.hpp"

#define AMITY_SHMEM_FORWARD(Result, name, parameters, arguments) \
  AMITY_SHMEM_PROFILING(name);                                   \
  extern "C" Result shmem_##name parameters {                    \
    amity::shmem::addon::seldom_progress();                      \
    return pshmem_##name arguments;                              \
  }

/// The form without a context and the one with it.
#define AMITY_SHMEM_FORWARD_BOTH(Result, name, parameters, arguments)                         \
  AMITY_SHMEM_FORWARD(Result, name, parameters, arguments)                                    \
  AMITY_SHMEM_FORWARD(Result, ctx_##name, (shmem_ctx_t context, AMITY_SHMEM_BARE parameters), \
                      (context, AMITY_SHMEM_BARE arguments))
#define AMITY_SHMEM_BARE(...) __VA_ARGS__
