#include "amity/world/thread.hpp"

#include <algorithm>

#include "amity/base/error.hpp"

namespace amity {

thread::range thread::share(std::uint64_t numbers) const noexcept {
  const auto threads = static_cast<std::uint64_t>(count());
  const auto index = static_cast<std::uint64_t>(thread_index());
  const std::uint64_t small = numbers / threads, larger = numbers % threads;
  const std::uint64_t first = index * small + std::min(index, larger);
  return {.first = first, .last = first + small + (index < larger ? 1 : 0)};
}

bool thread::poll() {
  lane_.check_thread("world::poll");
  if (lane_.in_handler()) {
    throw error("world::poll", lane_.rank(), "a handler tried to poll, which would run handlers inside a handler",
                "return from the handler instead; its sends go out by themselves");
  }
  core::engine& engine = lane_.own_engine();
  const bool any = lane_.progress() || engine.flush_all();
  engine.polled(lane_, "a loop that calls world::poll",
                any ? core::engine::poll_round::eventful : core::engine::poll_round::idle);
  return any;
}

}  // namespace amity
