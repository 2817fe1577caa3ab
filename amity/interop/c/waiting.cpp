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
    world->lane.check_own_call("amity_event_wait");
    if (amity_event_done(event) == 0) {
      world->memory.wait(*std::launder(reinterpret_cast<const amity::core::event*>(event->opaque)));
    }
  });
}

amity_event* amity_event_implicit(amity_world* world) { return world == nullptr ? nullptr : &world->implicit; }

amity_status amity_world_poll(amity_world* world) {
  return guarded(world, "amity_world_poll", [&] { amity::thread(world->lane).poll(); });
}

amity_status amity_world_wait_until(amity_world* world, const char* where, int (*done)(void* context), void* context) {
  return guarded(world, "amity_world_wait_until", [&] {
    check_given(*world, reinterpret_cast<const void*>(done), "done");
    world->lane.check_own_call("amity_world_wait_until");
    const auto is_done = [&] { return amity::c::run_program(*world, [&] { return done(context) != 0; }); };
    world->rank.own.team().wait_until(world->lane, where == nullptr ? "amity_world_wait_until" : where, is_done);
  });
}

// Collectives

amity_status amity_world_barrier(amity_world* world) {
  return guarded(world, "amity_world_barrier", [&] { amity::c::for_rank(*world).own.barrier(); });
}

amity_status amity_world_reduce(amity_world* world, int operation, uint64_t value, uint64_t* result) {
  return guarded(world, "amity_world_reduce", [&] {
    check_given(*world, result, "result");
    amity::world& own = amity::c::for_rank(*world).own;
    switch (operation) {
      case AMITY_SUM:
        *result = own.sum(value);
        return;
      case AMITY_MIN:
        *result = own.min(value);
        return;
      case AMITY_MAX:
        *result = own.max(value);
        return;
    }
    amity::c::mistake(*world, fmt::format("{} is no reduction", operation), "use AMITY_SUM, AMITY_MIN or AMITY_MAX");
  });
}

// Epochs

namespace {

std::unique_ptr<amity::epoch::open_epoch>& begun(amity_world& world) {
  auto& epoch = amity::c::for_rank(world).epoch;
  if (epoch == nullptr) {
    amity::c::mistake(world, "no epoch has begun", "call amity_epoch_begin before, on all ranks");
  }
  return epoch;
}

}  // namespace

amity_status amity_epoch_begin(amity_world* world) {
  return guarded(world, "amity_epoch_begin", [&] {
    amity::c::rank& all = amity::c::for_rank(*world);
    // Of what cannot be moved, this makes the object in its place.
    std::unique_ptr<amity::epoch::open_epoch> next(new auto(all.own.begin_epoch()));
    all.epoch = std::move(next);
  });
}

amity_status amity_epoch_end(amity_world* world) {
  return guarded(world, "amity_epoch_end", [&] {
    auto& epoch = begun(*world);
    epoch->end();
    epoch.reset();
  });
}

amity_status amity_epoch_try_end(amity_world* world, int* ended) {
  return guarded(world, "amity_epoch_try_end", [&] {
    check_given(*world, ended, "ended");
    auto& epoch = begun(*world);
    *ended = epoch->try_end() ? 1 : 0;
    if (*ended != 0) epoch.reset();
  });
}
