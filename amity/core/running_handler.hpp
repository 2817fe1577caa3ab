#pragma once

/// The handler that runs on a thread of a rank, if any: nothing may block meanwhile.

#include <cstdint>
#include <utility>

namespace amity::core {

class endpoint;

class running_handler {
 public:
  /// The world that must not block now, because one of its handlers or a flush runs; null if none.
  const endpoint* world() const noexcept { return world_; }
  /// Whether nothing may block now.
  bool exists() const noexcept { return world_ != nullptr; }
  /// Returns the one before.
  const endpoint* set_world(const endpoint* of) noexcept { return std::exchange(world_, of); }
  void begin(const endpoint& of) noexcept {
    world_ = &of;
    ++count_;
  }
  void end() noexcept { world_ = nullptr; }
  /// Handlers that have been begun.
  std::uint64_t count() const noexcept { return count_; }
  /// The number of the handler that runs; 0: none.
  std::uint64_t number() const noexcept { return world_ != nullptr ? count_ : 0; }

 private:
  const endpoint* world_ = nullptr;
  std::uint64_t count_ = 0;
};

}  // namespace amity::core
