/// Barriers, which wait for active messages too, and the other collective calls: PEs meet, and go on to the other
/// library.

#include "amity/interop/shmem/addon/job.hpp"
#include "amity/interop/shmem/addon/profiling.hpp"
#include "amity/interop/shmem/declare/type_lists.h"

using namespace amity::shmem::addon;

AMITY_SHMEM_PROFILING(barrier);
AMITY_SHMEM_PROFILING(barrier_all);
AMITY_SHMEM_PROFILING(quiet);
AMITY_SHMEM_PROFILING(sync);
AMITY_SHMEM_PROFILING(sync_all);

namespace {

/// What this PE has begun.
void complete_own() {
  if (self.joined == nullptr) return;
  self.joined->messages().quiet();
  pshmem_quiet();
}

/// Meets the PEs of an active set. Returns false if there is no such set, or this PE is not in it: the other library
/// then reports the error.
bool meet_set(const char* call, int start, int log_stride, int size) {
  if (self.joined == nullptr || start < 0 || log_stride < 0 || log_stride > 30 || size < 1) return false;
  const int stride = 1 << log_stride;
  const int me = (self.me - start) / stride;
  const active_set set{.start = start, .stride = stride, .size = size, .me = me};
  if (start + (size - 1L) * stride >= self.pes || self.me < start || me >= size || set.pe_at(me) != self.me)
    return false;
  self.joined->meet(call, set);
  return true;
}

}  // namespace

extern "C" {

// The other library calls some of these in its own beginning and end, too.

void shmem_barrier_all() {
  if (self.joined == nullptr) return pshmem_barrier_all();
  self.joined->barrier_all("shmem_barrier_all");
}

void shmem_sync_all() {
  if (self.joined == nullptr) return pshmem_sync_all();
  self.joined->meet_all("shmem_sync_all");
}

void shmem_barrier(int start, int log_stride, int size, long* sync) {
  complete_own();
  if (!meet_set("shmem_barrier", start, log_stride, size)) pshmem_barrier(start, log_stride, size, sync);
}

void shmem_sync(int start, int log_stride, int size, long* sync) {
  if (!meet_set("shmem_sync", start, log_stride, size)) pshmem_sync(start, log_stride, size, sync);
}

// Parameters of calls over an active set, and how they are passed on.
#define SET int start, int log_stride, int size
#define PASS_SET start, log_stride, size

#define DEFINE_OVER_SET(name, parameters, arguments) \
  decltype(shmem_##name) pshmem_##name;              \
  void shmem_##name parameters {                     \
    meet_set("shmem_" #name, PASS_SET);              \
    pshmem_##name arguments;                         \
  }

#define DEFINE_EXCHANGES(bits)                                                                                         \
  DEFINE_OVER_SET(broadcast##bits, (void* dest, const void* source, size_t count, int root, SET, long* sync),          \
                  (dest, source, count, root, PASS_SET, sync))                                                         \
  DEFINE_OVER_SET(collect##bits, (void* dest, const void* source, size_t count, SET, long* sync),                      \
                  (dest, source, count, PASS_SET, sync))                                                               \
  DEFINE_OVER_SET(fcollect##bits, (void* dest, const void* source, size_t count, SET, long* sync),                     \
                  (dest, source, count, PASS_SET, sync))                                                               \
  DEFINE_OVER_SET(alltoall##bits, (void* dest, const void* source, size_t count, SET, long* sync),                     \
                  (dest, source, count, PASS_SET, sync))                                                               \
  DEFINE_OVER_SET(                                                                                                     \
      alltoalls##bits,                                                                                                 \
      (void* dest, const void* source, ptrdiff_t dest_stride, ptrdiff_t source_stride, size_t count, SET, long* sync), \
      (dest, source, dest_stride, source_stride, count, PASS_SET, sync))
DEFINE_EXCHANGES(32)
DEFINE_EXCHANGES(64)

#define DEFINE_REDUCTION(type, name, operation)                                              \
  DEFINE_OVER_SET(name##_##operation##_to_all,                                               \
                  (type * dest, const type* source, int count, SET, type* work, long* sync), \
                  (dest, source, count, PASS_SET, work, sync))
#define REDUCE_BITWISE(type, name) AMITY_SHMEM_EACH_BITWISE(DEFINE_REDUCTION, type, name)
#define REDUCE_ORDER(type, name) AMITY_SHMEM_EACH_ORDER(DEFINE_REDUCTION, type, name)
#define REDUCE_SUM(type, name) AMITY_SHMEM_EACH_SUM(DEFINE_REDUCTION, type, name)
AMITY_SHMEM_TO_ALL_BITWISE_TYPES(REDUCE_BITWISE)
AMITY_SHMEM_TO_ALL_ORDER_TYPES(REDUCE_ORDER)
AMITY_SHMEM_TO_ALL_SUM_TYPES(REDUCE_SUM)
}
