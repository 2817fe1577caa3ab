#include "amity/window/window_service.hpp"

#include <algorithm>
#include <cstring>
#include <exception>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "amity/core/endpoint.hpp"

namespace amity::detail {

window_service& window_service::of(core::endpoint& in) {
  core::service_table& served = in.own_engine().served();
  if (served.windows() == nullptr) served.set_windows(std::make_unique<window_service>(in.own_engine()));
  return static_cast<window_service&>(*served.windows());
}

window_service::window_service(core::engine& on) : engine_(on), stream_(on.served().records()), gets_(on) {}

window_service::~window_service() {
  if (in_every_round_) engine_.detach(static_cast<core::progress_client&>(*this));
}

long_transfers& window_service::transfers(rank_t program) {
  if (transfers_ == nullptr) transfers_ = std::make_unique<long_transfers>(engine_, program);
  return *transfers_;
}

void window_service::remove_owner(std::uint32_t number, window_identity identity) noexcept {
  const std::unique_ptr<record_window>* const gone = windows_.find(number);
  if (gone == nullptr) return;
  std::erase(watched_, gone->get());
  const auto named = owners_.find(identity);
  if (named != owners_.end() && named->second == gone->get()) owners_.erase(named);
  windows_.remove(number);
}

void window_service::remove_member(window_identity identity) noexcept {
  const auto named = members_.find(identity);
  if (named == members_.end()) return;
  std::erase(watched_, named->second);
  members_.erase(named);
}

void window_service::enter(core::endpoint& in) {
  const auto found = std::ranges::find(users_, &in, &user::world);
  if (found != users_.end()) {
    ++found->windows;
    return;
  }
  users_.push_back({.world = &in, .windows = 1});
  in.add_flushable(*this);
}

void window_service::leave(core::endpoint& in) noexcept {
  const auto found = std::ranges::find(users_, &in, &user::world);
  if (found == users_.end() || --found->windows > 0) return;
  in.remove_flushable(*this);
  users_.erase(found);
  // That has ended its rounds, too.
  if (in_every_round_) engine_.attach(static_cast<core::progress_client&>(*this));
}

const std::string* window_service::find_in(core::endpoint& world) noexcept {
  const auto* const service = static_cast<window_service*>(world.own_engine().served().windows());
  if (service == nullptr) return nullptr;
  const std::string* name = nullptr;
  static_cast<void>(std::ranges::any_of(service->members_, [&](const auto& each) {
    name = each.second->name_in(world);
    return name != nullptr;
  }));
  return name;
}

std::byte* window_service::try_append(rank_t lane, const core::record& what) {
  std::byte* place = stream_.try_append(lane, what, core::tracking::otherwise, fabric::claim::ordinary);
  is_reserve_ = place == nullptr;
  if (is_reserve_) place = stream_.try_append(lane, what, core::tracking::otherwise, fabric::claim::no_epoch);
  return place;
}

// What has a credit of the reserve must not stay open.
void window_service::end_append(rank_t lane) { is_reserve_ ? stream_.send(lane) : note_open(lane); }

void window_service::note_open(rank_t lane) {
  if (!std::exchange(is_open_[lane], true)) open_.push_back(lane);
}

void window_service::send_open() {
  for (const rank_t lane : open_) {
    is_open_[lane] = false;
    stream_.send(lane);
  }
  open_.clear();
}

bool window_service::flush_all() {
  const bool any = !open_.empty();
  send_open();
  return gets_.try_start_all() || any;
}

// Lanes of different worlds may be the same thread, whose credits are wanted.
void window_service::close_packet(rank_t) { send_open(); }

// Records of windows

bool window_service::execute(rank_t source, const core::record& what, bytes_view content, core::answers& to) {
  const window_act act = act_of(what);
  record_window* found = nullptr;
  if (act < window_act::describe) {
    if (const auto* const numbered = windows_.find(what.object)) found = numbered->get();
  } else {
    const auto& all = act < window_act::collective ? owners_ : members_;
    if (const auto named = all.find(window_identity{what.at}); named != all.end()) found = named->second;
  }
  // A window that has ended has no waiters.
  if (found == nullptr && (act == window_act::released || act == window_act::wake)) return true;
  if (found == nullptr) {
    throw engine_.invalid_packet(source, fmt::format("operation {} on window {:#x} of {:#x}, which is not there",
                                                     static_cast<int>(act), what.object, what.at));
  }
  return found->execute(source, what, content, to);
}

std::string window_service::describe() const {
  std::string text;
  for (const auto& [identity, member] : members_) text += member->describe();
  for (const auto& [identity, owner] : owners_) text += owner->describe();
  return text;
}

void window_service::send(rank_t lane, const core::record& what, bytes_view content) {
  const bool waits = !unsent_.empty() && std::ranges::find(unsent_, lane, &waiting_record::lane) != unsent_.end();
  if (!waits && try_send(lane, what, content)) return;
  unsent_.push_back({.lane = lane, .what = what, .content = {content.begin(), content.end()}});
  ask_for_rounds();
}

bool window_service::try_send(rank_t lane, const core::record& what, bytes_view content) {
  return stream_.try_send(lane, what, content, core::tracking::otherwise, fabric::claim::no_epoch);
}

void window_service::watch(record_window& of) {
  if (std::ranges::find(watched_, &of) == watched_.end()) watched_.push_back(&of);
  ask_for_rounds();
}

void window_service::ask_for_rounds() {
  if (!std::exchange(in_every_round_, true)) engine_.attach(static_cast<core::progress_client&>(*this));
}

bool window_service::on_progress() try {
  if (engine_.failure().exists()) return false;
  const std::size_t before = unsent_.size();
  std::vector<rank_t> refused;
  std::erase_if(unsent_, [&](const waiting_record& each) {
    if (std::ranges::find(refused, each.lane) != refused.end()) return false;
    if (try_send(each.lane, each.what, each.content)) return true;
    refused.push_back(each.lane);
    return false;
  });
  std::erase_if(watched_, [](record_window* each) { return !each->on_round(); });
  const bool any = unsent_.size() != before;
  if (unsent_.empty() && watched_.empty()) {
    engine_.detach(static_cast<core::progress_client&>(*this));
    in_every_round_ = false;
  }
  return any;
} catch (...) {
  engine_.failure().set(std::current_exception());
  return false;
}

}  // namespace amity::detail
