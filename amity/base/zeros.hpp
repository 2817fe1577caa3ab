#pragma once

/// Arrays that take memory only where they are written to.

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace amity {

/// Zeros from the system: a page that nobody writes to costs nothing, if the array is large; a small one is ordinary
/// memory.
class zeroed_memory {
 public:
  /// Throws `std::bad_alloc`.
  explicit zeroed_memory(std::size_t bytes);
  zeroed_memory(zeroed_memory&& other) noexcept
      : bytes_(std::exchange(other.bytes_, 0)), data_(std::exchange(other.data_, nullptr)) {}
  zeroed_memory& operator=(zeroed_memory&&) = delete;
  ~zeroed_memory();

  void* data() const noexcept { return data_; }

 private:
  std::size_t bytes_;
  void* data_;
};

/// `count` objects of which all-zero bytes are a value. For what a rank keeps of each peer: a job of thousands of ranks
/// does not pay for its size on every rank.
template <class Element>
class zeros {
  static_assert(std::is_trivially_copyable_v<Element> && std::is_trivially_destructible_v<Element> &&
                alignof(Element) <= alignof(std::max_align_t));

 public:
  explicit zeros(std::size_t count) : memory_(count * sizeof(Element)) {}

  Element& operator[](std::size_t index) noexcept { return static_cast<Element*>(memory_.data())[index]; }
  const Element& operator[](std::size_t index) const noexcept {
    return static_cast<const Element*>(memory_.data())[index];
  }

 private:
  zeroed_memory memory_;
};

}  // namespace amity
