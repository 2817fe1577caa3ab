#pragma once

/// Files that live in memory and have no name.

#include <cstddef>

#include "amity/base/file_descriptor.hpp"
#include "amity/base/types.hpp"

namespace amity::fabric::shm {

/// Creates a file that no path leads to. It is sealed against shrinking if the system can do that. If memfd_create is
/// forbidden, as in some containers, the file is in /dev/shm, or in the directory TMPDIR or /tmp, and limited by the
/// space there. The descriptor is closed on exec. Throws `error` if none of these is possible.
file_descriptor create_memory_file();

/// Makes the file at least `bytes` long, never shorter: another process may use the pages at the end. Throws `error` if
/// the system refuses.
void grow_memory_file(int fd, std::size_t bytes);

/// Takes the pages of a range that is in the file, of which at most one has been taken. Otherwise, the first use of a
/// page would end the process by SIGBUS if the file system has become full. A sealed file is in no file system that
/// users can fill, and takes each page at its first use. Throws `error` if there is too little space: before it takes
/// any page, unless another program takes space at the same time.
void reserve_pages(int fd, std::size_t offset, std::size_t bytes);
/// Gives whole pages back to the system; they are zeros afterwards.
void return_pages(int fd, std::size_t offset, std::size_t bytes) noexcept;

/// Keeps other processes out that lock the same file, while it lives. A process that ends leaves no lock. Where the
/// file system has no locks, it has no effect.
class file_lock : private immovable {
 public:
  explicit file_lock(int fd) noexcept;
  ~file_lock();

 private:
  int fd_;
};

}  // namespace amity::fabric::shm
