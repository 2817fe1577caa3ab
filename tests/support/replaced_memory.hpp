#pragma once

/// Memory of a program whose pages are replaced by other ones at the same address, as programs and allocators do it.

#include <sys/mman.h>

#include <array>
#include <cstddef>
#include <cstdlib>
#include <new>
#include <string_view>

namespace amity::testing {

struct replacement {
  enum class kind { map_over, unmap, move, discard, free };

  kind what;
  std::string_view name;  ///< for messages of a test
};

inline constexpr std::array<replacement, 5> replacements{
    {{replacement::kind::map_over, "mmap over the pages"},
     {replacement::kind::unmap, "munmap and mmap"},
     {replacement::kind::move, "mremap to another address and mmap"},
     {replacement::kind::discard, "madvise(MADV_DONTNEED)"},
     {replacement::kind::free, "free and malloc"}}};

/// Pages that may be read and written. If another thread of the process maps memory during `replace`, the
/// address may change.
class replaced_memory final {
 public:
  /// `bytes`: whole pages, at most `block_bytes`. Throws std::bad_alloc.
  replaced_memory(replacement::kind by, std::size_t bytes) : by_(by), bytes_(bytes) { data_ = get(nullptr); }
  replaced_memory(const replaced_memory&) = delete;
  replaced_memory& operator=(const replaced_memory&) = delete;
  ~replaced_memory() {
    give_back();
    if (moved_ != nullptr) ::munmap(moved_, bytes_);
  }

  std::byte* data() const noexcept { return static_cast<std::byte*>(data_); }
  std::size_t size() const noexcept { return bytes_; }

  /// The content is lost. Throws std::bad_alloc.
  void replace() {
    using enum replacement::kind;
    switch (by_) {
      case map_over:
        data_ = map(data_, MAP_FIXED);
        return;
      case move:
        move_away();
        data_ = get(data_);
        return;
      case discard:
        if (::madvise(data_, bytes_, MADV_DONTNEED) != 0) throw std::bad_alloc();
        return;
      case unmap:
      case free:
        give_back();
        data_ = get(data_);
    }
  }

  /// The C library maps a block of this size whatever was allocated and freed before (mallopt(3),
  /// DEFAULT_MMAP_THRESHOLD_MAX), and unmaps it when it is freed.
  static constexpr std::size_t block_bytes = std::size_t{33} << 20;

 private:
  /// At `wanted` if no other thread has mapped something there.
  void* get(void* wanted) {
    if (by_ == replacement::kind::free) {
      void* const block = std::malloc(block_bytes);
      if (block == nullptr) throw std::bad_alloc();
      return block;
    }
    return map(wanted, 0);  // without MAP_FIXED, the address is a wish
  }
  void* map(void* at, int flags) {
    void* const mapped = ::mmap(at, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
    if (mapped == MAP_FAILED) throw std::bad_alloc();
    return mapped;
  }
  /// The old pages stay, so that an operation on them is no error, but reaches wrong memory.
  void move_away() {
    if (moved_ == nullptr) moved_ = map(nullptr, 0);
    if (::mremap(data_, bytes_, bytes_, MREMAP_MAYMOVE | MREMAP_FIXED, moved_) == MAP_FAILED) throw std::bad_alloc();
  }
  void give_back() noexcept {
    if (by_ == replacement::kind::free)
      std::free(data_);
    else
      ::munmap(data_, bytes_);
  }

  replacement::kind by_;
  std::size_t bytes_;
  void* data_ = nullptr;
  void* moved_ = nullptr;
};

}  // namespace amity::testing
