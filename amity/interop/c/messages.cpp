/// Handlers, requests and replies of C.

#include <exception>
#include <utility>

#include <fmt/format.h>

#include "amity/interop/c/world.hpp"

static_assert(AMITY_ARGS_MAX == amity::core::args_max, "amity.h: AMITY_ARGS_MAX is the core's args_max");

namespace amity::c {
namespace {

static_assert(std::is_same_v<amity_handler, core::handler_id>);

/// Says for which message a request of the world stands while a handler runs.
class run : private immovable {
 public:
  run(amity_world& world, core::request& message)
      : request_(world.requests[world.request_next++ % world.requests.size()]) {
    request_.running = &message;
  }
  ~run() { request_.running = nullptr; }

  amity_request* request() noexcept { return &request_; }

 private:
  amity_request& request_;
};

std::uint64_t run_handler(void* context, const core::inbound& packet) {
  const auto& handler = *static_cast<amity_world::registered*>(context);
  core::request message(handler.owner->lane, packet);
  amity_world& world = *handler.owner;
  run this_one(world, message);
  const std::size_t prepared = world.prepared;
  handler.function(this_one.request(), handler.context);
  if (world.prepared > prepared) [[unlikely]] {
    throw error("a handler", world.lane.rank(), "it has returned without the end of a message that it has prepared",
                "commit or cancel what is prepared");
  }
  return 1;
}

core::request* running_of(const amity_request* request) { return request == nullptr ? nullptr : request->running; }

/// As `guarded`; `work(world, message)` replies.
template <class Work>
amity_status guarded_reply(amity_request* request, const char* call, amity_handler handler, Work&& work) noexcept {
  amity_world* const world = request == nullptr ? nullptr : request->world;
  return guarded(
      world, call,
      [&] {
        core::request& message = running(*request);
        check_handler(*world, handler);
        work(*world, message);
      },
      no_request);
}

}  // namespace

core::request& running(const amity_request& request) {
  if (request.running == nullptr) {
    mistake(*request.world, "the handler of the request has returned",
            "reply while it runs; a later answer is a request");
  }
  return *request.running;
}

}  // namespace amity::c

using amity::c::bytes, amity::c::check_given, amity::c::check_handler, amity::c::guarded, amity::c::guarded_reply,
    amity::c::place, amity::c::running_of, amity::c::words;

// Handlers

amity_status amity_handler_add(amity_world* world, const char* name, amity_handler_function function, void* context,
                               amity_handler* handler) {
  return guarded(world, "amity_handler_add", [&] {
    check_given(*world, name, "name");
    check_given(*world, reinterpret_cast<const void*>(function), "function");
    check_given(*world, handler, "handler");
    amity::core::handler_id made = 0;
    amity::c::for_all_threads(*world).on_threads([&](amity_world& own) {
      auto added = std::make_unique<amity_world::registered>(&own, function, context);
      const amity::core::handler_id id = own.lane.add_handler(name, amity::c::run_handler, added.get());
      if (own.handlers.size() <= id) own.handlers.resize(id + std::size_t{1});
      own.handlers[id] = std::move(added);
      if (&own == world) made = id;
    });
    *handler = made;
  });
}

amity_status amity_handler_remove(amity_world* world, amity_handler handler) {
  return guarded(world, "amity_handler_remove", [&] {
    check_handler(*world, handler);
    amity::c::for_all_threads(*world).on_threads([&](amity_world& own) {
      own.lane.remove_handler(handler);
      own.handlers[handler].reset();
    });
  });
}

amity_status amity_handlers_agree(amity_world* world) {
  return guarded(world, "amity_handlers_agree", [&] {
    amity::world& job = amity::c::for_rank(*world).own;
    const auto& own = world->lane.handlers();
    const auto size = static_cast<std::uint64_t>(world->lane.size());
    const auto rank = static_cast<std::uint64_t>(world->lane.rank());
    const std::uint64_t of_rank_0 = job.sum(rank == 0 ? own.fingerprint() : 0);
    const std::uint64_t first_other = job.min(own.fingerprint() == of_rank_0 ? size : rank);
    if (first_other == size) return;
    amity::c::mistake(*world,
                      fmt::format("rank {} has other handlers than rank 0; here are: {}", first_other, own.describe()),
                      "add the same handlers, by the same names and in the same order, on all ranks");
  });
}

