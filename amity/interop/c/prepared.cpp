/// Payloads that C writes in place.

#include <new>
#include <utility>
#include <variant>

#include "amity/core/prepared.hpp"
#include "amity/interop/c/world.hpp"

namespace amity::c {
namespace {

/// What lies in the opaque words.
struct kept_buffer {
  amity_world* world;
  std::variant<std::monostate, core::prepared_medium, core::prepared_long> buffer;  ///< none: it has ended
};
static_assert(sizeof(kept_buffer) <= sizeof(amity_prepared::opaque) && alignof(kept_buffer) <= alignof(void*));

kept_buffer& kept_in(amity_prepared& prepared) noexcept {
  return *std::launder(reinterpret_cast<kept_buffer*>(prepared.opaque));
}

amity_world* world_of(const amity_prepared* prepared) noexcept {
  return prepared == nullptr ? nullptr : static_cast<amity_world*>(prepared->opaque[0]);
}

template <class Buffer>
void keep(amity_world& world, amity_prepared& prepared, Buffer&& buffer) {
  prepared.payload = buffer.payload().data();
  prepared.payload_bytes = buffer.payload().size();
  new (prepared.opaque) kept_buffer{&world, std::forward<Buffer>(buffer)};
  ++world.prepared;
}

void end(amity_world& world, amity_prepared& prepared) noexcept {
  kept_in(prepared).buffer.emplace<std::monostate>();
  prepared.payload = nullptr;
  prepared.payload_bytes = 0;
  --world.prepared;
}

/// `work(buffer)` of whichever kind it is.
template <class Work>
void with_buffer(amity_world& world, amity_prepared& prepared, Work&& work) {
  auto& buffer = kept_in(prepared).buffer;
  if (auto* const medium = std::get_if<core::prepared_medium>(&buffer)) return work(*medium);
  if (auto* const to_segment = std::get_if<core::prepared_long>(&buffer)) return work(*to_segment);
  mistake(world, "the buffer was committed or cancelled before", "prepare one for each message");
}

}  // namespace
}  // namespace amity::c

using amity::c::check_given, amity::c::guarded, amity::c::keep, amity::c::place, amity::c::running;

amity_status amity_prepare_medium(amity_world* world, int32_t rank, size_t bytes_min, size_t bytes_max,
                                  size_t arg_count, amity_prepared* prepared) {
  return guarded(world, "amity_prepare_medium", [&] {
    check_given(*world, prepared, "prepared");
    keep(*world, *prepared, world->lane.prepare_medium(rank, bytes_min, bytes_max, arg_count));
  });
}

amity_status amity_prepare_long(amity_world* world, const amity_remote_segment* to, size_t offset, size_t bytes_min,
                                size_t bytes_max, size_t arg_count, amity_prepared* prepared) {
  return guarded(world, "amity_prepare_long", [&] {
    check_given(*world, prepared, "prepared");
    keep(*world, *prepared, world->lane.prepare_long(place(*world, to, offset), bytes_min, bytes_max, arg_count));
  });
}

amity_status amity_prepare_reply_medium(amity_request* request, size_t bytes_min, size_t bytes_max, size_t arg_count,
                                        amity_prepared* prepared) {
  amity_world* const world = amity_request_world(request);
  return guarded(
      world, "amity_prepare_reply_medium",
      [&] {
        check_given(*world, prepared, "prepared");
        keep(*world, *prepared, running(*request).prepare_reply_medium(bytes_min, bytes_max, arg_count));
      },
      amity::c::no_request);
}

amity_status amity_prepare_reply_long(amity_request* request, const amity_remote_segment* to, size_t offset,
                                      size_t bytes_min, size_t bytes_max, size_t arg_count, amity_prepared* prepared) {
  amity_world* const world = amity_request_world(request);
  return guarded(
      world, "amity_prepare_reply_long",
      [&] {
        check_given(*world, prepared, "prepared");
        keep(*world, *prepared,
             running(*request).prepare_reply_long(place(*world, to, offset), bytes_min, bytes_max, arg_count));
      },
      amity::c::no_request);
}

amity_status amity_prepared_commit(amity_prepared* prepared, amity_handler handler, size_t bytes, const uint64_t* args,
                                   size_t arg_count) {
  amity_world* const world = amity::c::world_of(prepared);
  return guarded(
      world, "amity_prepared_commit",
      [&] {
        amity::c::with_buffer(*world, *prepared, [&](auto& buffer) {
          amity::c::check_handler(*world, handler);
          buffer.commit(handler, bytes, amity::c::words(*world, args, arg_count));
        });
        amity::c::end(*world, *prepared);
      },
      amity::c::no_prepared);
}

amity_status amity_prepared_cancel(amity_prepared* prepared) {
  amity_world* const world = amity::c::world_of(prepared);
  return guarded(
      world, "amity_prepared_cancel",
      [&] {
        amity::c::with_buffer(*world, *prepared, [](auto& buffer) { buffer.check_place("amity_prepared_cancel"); });
        amity::c::end(*world, *prepared);
      },
      amity::c::no_prepared);
}
