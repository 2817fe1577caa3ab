/// Progress, events, collectives and epochs of C.

#include <fmt/format.h>

#include "amity/interop/c/world.hpp"

using amity::c::check_given, amity::c::guarded;

int amity_event_done(const amity_event* event) {
  if (event == nullptr || event->opaque[0] == nullptr) return 1;
  return std::launder(reinterpret_cast<const amity::core::event*>(event->opaque))->done() ? 1 : 0;
}

amity_status amity_event_wait(amity_world* world, const amity_event* event) {
  return guarded(world, "amity_event_wait", [&] {
    check_given(*world, event, "the event");
    if (amity_event_done(event) == 0) {
      world->memory.wait(*std::launder(reinterpret_cast<const amity::core::event*>(event->opaque)));
    }
  });
}

amity_event* amity_event_implicit(amity_world* world) { return world == nullptr ? nullptr : &world->implicit; }

amity_status amity_world_poll(amity_world* world) {
  return guarded(world, "amity_world_poll", [&] { world->own.poll(); });
}

amity_status amity_world_wait_until(amity_world* world, const char* where, int (*done)(void* context), void* context) {
  return guarded(world, "amity_world_wait_until", [&] {
    check_given(*world, reinterpret_cast<const void*>(done), "done");
    world->lane.wait_until(where == nullptr ? "amity_world_wait_until" : where, [&] { return done(context) != 0; });
  });
}

// Collectives

amity_status amity_world_barrier(amity_world* world) {
  return guarded(world, "amity_world_barrier", [&] { world->own.barrier(); });
}

amity_status amity_world_reduce(amity_world* world, int operation, uint64_t value, uint64_t* result) {
  return guarded(world, "amity_world_reduce", [&] {
    check_given(*world, result, "result");
    switch (operation) {
      case AMITY_SUM:
        *result = world->own.sum(value);
        return;
      case AMITY_MIN:
        *result = world->own.min(value);
        return;
      case AMITY_MAX:
        *result = world->own.max(value);
        return;
    }
    amity::c::mistake(*world, fmt::format("{} is no reduction", operation), "use AMITY_SUM, AMITY_MIN or AMITY_MAX");
  });
}

// Epochs

namespace {

amity::epoch::open_epoch& begun(amity_world& world) {
  if (world.epoch == nullptr) {
    amity::c::mistake(world, "no epoch has begun", "call amity_epoch_begin before, on all ranks");
  }
  return *world.epoch;
}

}  // namespace

amity_status amity_epoch_begin(amity_world* world) {
  return guarded(world, "amity_epoch_begin", [&] {
    // Of what cannot be moved, this makes the object in its place.
    std::unique_ptr<amity::epoch::open_epoch> next(new auto(world->own.begin_epoch()));
    world->epoch = std::move(next);
  });
}

amity_status amity_epoch_end(amity_world* world) {
  return guarded(world, "amity_epoch_end", [&] {
    begun(*world).end();
    world->epoch.reset();
  });
}

amity_status amity_epoch_try_end(amity_world* world, int* ended) {
  return guarded(world, "amity_epoch_try_end", [&] {
    check_given(*world, ended, "ended");
    *ended = begun(*world).try_end() ? 1 : 0;
    if (*ended != 0) world->epoch.reset();
  });
}
