/// Segments, puts, gets and atomics of C.

#include <algorithm>
#include <bit>
#include <vector>

#include <fmt/format.h>

#include "amity/interop/c/world.hpp"

namespace amity::c {
namespace {

// That of C is that of C++, as bytes.
static_assert(sizeof(amity_segment_descriptor) == sizeof(core::segment_descriptor));

static_assert(AMITY_FETCH == static_cast<int>(fabric::atomic_op::fetch) &&
              AMITY_SWAP == static_cast<int>(fabric::atomic_op::swap) &&
              AMITY_COMPARE_SWAP == static_cast<int>(fabric::atomic_op::compare_swap) &&
              AMITY_ADD == static_cast<int>(fabric::atomic_op::add) &&
              AMITY_AND == static_cast<int>(fabric::atomic_op::bit_and) &&
              AMITY_OR == static_cast<int>(fabric::atomic_op::bit_or) &&
              AMITY_XOR == static_cast<int>(fabric::atomic_op::bit_xor));

core::event* event_or_none(amity_event* given) noexcept { return given == nullptr ? nullptr : &event(*given); }

/// As the thread of `world` reaches it.
const core::remote_segment& opened(const amity_world& world, const amity_remote_segment* segment) {
  check_given(world, segment, "the segment");
  if (segment->bytes > 0 && segment->id < world.opened.size()) [[likely]] {
    const core::remote_segment& found = world.opened[segment->id];
    if (found.lane == segment->owner && found.number == segment->number) [[likely]]
      return found;
  }
  mistake(world, "the segment is not open", "use what amity_segment_exchange or amity_segment_open gave");
}

amity_remote_segment given(const rank& all, std::uint64_t id) {
  const core::remote_segment& made = all.threads[0]->opened[id];
  return {.owner = made.lane, .number = made.number, .direct = made.handle.direct, .bytes = made.bytes(), .id = id};
}

core::local_segment own_of(const amity_local_segment& own) {
  return {.data = static_cast<std::byte*>(own.data),
          .bytes = own.bytes,
          .descriptor = std::bit_cast<core::segment_descriptor>(own.descriptor)};
}

/// Longs come to a segment on the thread that has made it, so that one makes them which handles requests.
template <class Make>
void make_segment(amity_world& world, amity_local_segment& own, Make&& make) {
  core::local_segment made;
  for_all_threads(world).at_home([&](amity_world& home) { made = make(home.memory); });
  own = {
      .data = made.data, .bytes = made.bytes, .descriptor = std::bit_cast<amity_segment_descriptor>(made.descriptor)};
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

core::remote_address place(const amity_world& world, const amity_remote_segment* segment, std::size_t offset) {
  return {.segment = opened(world, segment), .offset = offset};
}

}  // namespace amity::c

using amity::c::bytes, amity::c::check_given, amity::c::event, amity::c::guarded, amity::c::place;

// Segments

amity_status amity_segment_allocate(amity_world* world, size_t size, amity_local_segment* own) {
  return guarded(world, "amity_segment_allocate", [&] {
    check_given(*world, own, "own");
    amity::c::make_segment(*world, *own, [&](auto& memory) { return memory.allocate(size); });
  });
}

amity_status amity_segment_attach(amity_world* world, void* memory, size_t size, amity_local_segment* own) {
  return guarded(world, "amity_segment_attach", [&] {
    check_given(*world, memory, "memory");
    check_given(*world, own, "own");
    const amity::mutable_bytes given(static_cast<std::byte*>(memory), size);
    amity::c::make_segment(*world, *own, [&](auto& home) { return home.attach(given); });
  });
}

amity_status amity_segment_release(amity_world* world, amity_local_segment* own) {
  return guarded(world, "amity_segment_release", [&] {
    check_given(*world, own, "own");
    const auto gone = amity::c::own_of(*own);
    amity::c::for_all_threads(*world).at_home([&](amity_world& home) { home.memory.release(gone); });
    *own = {};
  });
}

amity_status amity_segment_exchange(amity_world* world, const amity_local_segment* own, amity_remote_segment* all) {
  return guarded(world, "amity_segment_exchange", [&] {
    check_given(*world, own, "own");
    check_given(*world, all, "all");
    const auto mine = amity::c::own_of(*own);
    amity::c::for_all_threads(*world).at_home(
        [&](amity_world& home) { home.lane.own_engine().served().memory().check_own("exchange", mine); });
    const auto descriptors = amity::core::exchange_descriptors(world->lane, mine.descriptor);
    std::vector<std::uint64_t> opened;
    try {
      for (const auto& each : descriptors) opened.push_back(world->rank.open(each));
    } catch (...) {
      for (const std::uint64_t id : opened) world->rank.close(id);
      throw;
    }
    std::ranges::transform(opened, all, [&](std::uint64_t id) { return amity::c::given(world->rank, id); });
  });
}

amity_status amity_segment_open(amity_world* world, const amity_segment_descriptor* descriptor,
                                amity_remote_segment* opened) {
  return guarded(world, "amity_segment_open", [&] {
    check_given(*world, descriptor, "descriptor");
    check_given(*world, opened, "opened");
    amity::c::rank& all = amity::c::for_all_threads(*world);
    *opened = amity::c::given(all, all.open(std::bit_cast<amity::core::segment_descriptor>(*descriptor)));
  });
}

amity_status amity_segment_close(amity_world* world, amity_remote_segment* opened) {
  return guarded(world, "amity_segment_close", [&] {
    static_cast<void>(amity::c::opened(*world, opened));
    amity::c::for_all_threads(*world).close(opened->id);
    *opened = {};
  });
}

// Operations

amity_status amity_put(amity_world* world, const amity_remote_segment* to, size_t offset, const void* source,
                       size_t size, amity_event* source_free, amity_event* complete) {
  return guarded(world, "amity_put", [&] {
    const amity::core::remote_address there = place(*world, to, offset);
    const amity::bytes_view from = bytes(*world, source, size, "source");
    if (source_free == nullptr && complete == nullptr) return world->memory.put(there, from);
    world->memory.put(
        there, from,
        {.source_free = amity::c::event_or_none(source_free), .complete = amity::c::event_or_none(complete)});
  });
}

amity_status amity_get(amity_world* world, const amity_remote_segment* from, size_t offset, void* result, size_t size,
                       amity_event* complete) {
  return guarded(world, "amity_get", [&] {
    const amity::core::remote_address there = place(*world, from, offset);
    if (size > 0) check_given(*world, result, "result");
    const amity::mutable_bytes to(static_cast<std::byte*>(result), size);
    if (complete == nullptr) return world->memory.get(there, to);
    world->memory.get(there, to, event(*complete));
  });
}

amity_status amity_atomic(amity_world* world, const amity_remote_segment* at, size_t offset,
                          const amity_atomic_request* what, uint64_t* previous, amity_event* complete) {
  return guarded(world, "amity_atomic", [&] {
    const amity::core::remote_address there = place(*world, at, offset);
    const auto wanted = amity::c::atomic_of(*world, what);
    if (complete != nullptr) return world->memory.atomic(there, wanted, previous, event(*complete));
    const std::uint64_t before = world->memory.atomic(there, wanted);
    if (previous != nullptr) *previous = before;
  });
}
