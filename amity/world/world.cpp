#include "amity/world/world.hpp"

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <utility>

#include <fmt/format.h>

#include "amity/base/error.hpp"
#include "amity/window/dynamic_window.hpp"
#include "amity/window/window_service.hpp"

namespace amity {
namespace {

std::unique_ptr<epoch::detector> detector_for(core::endpoint& lane, const settings& config) {
  return epoch::make_detector(config.text("AMITY_EPOCH_DETECTOR"), lane);
}

std::unique_ptr<core::team> team_of_one(fabric::fabric& transport, const settings& config) {
  auto alone = std::make_unique<core::team>(1);
  alone->enter(transport, config);
  alone->threads().assemble();
  return alone;
}

}  // namespace

world::world(fabric::fabric& transport, const settings& config) : world(team_of_one(transport, config), config) {}

world::world(std::unique_ptr<core::team> own, const settings& config) : world(*own, config) {
  own_team_ = std::move(own);
}

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
    others_[static_cast<std::size_t>(index) - 1] =
        std::make_unique<epoch::thread_epochs>(lane, detector_for(lane, config_));
  });
}

world::~world() {
  if (std::uncaught_exceptions() == 0) check_end();
  // What the destructor cannot throw, the next call that makes progress in any world of the rank does.
  if (endpoint_.number() != 0 && endpoint_.epoch_open() && std::uncaught_exceptions() == 0) {
    endpoint_.fail(std::make_exception_ptr(
        error("world", rank(), "a world was destroyed inside its epoch", "end the epoch before its world")));
  }
  // What the threads leave undone, because the job ends, is done with the list.
  team_.try_run([this](rank_t index) {
    if (index > 0) others_[static_cast<std::size_t>(index) - 1].reset();
  });
  if (endpoint_.number() == 0) team_.threads().dismiss();
}

// They would use what is gone when they end, in a destructor that no error can leave.
void world::check_end() const {
  const std::string* const window = detail::window_service::find_in(endpoint_);
  if (team_.tenants().empty() && window == nullptr) return;
  const bool is_window = window != nullptr;
  const error mistake(
      "world", rank(),
      fmt::format("a world was destroyed before its {} '{}'", is_window ? "window" : "message type",
                  is_window ? *window : team_.tenants().front()),
      fmt::format("destroy {} before the world that has made them", is_window ? "windows" : "message types"));
  std::fprintf(stderr, "%s\n", mistake.what());
  std::abort();
}

bool world::poll() { return thread(endpoint_).poll(); }

core::traffic world::counters() const noexcept {
  core::traffic all;
  for (rank_t thread = 0; thread < team_.size(); ++thread) all += team_.lane(thread).counts().total();
  return all;
}

epoch::open_epoch world::begin_epoch() {
  return begin_epoch([] {});
}

// In two parts, so that the body of thread 0 may use other worlds, which takes the other threads.
std::uint64_t world::epoch_of_threads(function_ref<void(rank_t)> body, function_ref<std::uint64_t(rank_t)> value,
                                      epoch::summand when) {
  epochs_.check_begin();
  team_.run([&](rank_t index) {
    epochs_of(index).begin();
    body(index);
  });
  team_.run([&](rank_t index) {
    epochs_of(index).end([&] { return value(index); }, index == 0 ? when : epoch::summand::passive);
  });
  return epochs_.sum();
}

dynamic_window world::create_dynamic_window(const window_options& options) {
  check_outside_epoch("world::create_dynamic_window");
  return {team_, completed(options)};
}

window_options world::completed(const window_options& options) const { return with_settings(options, config_); }

void world::check_outside_epoch(std::string_view call) const {
  if (endpoint_.epoch_open()) {
    throw error(call, rank(), "called inside an epoch",
                "make message types and shared objects before the epoch begins");
  }
}

}  // namespace amity
