#include "amity/world/world.hpp"

#include <exception>
#include <utility>

#include "amity/base/error.hpp"
#include "amity/core/sub_fabric.hpp"

namespace amity {
namespace {

std::unique_ptr<epoch::detector> detector_for(core::endpoint& lane, const settings& config) {
  return epoch::make_detector(config.text("AMITY_EPOCH_DETECTOR"), lane);
}

/// Over a rank's fabric, or over the view of it that a further world has.
template <class Fabric>
std::unique_ptr<core::team> team_of_one(Fabric& transport, const settings& config) {
  auto alone = std::make_unique<core::team>(1);
  alone->enter(transport, config);
  alone->assemble();
  return alone;
}

}  // namespace

world::world(fabric::fabric& transport, const settings& config)
    : config_(config),
      alone_(team_of_one(transport, config_)),
      team_(*alone_),
      endpoint_(team_.lane(0)),
      epochs_(endpoint_, detector_for(endpoint_, config_)),
      coalesce_bytes_(static_cast<std::size_t>(config_.integer("AMITY_COALESCE_BYTES"))),
      calls_(*this, endpoint_, coalesce_bytes_) {}

world::world(core::team& threads, const settings& config)
    : config_(config),
      team_(threads),
      endpoint_(team_.lane(0)),
      epochs_(endpoint_, detector_for(endpoint_, config_)),
      coalesce_bytes_(static_cast<std::size_t>(config_.integer("AMITY_COALESCE_BYTES"))),
      calls_(*this, endpoint_, coalesce_bytes_) {
  if (team_.size() == 1) return;
  others_.resize(static_cast<std::size_t>(team_.size()) - 1);
  team_.run([this](rank_t index) {
    if (index == 0) return;
    core::endpoint& lane = team_.lane(index);
    calls_.add_to(lane);
    others_[static_cast<std::size_t>(index) - 1] = std::make_unique<epoch::epochs>(lane, detector_for(lane, config_));
  });
}

world::world(std::unique_ptr<core::sub_fabric> transport, const settings& config)
    : config_(config),
      transport_(std::move(transport)),
      alone_(team_of_one(*transport_, config_)),
      team_(*alone_),
      endpoint_(team_.lane(0)),
      epochs_(endpoint_, detector_for(endpoint_, config_)),
      coalesce_bytes_(static_cast<std::size_t>(config_.integer("AMITY_COALESCE_BYTES"))),
      calls_(*this, endpoint_, coalesce_bytes_) {}

world::~world() {
  // What the destructor cannot throw, the next call that makes progress in any world of the rank does.
  if (transport_ != nullptr && endpoint_.epoch_open() && std::uncaught_exceptions() == 0) {
    endpoint_.fail(std::make_exception_ptr(
        error("world", rank(), "a world was destroyed inside its epoch", "end the epoch before its world")));
  }
  // The threads end with their world: their endpoints need not be tidied up for another one.
  team_.dismiss();
}

bool world::poll() { return thread(endpoint_).poll(); }

void world::check_epoch_begin() {
  // It says what is wrong, if anything is.
  if (endpoint_.in_handler() || endpoint_.epoch_open()) epochs_.begin();
}

epoch::open_epoch world::begin_epoch() {
  if (team_.size() > 1) {
    throw error("world::begin_epoch", rank(), "the rank has several threads, of which thread 0 alone would take part",
                "use world::epoch, or one thread a rank");
  }
  return epoch::open_epoch(epochs_);
}

void world::check_outside_epoch(std::string_view call) const {
  if (endpoint_.epoch_open()) {
    throw error(call, rank(), "called inside an epoch",
                "make message types and shared objects before the epoch begins");
  }
}

}  // namespace amity
