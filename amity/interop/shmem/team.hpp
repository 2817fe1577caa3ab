#pragma once

/// Teams and contexts: PEs under other numbers.

#include "amity/interop/shmem/include/shmem.h"
#include "amity/interop/shmem/process.hpp"

/// Every `stride`-th PE of the world from `start` on; what the API's handles point to.
struct amity_shmem_team {
  int start = 0;
  int stride = 0;
  int size = 0;      ///< 0: the team was destroyed
  int me = 0;        ///< this PE's number in the team
  int contexts = 0;  ///< as many as its configuration asked for

  int world_pe(int pe) const noexcept { return start + pe * stride; }
};

struct amity_shmem_context {
  shmem_team_t team = SHMEM_TEAM_INVALID;  ///< the handle that it was made of
  amity_shmem_team pes;                    ///< what that stands for; none: the context was destroyed
};

namespace amity::shmem {

using group = amity_shmem_team;

inline group world() noexcept { return {.start = 0, .stride = 1, .size = self.pes, .me = self.me}; }

/// What a handle stands for; ends the job if it is SHMEM_TEAM_INVALID, or its team was destroyed.
group team_of(const char* call, shmem_team_t team);

[[noreturn, gnu::cold]] void fail_context(const char* call, shmem_ctx_t context, int pe);

/// The PE of the world that a context calls `pe`; ends the job if there is no such PE, or no such context.
inline int world_pe(const char* call, shmem_ctx_t context, int pe) {
  if (context == SHMEM_CTX_DEFAULT) [[likely]]
    return pe;
  if (context == SHMEM_CTX_INVALID || self.pes == 0 ||
      static_cast<unsigned>(pe) >= static_cast<unsigned>(context->pes.size)) [[unlikely]]
    fail_context(call, context, pe);
  return context->pes.world_pe(pe);
}

/// Ends the job if a context was destroyed.
inline void check_context(const char* call, shmem_ctx_t context) { world_pe(call, context, 0); }

}  // namespace amity::shmem

/// Defines a function that ends with `int pe` without a context and with one. In the body, `call` is its name, and `pe`
/// a PE of the world.
#define AMITY_SHMEM_DEFINE_BOTH(Result, name, parameters, ...)                                 \
  AMITY_SHMEM_DEFINE(Result, name, parameters) {                                               \
    const char* const call = "shmem_" #name;                                                   \
    __VA_ARGS__;                                                                               \
  }                                                                                            \
  AMITY_SHMEM_DEFINE(Result, ctx_##name, (shmem_ctx_t context, AMITY_SHMEM_BARE parameters)) { \
    const char* const call = "shmem_ctx_" #name;                                               \
    pe = amity::shmem::world_pe(call, context, pe);                                            \
    __VA_ARGS__;                                                                               \
  }
#define AMITY_SHMEM_BARE(...) __VA_ARGS__
