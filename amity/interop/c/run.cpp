/// The way in from C, and the way out.

#include "amity/world/run.hpp"

#include "amity/interop/c/world.hpp"

using amity::c::guarded;

int amity_run(int argc, char** argv, amity_main_function program, void* context) {
  return amity::run(argc, argv, [&](amity::world& own) {
    if (program == nullptr) {
      throw amity::error("amity_run", own.rank(), "the program is null", "give it the function that is a rank's main");
    }
    amity::c::rank all(own);
    const int status = program(&all.thread(0), context);
    if (status == 0) all.finish();
    all.print_unread();
    return status;
  });
}

int32_t amity_world_rank(const amity_world* world) { return world == nullptr ? -1 : world->lane.rank(); }

int32_t amity_world_size(const amity_world* world) { return world == nullptr ? -1 : world->lane.size(); }

int32_t amity_world_threads(const amity_world* world) { return world == nullptr ? -1 : world->lane.program_threads(); }

int32_t amity_world_thread(const amity_world* world) { return world == nullptr ? -1 : world->lane.thread(); }

amity_status amity_threads_run(amity_world* world, amity_thread_function work, void* context) {
  return guarded(world, "amity_threads_run", [&] {
    amity::c::check_given(*world, reinterpret_cast<const void*>(work), "work");
    amity::c::for_all_threads(*world).on_threads([&](amity_world& each) {
      if (each.lane.thread() >= each.lane.program_threads()) return;
      amity::c::run_program(each, [&] { work(&each, context); });
    });
  });
}

int32_t amity_world_node(const amity_world* world, int32_t rank) {
  if (world == nullptr || rank < 0 || rank >= world->lane.size()) return -1;
  return world->lane.transport().node_of(world->lane.lane_of(rank, 0));
}

uint64_t amity_world_now_ns(const amity_world* world) {
  return world == nullptr ? 0 : world->lane.transport().now_ns();
}

amity_status amity_world_counters(amity_world* world, amity_counters* counters) {
  return guarded(world, "amity_world_counters", [&] {
    amity::c::check_given(*world, counters, "counters");
    const amity::core::traffic now = world->lane.counts().total();
    const amity::core::attentiveness& seen = world->lane.own_engine().attention().seen();
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
