#pragma once

/// One of the threads of a rank, as the body of an epoch sees it.

#include <cstdint>

#include "amity/base/types.hpp"
#include "amity/core/endpoint.hpp"

namespace amity {

/// Given by `world::epoch` to a body that asks for it, which then runs on every thread of the rank at once. Used by
/// that thread, during the call. Messages are sent through it: `type.on(thread).send(dest, value)`.
class thread : private immovable {
 public:
  explicit thread(core::endpoint& lane) : lane_(lane) {}

  /// Which one: 0 to `count() - 1`.
  rank_t thread_index() const noexcept { return lane_.thread(); }
  rank_t count() const noexcept { return lane_.program_threads(); }

  /// This thread's share of the numbers 0 to numbers-1: contiguous, and as large as the others' but for one.
  struct range {
    std::uint64_t first;
    std::uint64_t last;  ///< the first number behind the range
  };
  range share(std::uint64_t numbers) const noexcept;

  /// Runs handlers of messages that have arrived for this thread and sends off what it has collected; returns whether
  /// anything happened. Otherwise as `world::poll`.
  bool poll();

 private:
  core::endpoint& lane_;
};

}  // namespace amity
