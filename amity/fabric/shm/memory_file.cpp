#include "amity/fabric/shm/memory_file.hpp"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "amity/base/error.hpp"

namespace amity::fabric::shm {
namespace {

// Where the system allows only files that cannot be executed (vm.memfd_noexec=2), it demands this flag.
constexpr unsigned no_exec_seal = 0x0008;

int create_sealed() {
  int fd = ::memfd_create("amity job", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd < 0 && errno == EACCES) fd = ::memfd_create("amity job", MFD_CLOEXEC | MFD_ALLOW_SEALING | no_exec_seal);
  if (fd >= 0 && ::fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK) != 0) {
    const int reason = errno;
    ::close(fd);
    errno = reason;
    return -1;
  }
  return fd;
}

int create_in(const std::string& directory) {
  const int fd = ::open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC | O_EXCL, 0600);
  if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != ENOENT)) return fd;
  std::string path = directory + "/amity-job-XXXXXX";
  const int named = ::mkostemp(path.data(), O_CLOEXEC);
  if (named >= 0) ::unlink(path.c_str());
  return named;
}

bool is_sealed(int fd) {
  const int seals = ::fcntl(fd, F_GET_SEALS);
  return seals >= 0 && (seals & F_SEAL_SHRINK) != 0;
}

[[noreturn]] void cannot_grow(std::size_t bytes) {
  throw error("shared memory", no_rank,
              fmt::format("cannot grow the job's memory file to {} bytes: {}", bytes, std::strerror(errno)),
              "free memory, use fewer ranks, or ask for less: lower AMITY_SHM_BUFFERS and AMITY_SHM_PACKET_BYTES, or "
              "make smaller segments");
}

std::optional<std::size_t> free_bytes(int fd) {
  struct statvfs there {};
  if (::fstatvfs(fd, &there) != 0) return std::nullopt;
  return static_cast<std::size_t>(there.f_bavail) * there.f_frsize;
}

[[noreturn]] void no_space(std::size_t bytes, std::optional<std::size_t> free) {
  const std::string left = free ? fmt::format("has {} bytes left", *free) : "does not have them";
  throw error(
      "shared memory", no_rank,
      fmt::format("the job's memory needs {} bytes more, and its file system {}", bytes, left),
      "allow memfd_create in the container's seccomp profile, enlarge /dev/shm (docker run --shm-size), or lower "
      "AMITY_SHM_BUFFERS and AMITY_SHM_PACKET_BYTES");
}

/// In pieces: a signal interrupts `fallocate`, which undoes what that call has taken. Most pieces take a few
/// milliseconds. If signals come more often, pieces become smaller, so that there is progress. For errors, `wanted` is
/// the size of the whole request.
void take_pages(int fd, std::size_t offset, std::size_t bytes, std::size_t wanted) {
  constexpr std::size_t page = 4096;
  std::size_t piece = std::size_t{16} << 20;
  const std::size_t end = offset + bytes;
  while (offset < end) {
    const std::size_t part = std::min(piece, end - offset);
    if (::fallocate(fd, 0, static_cast<off_t>(offset), static_cast<off_t>(part)) == 0) {
      offset += part;
    } else if (errno == EINTR) {
      piece = std::max(page, piece / 2);
    } else if (errno == ENOSPC) {
      no_space(wanted, free_bytes(fd));
    } else {
      cannot_grow(end);
    }
  }
}

}  // namespace

file_descriptor create_memory_file() {
  file_descriptor file(create_sealed());
  if (file) return file;
  std::string reasons = fmt::format("memfd_create: {}", std::strerror(errno));
  const bool forbidden = errno == EPERM || errno == ENOSYS || errno == EACCES;
  const char* const chosen = ::getenv("TMPDIR");
  for (const std::string directory : {"/dev/shm", chosen != nullptr ? chosen : "/tmp"}) {
    if (!forbidden) break;
    file = file_descriptor(create_in(directory));
    if (file) return file;
    reasons += fmt::format(", {}: {}", directory, std::strerror(errno));
  }
  throw error("shared memory", no_rank, fmt::format("cannot create a memory file: {}", reasons),
              forbidden ? "allow memfd_create in the container's seccomp profile, or make /dev/shm writable"
                        : "free memory, or raise the limit of open files (ulimit -n)");
}

void grow_memory_file(int fd, std::size_t bytes) {
  struct stat now {};
  if (::fstat(fd, &now) == 0 && static_cast<std::size_t>(now.st_size) >= bytes) return;
  if (!is_sealed(fd)) {
    // One page at the end; that never shortens the file, even if another process has extended it.
    return take_pages(fd, bytes - 1, 1, bytes - static_cast<std::size_t>(now.st_size));
  }
  if (::ftruncate(fd, static_cast<off_t>(bytes)) == 0) return;
  const int reason = errno;
  if (reason == EPERM && ::fstat(fd, &now) == 0 && static_cast<std::size_t>(now.st_size) >= bytes) return;
  errno = reason;
  cannot_grow(bytes);
}

void reserve_pages(int fd, std::size_t offset, std::size_t bytes) {
  if (is_sealed(fd)) return;
  const std::optional<std::size_t> free = free_bytes(fd);
  if (free && bytes > *free) no_space(bytes, free);  // before it takes all that is left
  take_pages(fd, offset, bytes, bytes);
}

file_lock::file_lock(int fd) noexcept : fd_(fd) {
  struct flock first_byte {};
  first_byte.l_type = F_WRLCK;
  first_byte.l_len = 1;
  while (::fcntl(fd_, F_SETLKW, &first_byte) != 0 && errno == EINTR) {
  }
}

file_lock::~file_lock() {
  struct flock first_byte {};
  first_byte.l_type = F_UNLCK;
  first_byte.l_len = 1;
  static_cast<void>(::fcntl(fd_, F_SETLK, &first_byte));
}

void return_pages(int fd, std::size_t offset, std::size_t bytes) noexcept {
  static_cast<void>(::fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset),
                                static_cast<off_t>(bytes)));
}

}  // namespace amity::fabric::shm
