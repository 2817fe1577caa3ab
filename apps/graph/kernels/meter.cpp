#include "apps/graph/kernels/meter.hpp"

namespace amity::apps::graph {

meter::meter(world& w) : world_(w), before_(w.counters()) {
  w.barrier();
  started_ns_ = w.now_ns();
}

cost meter::read() const {
  const std::uint64_t ns = world_.now_ns() - started_ns_;
  const core::traffic after = world_.counters();
  return {world_.max(ns), world_.sum(after.messages_sent - before_.messages_sent),
          world_.sum(after.packets_sent - before_.packets_sent), world_.sum(after.bytes_sent - before_.bytes_sent)};
}

}  // namespace amity::apps::graph
