#pragma once

/// Programs and libraries that the loader has mapped into this process.

namespace amity::mpi {

/// The beginning of the one that has this address; null: none has. Any thread.
const void* loaded_object_at(const void* address) noexcept;

}  // namespace amity::mpi
