#pragma once

/// Handles that a decorator gives in place of the fabric's own: without a direct address, since what bypasses the
/// fabric can be neither checked nor counted.

#include <cstdint>
#include <unordered_map>

#include "amity/fabric/fabric.hpp"

namespace amity::fabric {

/// The capabilities of such a decorator: handles have no direct address.
inline void hide_direct(capabilities& caps) {
  caps.remote.mapped = false;
  if (caps.remote_on_node) caps.remote_on_node->mapped = false;
}

class handle_table {
 public:
  struct entry {
    remote_handle inner;
    rank_t owner;
  };

  remote_handle open(const remote_handle& inner, rank_t owner) {
    opened_.emplace(++last_, entry{inner, owner});
    return {.direct = nullptr, .bytes = inner.bytes, .id = last_, .atomics = inner.atomics};
  }
  /// Null if there is no such handle.
  const entry* find(const remote_handle& outer) const noexcept {
    const auto found = opened_.find(outer.id);
    return found == opened_.end() || found->second.inner.bytes != outer.bytes ? nullptr : &found->second;
  }
  void close(const remote_handle& outer) noexcept { opened_.erase(outer.id); }

  std::size_t size() const noexcept { return opened_.size(); }
  /// One of them; there is one.
  const entry& any() const noexcept { return opened_.begin()->second; }

 private:
  std::uint64_t last_ = 0;
  std::unordered_map<std::uint64_t, entry> opened_;
};

}  // namespace amity::fabric
