#include "amity/base/large_pages.hpp"
#include "tests/support/skip.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

namespace amity {
namespace {

constexpr std::size_t page_bytes = std::size_t{1} << 21;

/// Whether the mapping that contains `address` prefers large pages.
bool prefers_large(std::uintptr_t address) {
  std::ifstream maps("/proc/self/smaps");
  bool inside = false;
  for (std::string line; std::getline(maps, line);) {
    std::uintptr_t begin = 0, end = 0;
    char dash = 0;
    if (std::istringstream range(line); range >> std::hex >> begin >> dash >> end && dash == '-') {
      inside = begin <= address && address < end;
    }
    if (inside && line.starts_with("VmFlags:")) return line.find(" hg") != std::string::npos;
  }
  return false;
}

class large_pages : public ::testing::Test {
 protected:
  static constexpr std::size_t bytes = 5 * page_bytes;

  large_pages() {
    // Kernels without large pages refuse the wish.
    if (::access("/sys/kernel/mm/transparent_hugepage/enabled", R_OK) != 0) return;
    data_ = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    first_ = (reinterpret_cast<std::uintptr_t>(data_) + page_bytes - 1) / page_bytes * page_bytes;
  }
  ~large_pages() override {
    if (data_ != MAP_FAILED) ::munmap(data_, bytes);
  }

  void* data_ = MAP_FAILED;
  std::uintptr_t first_ = 0;  ///< aligned address
};

TEST_F(large_pages, whole_pages_inside_are_large) {
  AMITY_SKIP_UNLESS(data_ != MAP_FAILED, "this system has no large pages");
  prefer_large_pages(reinterpret_cast<void*>(first_ + 64), 2 * page_bytes + 64);
  EXPECT_FALSE(prefers_large(first_));
  EXPECT_TRUE(prefers_large(first_ + page_bytes));
  EXPECT_FALSE(prefers_large(first_ + 2 * page_bytes));
}

TEST_F(large_pages, shorter_range_stays_as_is) {
  AMITY_SKIP_UNLESS(data_ != MAP_FAILED, "this system has no large pages");
  prefer_large_pages(reinterpret_cast<void*>(first_), page_bytes - 1);
  prefer_large_pages(nullptr, 0);
  EXPECT_FALSE(prefers_large(first_));
}

}  // namespace
}  // namespace amity
