#pragma once

/// Memory of the runtime's for payloads that are written here and sent from here. A buffer serves again once its last
/// payload has left, so that there are as many as ever were in use at once; it grows where no free one is large enough.

#include <algorithm>
#include <cstddef>
#include <deque>
#include <memory>
#include <utility>

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
    const auto free = free_for(bytes_min);
    bounce_buffer& taken = free != all_.end() ? *free : all_.emplace_back();
    if (taken.bytes < bytes_min || taken.data == nullptr) {
      const std::size_t bytes = std::max(bytes_min, usual_bytes);
      taken.data = std::make_unique_for_overwrite<std::byte[]>(bytes);
      bytes_ += bytes - std::exchange(taken.bytes, bytes);
    }
    taken.open = true;
    return taken;
  }

  /// Memory of all of them, and how much more there will be after `take(bytes_min)`.
  std::size_t bytes() const noexcept { return bytes_; }
  std::size_t growth(std::size_t bytes_min) noexcept {
    const auto free = free_for(bytes_min);
    const std::size_t before = free != all_.end() ? free->bytes : 0;
    return before > 0 && before >= bytes_min ? 0 : std::max(bytes_min, usual_bytes) - before;
  }

  /// Frees the memory of buffers that are not in use; returns how much it was.
  std::size_t release_free() noexcept {
    std::size_t released = 0;
    for (bounce_buffer& each : all_) {
      if (!is_free(each)) continue;
      released += std::exchange(each.bytes, 0);
      each.data.reset();
    }
    bytes_ -= released;
    return released;
  }

  /// Whether the event is that of a buffer.
  bool has(const awaited& told) const noexcept {
    return std::ranges::any_of(all_, [&](const bounce_buffer& each) { return &each.source_free == &told; });
  }

  /// Whether nothing is under way from any of them.
  bool quiet() const noexcept {
    return std::ranges::all_of(all_, [](const bounce_buffer& each) { return each.source_free.done(); });
  }

 private:
  static bool is_free(const bounce_buffer& each) noexcept { return !each.open && each.source_free.done(); }

  std::deque<bounce_buffer>::iterator free_for(std::size_t bytes_min) noexcept {
    auto best = std::ranges::find_if(all_, is_free);
    for (auto each = best; each != all_.end(); ++each) {
      if (!is_free(*each) || each->bytes < bytes_min) continue;
      if (best->bytes < bytes_min || each->bytes < best->bytes) best = each;
    }
    return best;
  }

  std::deque<bounce_buffer> all_;
  std::size_t bytes_ = 0;
};

}  // namespace amity::core
