#pragma once

/// Programs and libraries that the loader has mapped into this process.

#include <string>

namespace amity::mpi {

/// Returns the beginning of the program or library that contains this address; null if none does. Any thread may call
/// it.
const void* loaded_object_at(const void* address) noexcept;

/// Returns the name of a function, "'count_words'", or where it is, "at program+0x12f0", if its object does not export
/// it. For errors. Any thread may call it.
std::string describe_function(const void* address);

}  // namespace amity::mpi
