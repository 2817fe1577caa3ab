#include "amity/interop/shmem/statics.hpp"

#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "amity/base/error.hpp"
#include "amity/base/types.hpp"

namespace amity::shmem {
namespace {

struct search {
  std::uintptr_t page;
  extent found;
};

/// The first object that is listed is the executable.
int look_at_executable(dl_phdr_info* object, std::size_t, void* given) {
  auto& sought = *static_cast<search*>(given);
  std::uintptr_t first = 0;
  std::uintptr_t end = 0;
  std::uintptr_t read_only_end = 0;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const auto& part = object->dlpi_phdr[i];
    const std::uintptr_t part_end = object->dlpi_addr + part.p_vaddr + part.p_memsz;
    if (part.p_type == PT_GNU_RELRO) read_only_end = part_end;
    if (part.p_type != PT_LOAD || (part.p_flags & PF_W) == 0) continue;
    // Linkers that keep what becomes read-only in a segment of its own put it in front.
    first = object->dlpi_addr + part.p_vaddr;
    end = part_end;
  }
  // What is read-only once relocated ends with a page, or with the last whole one.
  first = std::max(first, read_only_end);
  first -= first % sought.page;
  end += sought.page - 1;
  end -= end % sought.page;
  sought.found = {.first = first, .bytes = end > first ? end - first : 0};
  return 1;
}

/// Whole pages, word by word and not by memcpy, which sanitizers watch: between a program's variables there are gaps
/// that nobody may read by name. `to` has zeros, and takes no memory where they stay.
[[gnu::no_sanitize("address"), gnu::no_sanitize("thread")]] void copy_pages(const extent& from, std::byte* to) {
  const auto* const words = reinterpret_cast<const volatile std::uint64_t*>(from.first);
  auto* const copies = reinterpret_cast<volatile std::uint64_t*>(to);
  for (std::size_t i = 0; i < from.bytes / sizeof *words; ++i) {
    if (words[i] != 0) copies[i] = words[i];
  }
}

}  // namespace

extent find_statics() {
  search sought{.page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE)), .found = {}};
  ::dl_iterate_phdr(look_at_executable, &sought);
  return sought.found;
}

void replace_statics(const extent& statics, std::byte* shared) {
  if (statics.bytes == 0) return;
  copy_pages(statics, shared);
  auto* const own = reinterpret_cast<void*>(statics.first);
  // With a size of 0 the old mapping stays: the pages get a second address.
  if (::mremap(shared, 0, statics.bytes, MREMAP_MAYMOVE | MREMAP_FIXED, own) == own) return;
  throw error("shmem_init", no_rank,
              fmt::format("the program's {} bytes of static variables cannot be shared: {}", statics.bytes,
                          std::strerror(errno)),
              "start the PEs over AMITY_FABRIC=ofi, which shares no memory");
}

}  // namespace amity::shmem
