#pragma once

/// Meeting points of a group of PEs. Collective over the group.

#include <cstddef>

#include "amity/interop/shmem/collective_call.hpp"
#include "amity/interop/shmem/team.hpp"

namespace amity::shmem {

/// The group of an active set. Ends the job where there is none, or this PE is not in it.
group active_set(const char* call, int start, int log_stride, int size);

/// Copies from PE `pe`'s object that is at `source` here; complete after `finish_taking`. There may be none of it.
void take(const char* call, void* dest, const void* source, std::size_t bytes, int pe);
void finish_taking();
/// Ends the job where the destination of a collective call is not all symmetric.
inline void check_dest(const char* call, const void* dest, std::size_t bytes) {
  if (bytes > 0) reach(call, dest, bytes, self.me);
}

/// Returns when all PEs of the group have called it. Ends the job if a handler calls it, or if another PE of the group
/// is in another function, in a call for another group, or in a call with other arguments.
void sync(const char* call, const group& all, const argument& first = {}, const argument& second = {});

/// As `sync`; also completes all earlier operations of these PEs, active messages among them.
void barrier(const char* call, const group& all, const argument& first = {}, const argument& second = {});

}  // namespace amity::shmem
