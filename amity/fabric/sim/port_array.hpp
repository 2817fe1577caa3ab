#pragma once

/// The ranks of a job, side by side in large pages: senders touch them all over, and each access would otherwise wait
/// for an address translation too. They are made one after the other and do not move.

#include <cstddef>
#include <memory>
#include <utility>

#include "amity/base/assert.hpp"
#include "amity/base/large_array.hpp"
#include "amity/fabric/sim/port.hpp"

namespace amity::fabric::sim {

class port_array : private immovable {
 public:
  explicit port_array(rank_t room)
      : room_(static_cast<std::size_t>(room)), first_(large_page_allocator<port>().allocate(room_)) {}
  ~port_array() {
    std::destroy(begin(), end());
    large_page_allocator<port>().deallocate(first_, room_);
  }

  template <class... Arguments>
  void add(Arguments&&... arguments) {
    AMITY_ASSERT(made_ < room_, room_);
    std::construct_at(first_ + made_, std::forward<Arguments>(arguments)...);
    ++made_;
  }

  rank_t size() const noexcept { return static_cast<rank_t>(made_); }
  port& operator[](rank_t rank) noexcept { return first_[rank]; }
  port* begin() noexcept { return first_; }
  port* end() noexcept { return first_ + made_; }
  const port* begin() const noexcept { return first_; }
  const port* end() const noexcept { return first_ + made_; }

 private:
  std::size_t room_;
  std::size_t made_ = 0;
  port* first_;
};

}  // namespace amity::fabric::sim
