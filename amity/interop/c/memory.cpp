/// Segments, puts, gets and atomics of C.

#include <algorithm>
#include <bit>
#include <cstring>

#include <fmt/format.h>

#include "amity/interop/c/world.hpp"

namespace amity::c {
namespace {

// Those of C are those of C++, as bytes.
static_assert(sizeof(amity_segment_name) == sizeof(core::segment_name));
static_assert(sizeof(amity_peer_segment) == sizeof(core::peer_segment));
static_assert(offsetof(amity_peer_segment, direct) == offsetof(core::peer_segment, handle));

static_assert(AMITY_FETCH == static_cast<int>(fabric::atomic_op::fetch) &&
              AMITY_SWAP == static_cast<int>(fabric::atomic_op::swap) &&
              AMITY_COMPARE_SWAP == static_cast<int>(fabric::atomic_op::compare_swap) &&
              AMITY_ADD == static_cast<int>(fabric::atomic_op::add) &&
              AMITY_AND == static_cast<int>(fabric::atomic_op::bit_and) &&
              AMITY_OR == static_cast<int>(fabric::atomic_op::bit_or) &&
              AMITY_XOR == static_cast<int>(fabric::atomic_op::bit_xor));

core::event* event_or_none(amity_event* given) noexcept { return given == nullptr ? nullptr : &event(*given); }

core::peer_segment opened(const amity_world& world, const amity_peer_segment* segment) {
  check_given(world, segment, "the segment");
  if (segment->bytes == 0 || segment->owner < 0 || segment->owner >= world.lane.lanes()) {
    mistake(world, "the segment is not open", "use what amity_segment_exchange or amity_segment_open gave");
  }
  return std::bit_cast<core::peer_segment>(*segment);
}

auto own_by(amity_world& world, const amity_segment& own) {
  // By name: memory of the program's own may be several segments.
  const auto is_it = [&](const core::own_segment& each) {
    const auto name = std::bit_cast<amity_segment_name>(each.name);
    return each.data == own.data && std::memcmp(&name, &own.name, sizeof name) == 0;
  };
  const auto known = std::ranges::find_if(world.segments, is_it);
  if (own.data == nullptr || known == world.segments.end()) {
    mistake(world, "the segment is none of this rank's", "use what amity_segment_allocate gave, before its release");
  }
  return known;
}

void keep(amity_world& world, const core::own_segment& made, amity_segment& own) {
  world.segments.push_back(made);
  own = {.data = made.data, .bytes = made.bytes, .name = std::bit_cast<amity_segment_name>(made.name)};
}

fabric::atomic_request atomic_of(const amity_world& world, const amity_atomic_request* what) {
  check_given(world, what, "the operation");
  if (what->operation < AMITY_FETCH || what->operation > AMITY_XOR) {
    mistake(world, fmt::format("{} is no atomic operation", what->operation), "use AMITY_FETCH to AMITY_XOR");
  }
  if (what->bytes != 4 && what->bytes != 8) {
    mistake(world, fmt::format("a word of {} bytes", what->bytes), "use words of 4 or 8 bytes");
  }
  return {.op = static_cast<fabric::atomic_op>(what->operation),
          .bytes = static_cast<std::uint8_t>(what->bytes),
          .operand = what->operand,
          .expected = what->expected};
}

}  // namespace

core::place place(const amity_world& world, const amity_peer_segment* segment, std::size_t offset) {
  return {.segment = opened(world, segment), .offset = offset};
}

}  // namespace amity::c

using amity::c::bytes, amity::c::check_given, amity::c::event, amity::c::guarded, amity::c::place;

// Segments

amity_status amity_segment_allocate(amity_world* world, size_t size, amity_segment* own) {
  return guarded(world, "amity_segment_allocate", [&] {
    check_given(*world, own, "own");
    amity::c::keep(*world, world->memory.allocate(size), *own);
  });
}

amity_status amity_segment_attach(amity_world* world, void* memory, size_t size, amity_segment* own) {
  return guarded(world, "amity_segment_attach", [&] {
    check_given(*world, memory, "memory");
    check_given(*world, own, "own");
    amity::c::keep(*world, world->memory.attach({static_cast<std::byte*>(memory), size}), *own);
  });
}

amity_status amity_segment_release(amity_world* world, amity_segment* own) {
  return guarded(world, "amity_segment_release", [&] {
    check_given(*world, own, "own");
    const auto known = amity::c::own_by(*world, *own);
    world->memory.release(*known);
    world->segments.erase(known);
    *own = {};
  });
}

amity_status amity_segment_exchange(amity_world* world, const amity_segment* own, amity_peer_segment* all) {
  return guarded(world, "amity_segment_exchange", [&] {
    check_given(*world, own, "own");
    check_given(*world, all, "all");
    const auto opened = world->memory.exchange(*amity::c::own_by(*world, *own));
    std::ranges::transform(opened, all, [](const auto& each) { return std::bit_cast<amity_peer_segment>(each); });
  });
}

amity_status amity_segment_open(amity_world* world, int32_t rank, const amity_segment_name* name,
                                amity_peer_segment* opened) {
  return guarded(world, "amity_segment_open", [&] {
    check_given(*world, name, "name");
    check_given(*world, opened, "opened");
    *opened =
        std::bit_cast<amity_peer_segment>(world->memory.open(rank, std::bit_cast<amity::core::segment_name>(*name)));
  });
}

amity_status amity_segment_close(amity_world* world, amity_peer_segment* opened) {
  return guarded(world, "amity_segment_close", [&] {
    world->memory.close(amity::c::opened(*world, opened));
    *opened = {};
  });
}

// Operations

amity_status amity_put(amity_world* world, const amity_peer_segment* to, size_t offset, const void* source, size_t size,
                       amity_event* source_free, amity_event* complete) {
  return guarded(world, "amity_put", [&] {
    const amity::core::place there = place(*world, to, offset);
    const amity::bytes_view from = bytes(*world, source, size, "source");
    if (source_free == nullptr && complete == nullptr) return world->memory.put(there, from);
    world->memory.put(
        there, from,
        {.source_free = amity::c::event_or_none(source_free), .complete = amity::c::event_or_none(complete)});
  });
}

amity_status amity_get(amity_world* world, const amity_peer_segment* from, size_t offset, void* result, size_t size,
                       amity_event* complete) {
  return guarded(world, "amity_get", [&] {
    const amity::core::place there = place(*world, from, offset);
    if (size > 0) check_given(*world, result, "result");
    const amity::mutable_bytes to(static_cast<std::byte*>(result), size);
    if (complete == nullptr) return world->memory.get(there, to);
    world->memory.get(there, to, event(*complete));
  });
}

amity_status amity_atomic(amity_world* world, const amity_peer_segment* at, size_t offset,
                          const amity_atomic_request* what, uint64_t* previous, amity_event* complete) {
  return guarded(world, "amity_atomic", [&] {
    const amity::core::place there = place(*world, at, offset);
    const auto wanted = amity::c::atomic_of(*world, what);
    if (complete != nullptr) return world->memory.atomic(there, wanted, previous, event(*complete));
    const std::uint64_t before = world->memory.atomic(there, wanted);
    if (previous != nullptr) *previous = before;
  });
}
