#pragma once

/// A file descriptor with an owner. The library has its own (amity/base/file_descriptor.hpp), which is not public.

#include <unistd.h>

#include <utility>

namespace amity::apps::graph {

/// Closes its descriptor at its end. Movable; empty (-1) after a move.
class owned_descriptor {
 public:
  owned_descriptor() = default;
  explicit owned_descriptor(int number) noexcept : number_(number) {}
  owned_descriptor(owned_descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  owned_descriptor& operator=(owned_descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    other.reset();
    return *this;
  }
  ~owned_descriptor() { reset(); }

  int get() const noexcept { return number_; }
  explicit operator bool() const noexcept { return number_ >= 0; }

  void reset() noexcept {
    if (number_ >= 0) ::close(std::exchange(number_, -1));
  }

 private:
  int number_ = -1;
};

}  // namespace amity::apps::graph
