#pragma once

/// How PEs that have met in a barrier know that all messages are handled: each shows to all how many it has sent and
/// how many it has handled. And how often it has known that: those whom it has left behind need not know more.

#include <atomic>
#include <cstdint>

#include "amity/interop/shmem/am/record.hpp"

namespace amity::shmem {

/// What this PE shows, and what the others do. Changed and looked at by one thread at a time.
template <class Substrate>
class traffic {
 public:
  /// Collective.
  traffic() : own_(static_cast<counts*>(Substrate::allocate(sizeof(counts)))) {}

  /// Before the message becomes visible.
  void count_sent() noexcept {
    // Release; pairs with settle(), which then sees what this PE has seen.
    std::atomic_ref(own_->settled).store(settled_, std::memory_order_release);
    std::atomic_ref(own_->sent).store(own_->sent + 1, std::memory_order_release);
  }
  /// Once for several messages: PEs that have come to a barrier read the line again and again.
  void show_handled(std::uint64_t messages) noexcept {
    // Release; pairs with settle(), which then sees the replies and all that the handlers did.
    std::atomic_ref(own_->handled).store(messages, std::memory_order_release);
  }

  /// Whether nothing was under way at some moment after all PEs have come to a barrier: as a message counts as sent
  /// before it counts as handled, there was one if as many have been handled in a first look as have been sent in a
  /// second one (Mattern 1987). All PEs must be mapped. Who has been told so goes on, and may send again.
  bool settle() noexcept {
    if (!is_settled()) return false;
    ++settled_;
    return true;
  }

 private:
  /// While there are no messages this line stays in the caches of those who have seen it.
  struct alignas(line_bytes) counts {
    std::uint64_t sent;     ///< messages, replies among them
    std::uint64_t handled;  ///< likewise
    std::uint64_t settled;  ///< how often, before the last one was sent
  };

  bool is_settled() const noexcept {
    std::uint64_t under_way = 0;
    for (int pe = 0; pe < Substrate::pes(); ++pe) under_way -= load(Substrate::see(*own_, pe).handled);
    for (int pe = 0; pe < Substrate::pes(); ++pe) {
      const counts& its = Substrate::see(*own_, pe);
      under_way += load(its.sent);
      if (load(its.settled) > settled_) return true;
    }
    return under_way == 0;
  }
  static std::uint64_t load(const std::uint64_t& word) noexcept {
    // Acquire; pairs with count_sent() and show_handled().
    return std::atomic_ref(const_cast<std::uint64_t&>(word)).load(std::memory_order_acquire);
  }

  counts* own_;
  std::uint64_t settled_ = 0;  ///< how often
};

}  // namespace amity::shmem
