#pragma once

/// Programs and libraries that the loader has mapped into this process.

namespace amity::mpi {

/// Returns the beginning of the program or library that contains this address; null if none does. Any thread may call
/// it.
const void* loaded_object_at(const void* address) noexcept;

}  // namespace amity::mpi
