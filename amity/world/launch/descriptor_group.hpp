#pragma once

/// Many descriptors that are waited for as one.

#include <sys/epoll.h>

#include <array>
#include <cstddef>
#include <span>

#include "amity/base/file_descriptor.hpp"

namespace amity::detail {

/// Neither a wait nor a look costs more for a group of many descriptors: the system keeps a list of the
/// ready descriptors.
class descriptor_group {
 public:
  /// Throws `error` if the system refuses.
  descriptor_group();

  /// From now on the group is ready if `fd` is readable or closed by its writers. `key` is the caller's name for it.
  /// Throws `error` if the system refuses.
  void add(int fd, std::size_t key);

  /// Before `fd` is closed.
  void remove(int fd) noexcept;

  /// Readable if a descriptor of the group is ready.
  int fd() const noexcept { return epoll_.get(); }

  /// Keys of descriptors that are ready, without waiting: some of them if they are many, and others in the next call.
  /// Valid until that call.
  std::span<const std::size_t> ready() noexcept;

 private:
  static constexpr std::size_t keys_max = 64;

  file_descriptor epoll_;
  std::array<epoll_event, keys_max> events_{};
  std::array<std::size_t, keys_max> keys_{};
};

}  // namespace amity::detail
