#pragma once

/// Files that live in memory and have no name.

#include <cstddef>

#include "amity/base/file_descriptor.hpp"

namespace amity::fabric::shm {

/// Creates a file that no path leads to. It is sealed against shrinking if the system can do that. If memfd_create is
/// forbidden, as in some containers, the file is in /dev/shm, or in the directory TMPDIR or /tmp, and limited by the
/// space there. The descriptor is closed on exec. Throws `error` if none of these is possible.
file_descriptor create_memory_file();

/// Makes the file at least `bytes` long, never shorter: another process may use the pages at the end. Throws `error` if
/// the system refuses, or if the file system of a file that is not sealed has less space.
void grow_memory_file(int fd, std::size_t bytes);

}  // namespace amity::fabric::shm
