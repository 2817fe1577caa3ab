#include "amity/base/zeros.hpp"

#include <sys/mman.h>

#include <cstdlib>
#include <new>

namespace amity {
namespace {

// From here on whole pages are worth a call to the system. The allocator would clear what it has, and so touch it.
constexpr std::size_t pages_from_bytes = std::size_t{32} << 10;

}  // namespace

zeroed_memory::zeroed_memory(std::size_t bytes) : bytes_(bytes) {
  if (bytes_ >= pages_from_bytes) {
    data_ = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (data_ == MAP_FAILED) throw std::bad_alloc();
  } else {
    data_ = std::calloc(bytes_ + 1, 1);  // never nothing
    if (data_ == nullptr) throw std::bad_alloc();
  }
}

zeroed_memory::~zeroed_memory() {
  if (bytes_ >= pages_from_bytes) {
    ::munmap(data_, bytes_);
  } else {
    std::free(data_);
  }
}

}  // namespace amity
