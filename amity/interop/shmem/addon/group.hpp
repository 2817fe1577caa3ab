#pragma once

/// Meeting points before collective calls. Collective.

namespace amity::shmem::addon {

/// Meets the PEs of an active set. False: there is no such set, or this PE is not in it; the other library will say so.
bool meet_set(const char* call, int start, int log_stride, int size);

/// Meets all PEs, if there is a job.
void meet_all(const char* call);

}  // namespace amity::shmem::addon
