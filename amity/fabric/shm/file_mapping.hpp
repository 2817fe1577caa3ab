#pragma once

/// A piece of a memory file in this process's address space, for as long as the object lives.
///
/// It is shared with all processes that map the piece. One of 2 MiB or more lies at a multiple of 2 MiB, in huge pages
/// where the system has them.

#include <cstddef>
#include <cstdint>
#include <utility>

namespace amity::fabric::shm {

/// Huge pages need the offset in the file and the address to agree modulo their size.
inline constexpr std::size_t huge_page_bytes = std::size_t{2} << 20;

constexpr std::size_t round_up(std::size_t value, std::size_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

enum class page_size : std::uint8_t {
  usual,  ///< memory that is mostly not touched
  huge,   ///< if the system has them, and the piece is large enough
};

class file_mapping {
 public:
  file_mapping() = default;

  /// Maps `bytes` > 0 of the file behind `fd`, from `offset`, a multiple of the page, or, if there are 2 MiB or more,
  /// of 2 MiB. Throws `error` where the system refuses.
  file_mapping(int fd, std::size_t offset, std::size_t bytes, page_size pages = page_size::huge);

  file_mapping(file_mapping&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  file_mapping& operator=(file_mapping&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~file_mapping();

  std::byte* data() const noexcept { return data_; }
  std::size_t bytes() const noexcept { return bytes_; }

 private:
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace amity::fabric::shm
