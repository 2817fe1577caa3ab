#include "amity/fabric/shm/file_mapping.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string_view>

#include <fmt/format.h>

#include "amity/base/error.hpp"

namespace amity::fabric::shm {
namespace {

[[noreturn]] void no_memory(std::string_view act, std::size_t bytes) {
  throw error(
      "shared memory", no_rank, fmt::format("cannot {} {} bytes: {}", act, bytes, std::strerror(errno)),
      "free memory, use fewer ranks, or ask for less: lower AMITY_SHM_BUFFERS and AMITY_SHM_PACKET_BYTES, or make "
      "smaller segments");
}

/// Address space of `bytes` whose beginning is a multiple of `alignment`; more than a page only.
void* reserve(std::size_t bytes, std::size_t alignment) {
  const std::size_t reserved = bytes + alignment;
  void* const start = ::mmap(nullptr, reserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (start == MAP_FAILED) no_memory("reserve", reserved);
  auto* const first = static_cast<std::byte*>(start);
  auto* const aligned =
      first + (round_up(reinterpret_cast<std::uintptr_t>(first), alignment) - reinterpret_cast<std::uintptr_t>(first));
  if (aligned != first) ::munmap(first, static_cast<std::size_t>(aligned - first));
  if (aligned + bytes != first + reserved) {
    ::munmap(aligned + bytes, static_cast<std::size_t>(first + reserved - (aligned + bytes)));
  }
  return aligned;
}

}  // namespace

file_mapping::file_mapping(int fd, std::size_t offset, std::size_t bytes, page_size pages) : bytes_(bytes) {
  const bool huge = bytes >= huge_page_bytes;
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  void* const where = huge ? reserve(round_up(bytes, page), huge_page_bytes) : nullptr;
  void* const mapped =
      ::mmap(where, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | (huge ? MAP_FIXED : 0), fd, static_cast<off_t>(offset));
  if (mapped == MAP_FAILED) {
    if (huge) ::munmap(where, bytes);
    no_memory("map", bytes);
  }
  // Only a wish: without huge pages everything works, with more misses in the address translation.
  if (huge && pages == page_size::huge) static_cast<void>(::madvise(mapped, bytes, MADV_HUGEPAGE));
  data_ = static_cast<std::byte*>(mapped);
}

file_mapping::~file_mapping() {
  if (data_ != nullptr) ::munmap(data_, bytes_);
}

}  // namespace amity::fabric::shm
