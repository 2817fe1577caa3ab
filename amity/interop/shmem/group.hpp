#pragma once

/// Meeting points of a group of PEs. Collective over the group.

#include "amity/interop/shmem/team.hpp"

namespace amity::shmem {

/// The group of an active set. Ends the job where there is none, or this PE is not in it.
group active_set(const char* call, int start, int log_stride, int size);

/// Returns when all have come.
void sync(const group& all);

/// The same; what all did before is done, their active messages too.
void barrier(const group& all);

}  // namespace amity::shmem
