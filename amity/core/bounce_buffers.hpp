#pragma once

/// Memory of the runtime's for payloads that are written here and sent from here. A buffer serves again once its last
/// payload has left, so that memory is allocated for as many as ever were in use at once.

#include <algorithm>
#include <cstddef>
#include <deque>
#include <memory>

#include "amity/core/event.hpp"

namespace amity::core {

struct bounce_buffer {
  std::unique_ptr<std::byte[]> data;
  std::size_t bytes = 0;
  bool open = false;  ///< somebody writes it
  event source_free;
};

class bounce_buffers {
 public:
  static constexpr std::size_t usual_bytes = 65536;

  /// A buffer of at least `bytes_min` bytes.
  bounce_buffer& take(std::size_t bytes_min) {
    const auto free = std::ranges::find_if(all_, [](const bounce_buffer& each) { return is_free(each); });
    bounce_buffer& taken = free != all_.end() ? *free : all_.emplace_back();
    if (taken.data == nullptr || taken.bytes < bytes_min) {
      const std::size_t bytes = std::max(bytes_min, usual_bytes);
      taken.data = std::make_unique_for_overwrite<std::byte[]>(bytes);
      taken.bytes = bytes;
    }
    taken.open = true;
    return taken;
  }

  /// Whether nothing is under way from any of them.
  bool quiet() const noexcept {
    return std::ranges::all_of(all_, [](const bounce_buffer& each) { return each.source_free.done(); });
  }

 private:
  static bool is_free(const bounce_buffer& each) noexcept { return !each.open && each.source_free.done(); }

  std::deque<bounce_buffer> all_;
};

}  // namespace amity::core
