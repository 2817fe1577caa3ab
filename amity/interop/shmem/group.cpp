#include "amity/interop/shmem/group.hpp"

#include <cstring>

#include <fmt/format.h>

#include "amity/interop/shmem/am/meeting.hpp"
#include "amity/interop/shmem/far_memory.hpp"
#include "amity/interop/shmem/job.hpp"

using namespace amity::shmem;

namespace amity::shmem {

group active_set(const char* call, int start, int log_stride, int size) {
  running(call);
  const int stride = log_stride >= 0 && log_stride < 31 ? 1 << log_stride : 0;
  const long last = start + static_cast<long>(size - 1) * stride;
  if (size < 1 || stride == 0 || start < 0 || last >= self.pes) {
    fail(call,
         fmt::format("there is no active set of {} PEs from {} on with stride 2^{}", size, start, log_stride).c_str(),
         fmt::format("name PEs of 0 to {}", self.pes - 1).c_str());
  }
  const int me = (self.me - start) / stride;
  const group found{.start = start, .stride = stride, .size = size, .me = me};
  if (self.me < start || me >= size || found.world_pe(me) != self.me) {
    fail(call,
         fmt::format("this PE is not in the active set of {} PEs from {} on with stride {}", size, start, stride)
             .c_str(),
         "call it on the PEs of the set alone");
  }
  return found;
}

void take(const char* call, void* dest, const void* source, std::size_t bytes, int pe) {
  if (bytes == 0) return;
  if (const void* const there = reach(call, source, bytes, pe)) {
    if (dest != there) std::memcpy(dest, there, bytes);
  } else {
    self.far->begin_get(call, dest, source, bytes, pe);
  }
}

void finish_taking() {
  if (self.far != nullptr) self.far->finish_gets();
}

namespace {

job& joined_outside_handlers(const char* call) {
  if (self.joined->messages().in_handler()) {
    fail(call, "it is called inside a handler, where nothing arrives", "call it outside of handlers");
  }
  return *self.joined;
}

}  // namespace

void sync(const char* call, const group& all, const argument& first, const argument& second) {
  job& joined = joined_outside_handlers(call);
  joined.begin_collective(call, all, first, second);
  joined.make_progress();
  meet(
      all.size, self.far == nullptr ? radix_of_stores : radix_of_packets,
      [&](int ahead) { joined.notify(all.world_pe((all.me + ahead) % all.size)); },
      [&](int behind) { joined.await(call, all.world_pe((all.me - behind + all.size) % all.size)); });
}

// Puts that are stores need no more: those before a release are seen by whoever acquires.
void barrier(const char* call, const group& all, const argument& first, const argument& second) {
  job& joined = joined_outside_handlers(call);
  if (all.size == self.pes && self.far == nullptr) {
    sync(call, all, first, second);
    return joined.messages().settle();
  }
  joined.messages().quiet();
  if (self.far != nullptr) {
    // What one of two PEs has put comes before its word.
    const int other = self.pes == 2 && all.size == 2 ? 1 - self.me : -1;
    self.far->quiet_but(other);
  }
  sync(call, all, first, second);
}

}  // namespace amity::shmem

AMITY_SHMEM_DEFINE(void, barrier_all, ()) {
  running("shmem_barrier_all");
  barrier("shmem_barrier_all", world());
}
AMITY_SHMEM_DEFINE(void, sync_all, ()) {
  running("shmem_sync_all");
  sync("shmem_sync_all", world());
}
AMITY_SHMEM_DEFINE(void, barrier, (int start, int log_stride, int size, long*)) {
  barrier("shmem_barrier", active_set("shmem_barrier", start, log_stride, size));
}
AMITY_SHMEM_DEFINE(void, sync, (int start, int log_stride, int size, long*)) {
  sync("shmem_sync", active_set("shmem_sync", start, log_stride, size));
}
AMITY_SHMEM_DEFINE(int, team_sync, (shmem_team_t team)) {
  sync("shmem_team_sync", team_of("shmem_team_sync", team));
  return 0;
}
