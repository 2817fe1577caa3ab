#include "amity/world/world.hpp"

#include "amity/base/error.hpp"

namespace amity {

world::world(fabric::fabric& transport, const settings& config)
    : config_(config),
      endpoint_(transport, config_),
      epochs_(endpoint_, epoch::make_detector(config_.text("AMITY_EPOCH_DETECTOR"), endpoint_)),
      coalesce_bytes_(static_cast<std::size_t>(config_.integer("AMITY_COALESCE_BYTES"))),
      calls_(*this, endpoint_, coalesce_bytes_) {}

world::~world() = default;

bool world::poll() {
  if (endpoint_.in_handler()) {
    throw error("world::poll", rank(), "a handler tried to poll, which would run handlers inside a handler",
                "return from the handler instead; its sends go out by themselves");
  }
  if (endpoint_.progress() || endpoint_.flush_all()) return true;
  // A rank that polls for something instead of waiting for it would never learn that the job has ended.
  endpoint_.transport().wait(0);
  return false;
}

void world::check_outside_epoch(std::string_view call) const {
  if (endpoint_.in_epoch()) {
    throw error(call, rank(), "called inside an epoch",
                "make message types and shared objects before the epoch begins");
  }
}

}  // namespace amity
