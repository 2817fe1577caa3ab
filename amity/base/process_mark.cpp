#include "amity/base/process_mark.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>

namespace amity {
namespace {

std::size_t page_bytes() noexcept { return static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)); }

}  // namespace

process_mark::process_mark(bool is_wanted) noexcept {
  if (!is_wanted) return;
  void* const page = ::mmap(nullptr, page_bytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return;
  if (::madvise(page, page_bytes(), MADV_WIPEONFORK) != 0) {
    ::munmap(page, page_bytes());
    return;
  }
  auto* const word = static_cast<std::uint32_t*>(page);
  *word = 1;
  word_ = word;
}

process_mark::~process_mark() {
  if (word_ != &always) ::munmap(const_cast<std::uint32_t*>(word_), page_bytes());
}

}  // namespace amity