// Requests

amity_status amity_request_short(amity_world* world, int32_t rank, amity_handler handler, const uint64_t* args,
                                 size_t arg_count) {
  return guarded(world, "amity_request_short", [&] {
    check_handler(*world, handler);
    world->lane.request_short(rank, handler, words(*world, args, arg_count));
  });
}

amity_status amity_request_medium(amity_world* world, int32_t rank, amity_handler handler, const void* payload,
                                  size_t payload_bytes, const uint64_t* args, size_t arg_count) {
  return guarded(world, "amity_request_medium", [&] {
    check_handler(*world, handler);
    world->lane.request_medium(rank, handler, bytes(*world, payload, payload_bytes, "payload"),
                               words(*world, args, arg_count));
  });
}

amity_status amity_request_long(amity_world* world, const amity_remote_segment* to, size_t offset,
                                amity_handler handler, const void* payload, size_t payload_bytes, const uint64_t* args,
                                size_t arg_count, amity_event* source_free) {
  return guarded(world, "amity_request_long", [&] {
    check_handler(*world, handler);
    const amity::core::remote_address there = place(*world, to, offset);
    const amity::bytes_view data = bytes(*world, payload, payload_bytes, "payload");
    if (source_free == nullptr) return world->lane.request_long(there, handler, data, words(*world, args, arg_count));
    world->lane.request_long(there, handler, data, words(*world, args, arg_count), amity::c::event(*source_free));
  });
}

// In a handler

amity_world* amity_request_world(const amity_request* request) { return request == nullptr ? nullptr : request->world; }

int32_t amity_request_source(const amity_request* request) {
  const auto* const message = running_of(request);
  return message == nullptr ? -1 : message->source();
}

int amity_request_is_reply(const amity_request* request) {
  const auto* const message = running_of(request);
  return message != nullptr && message->is_reply() ? 1 : 0;
}

const uint64_t* amity_request_args(const amity_request* request) {
  const auto* const message = running_of(request);
  return message == nullptr ? nullptr : message->args().data();
}

size_t amity_request_arg_count(const amity_request* request) {
  const auto* const message = running_of(request);
  return message == nullptr ? 0 : message->args().size();
}

const void* amity_request_payload(const amity_request* request) {
  const auto* const message = running_of(request);
  return message == nullptr ? nullptr : message->payload().data();
}

size_t amity_request_payload_bytes(const amity_request* request) {
  const auto* const message = running_of(request);
  return message == nullptr ? 0 : message->payload().size();
}

amity_status amity_reply_short(amity_request* request, amity_handler handler, const uint64_t* args, size_t arg_count) {
  return guarded_reply(request, "amity_reply_short", handler, [&](amity_world& world, amity::core::request& message) {
    message.reply_short(handler, words(world, args, arg_count));
  });
}

amity_status amity_reply_medium(amity_request* request, amity_handler handler, const void* payload,
                                size_t payload_bytes, const uint64_t* args, size_t arg_count) {
  return guarded_reply(request, "amity_reply_medium", handler, [&](amity_world& world, amity::core::request& message) {
    message.reply_medium(handler, bytes(world, payload, payload_bytes, "payload"), words(world, args, arg_count));
  });
}

amity_status amity_reply_long(amity_request* request, const amity_remote_segment* to, size_t offset,
                              amity_handler handler, const void* payload, size_t payload_bytes, const uint64_t* args,
                              size_t arg_count, amity_event* source_free) {
  return guarded_reply(request, "amity_reply_long", handler, [&](amity_world& world, amity::core::request& message) {
    check_given(world, source_free, "source_free, for which a handler would wait,");
    message.reply_long(place(world, to, offset), handler, bytes(world, payload, payload_bytes, "payload"),
                       words(world, args, arg_count), amity::c::event(*source_free));
  });
}
