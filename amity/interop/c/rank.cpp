/// A rank of several threads, for C.

#include <atomic>

#include "amity/interop/c/world.hpp"

amity_world::amity_world(amity::c::rank& of, amity::rank_t thread)
    : rank(of), lane(of.own.team().lane(thread)), memory(lane.memory()) {
  requests.fill({.world = this});
}

amity_world::~amity_world() {
  if (lane.in_handler()) return;
  for (std::size_t id = 0; id < handlers.size(); ++id) {
    if (handlers[id] != nullptr) lane.remove_handler(static_cast<amity::core::handler_id>(id));
  }
}

namespace amity::c {

rank::rank(world& of) : own(of), threads(static_cast<std::size_t>(of.team().size())) {
  own.team().run(
      [&](rank_t index) { threads[static_cast<std::size_t>(index)] = std::make_unique<amity_world>(*this, index); });
}

rank::~rank() {
  epoch.reset();
  // If the job is ending, what the threads do not destroy is destroyed with the vector.
  own.team().try_run([&](rank_t index) { threads[static_cast<std::size_t>(index)].reset(); });
}

std::uint64_t rank::open(const core::segment_descriptor& descriptor) {
  // A mistake is found out here, and nothing has been done elsewhere.
  const core::remote_segment first = thread(0).memory.open(descriptor);
  std::uint64_t id = thread(0).opened.size();
  if (!closed.empty()) {
    id = closed.back();
    closed.pop_back();
  }
  on_threads([&](amity_world& each) {
    if (each.opened.size() <= id) each.opened.resize(id + 1);
    each.opened[id] = each.lane.thread() == 0 ? first : each.memory.open(descriptor);
  });
  return id;
}

void rank::close(std::uint64_t id) {
  on_threads([&](amity_world& each) { each.memory.close(each.opened[id]); });
  closed.push_back(id);
}

void rank::finish() {
  own.endpoint().own_engine().failure().rethrow();  // not what it has left behind
  if (epoch != nullptr) {
    throw error("amity_run", own.rank(), "the program has ended inside its epoch",
                "end the epoch with amity_epoch_end");
  }
  std::atomic<std::size_t> prepared = 0;
  on_threads([&](amity_world& each) { prepared += each.prepared; });
  if (prepared > 0) {
    throw error("amity_run", own.rank(), "the program has ended without the end of a message that it has prepared",
                "commit or cancel what is prepared");
  }
  own.endpoint().reduce(core::reduction::ending, 0);  // nobody who still calls collectives pairs up with the sums below
  on_threads([](amity_world& each) { each.memory.wait(event(each.implicit)); });
  // What had been handled everywhere before the second sum began is all that had been sent when it ended: nothing is
  // under way. (Mattern, "Algorithms for Distributed Termination Detection", 1987, four counters.)
  std::uint64_t handled = 0, sent = 0;
  do {
    own.poll();  // a reduction over one rank makes no progress
    handled = own.sum(count(&core::traffic::messages_handled));
    sent = own.sum(count(&core::traffic::messages_sent));
  } while (handled != sent);
  // Acknowledgements are no messages.
  on_threads([](amity_world& each) {
    core::flush(each.lane);
    each.lane.wait_until("the end of the program", [&] { return each.lane.quiet() && each.lane.control_sent(); });
  });
  own.barrier();
}

void rank::print_unread() {
  const auto print = [&](rank_t index) { thread(index).print_unread(); };
  if (own.team().try_run(print)) return;
  // The others have left, because the job ends.
  for (const auto& each : threads) each->print_unread();
}

std::uint64_t rank::count(std::uint64_t core::traffic::*what) {
  std::atomic<std::uint64_t> all = 0;
  on_threads([&](amity_world& each) { all += each.lane.counts().total().*what; });
  return all;
}

}  // namespace amity::c
