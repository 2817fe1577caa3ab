/// The way in from C, and the way out.

#include "amity/world/run.hpp"

#include "amity/interop/c/world.hpp"

using amity::c::guarded;

int amity_run(int argc, char** argv, amity_main_function program, void* context) {
  return amity::run(argc, argv, [&](amity::world& own) {
    if (program == nullptr) {
      throw amity::error("amity_run", own.rank(), "the program is null", "give it the function that is a rank's main");
    }
    amity_world handle(own);
    const int status = program(&handle, context);
    if (status == 0) handle.finish();
    handle.print_unread();
    return status;
  });
}

amity_world::~amity_world() {
  if (lane.in_handler()) return;
  for (std::size_t id = 0; id < handlers.size(); ++id) {
    if (handlers[id] != nullptr) lane.remove_handler(static_cast<amity::core::handler_id>(id));
  }
}

void amity_world::finish() {
  if (epoch != nullptr) {
    throw amity::error("amity_run", lane.rank(), "the program has ended inside its epoch",
                       "end the epoch with amity_epoch_end");
  }
  if (prepared > 0) {
    throw amity::error("amity_run", lane.rank(),
                       "the program has ended without the end of a message that it has prepared",
                       "commit or cancel what is prepared");
  }
  memory.wait(amity::c::event(implicit));
  // What had been handled everywhere before the second sum began is all that had been sent when it ended: nothing is
  // under way. (Mattern, "Algorithms for Distributed Termination Detection", 1987, four counters.)
  std::uint64_t handled = 0, sent = 0;
  do {
    own.poll();  // a reduction over one rank makes no progress
    handled = own.sum(own.counters().messages_handled);
    sent = own.sum(own.counters().messages_sent);
  } while (handled != sent);
}

int32_t amity_world_rank(const amity_world* world) { return world == nullptr ? -1 : world->lane.rank(); }

int32_t amity_world_size(const amity_world* world) { return world == nullptr ? -1 : world->lane.size(); }

int32_t amity_world_node(const amity_world* world, int32_t rank) {
  if (world == nullptr || rank < 0 || rank >= world->lane.size()) return -1;
  return world->lane.transport().node_of(world->lane.lane_of(rank, 0));
}

uint64_t amity_world_now_ns(const amity_world* world) { return world == nullptr ? 0 : world->own.now_ns(); }

amity_status amity_world_counters(amity_world* world, amity_counters* counters) {
  return guarded(world, "amity_world_counters", [&] {
    amity::c::check_given(*world, counters, "counters");
    const amity::core::traffic now = world->own.counters();
    const amity::core::attentiveness& seen = world->lane.attention();
    *counters = {.messages_sent = now.messages_sent,
                 .messages_handled = now.messages_handled,
                 .packets_sent = now.packets_sent,
                 .bytes_sent = now.bytes_sent,
                 .polls = seen.polls,
                 .polls_with_news = seen.polls_with_news,
                 .gap_ns_max = seen.gap_ns_max,
                 .gap_ns_total = seen.gap_ns_total,
                 .handler_ns_max = seen.handler_ns_max};
  });
}
