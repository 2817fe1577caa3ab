#pragma once

/// What the worlds of one rank share.
///
/// The endpoint of the job's own world stands on the rank's fabric and takes the packets for all of them; the others
/// stand on a sub_fabric each. Handlers run one at a time on a rank, whichever world they belong to, and an exception
/// that leaves one of them ends the job in all worlds.

#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <string>
#include <vector>

#include "amity/base/types.hpp"
#include "amity/core/inbox.hpp"
#include "amity/core/memory_bound.hpp"
#include "amity/core/outbox.hpp"
#include "amity/core/packet_header.hpp"

namespace amity::core {

class crew;
class endpoint;
class sub_fabric;

class alignas(cache_line_bytes) rank_worlds {
 public:
  static constexpr std::size_t numbers = 256;
  /// Bit n of word n / 64: number n is in use.
  using number_set = std::array<std::uint64_t, numbers / 64>;

  struct member {
    endpoint* owner = nullptr;   ///< null: this number is free
    sub_fabric* road = nullptr;  ///< null for the job's own world
  };

  /// What waits to be sent takes at most `memory_bytes_max`; packets have at most `packet_bytes_max` bytes.
  rank_worlds(std::size_t memory_bytes_max, std::size_t packet_bytes_max)
      : unsent(memory, packet_bytes_max), memory(memory_bytes_max) {}

  // The first line is what every round of progress looks at; so is the line where the inbox ends and the outbox begins.
  // A simulated rank finds them cold.

  /// The endpoint that must not block now, because one of its handlers or a flush runs; null if none.
  const endpoint* running = nullptr;
  std::uint64_t handlers_run = 0;  ///< so far, and the one that runs
  /// The threads of the rank, which may wait for what handlers do here; null: this is the only one.
  crew* threads = nullptr;
  /// Of a handler, or from `endpoint::fail`; every call that makes progress rethrows it.
  std::exception_ptr failure;
  std::size_t questions = 0;  ///< packets of `peer_questions` since the last poll: they are no progress

 private:
  std::vector<member> members_;  ///< by number

 public:
  inbox not_due;
  outbox unsent;
  memory_bound memory;        ///< of what waits to be sent
  std::string failure_place;  ///< of the handler that has thrown

  /// Whether the job's own world is the only one: nothing is listed then.
  bool alone() const noexcept { return members_.empty(); }
  std::size_t count() const noexcept { return members_.empty() ? 1 : count_; }
  number_set used() const noexcept;

  void add(endpoint& root, endpoint& owner, sub_fabric& road);
  void remove(world_number number) noexcept;

  const member* find(world_number number) const noexcept {
    return number < members_.size() && members_[number].owner != nullptr ? &members_[number] : nullptr;
  }
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (const member& each : members_) {
      if (each.owner != nullptr) visit(each);
    }
  }

 private:
  std::size_t count_ = 0;
};

}  // namespace amity::core
