#include "amity/window/access_rules.hpp"

#include <algorithm>
#include <array>
#include <string>

#include <fmt/format.h>

#include "amity/window/window_error.hpp"

namespace amity::detail {
namespace {

using access = access_epoch;
using exposure = exposure_epoch;
using call_kind = window_call;

struct access_row {
  window_call what;
  access_epoch before;
  access_epoch after;
};

struct exposure_row {
  window_call what;
  exposure_epoch before;
  exposure_epoch after;
};

// What is not here is not permitted. A fence without operations behind it is no epoch yet: another one may begin.
constexpr access_row access_rows[]{
    {call_kind::fence, access::none, access::fenced},
    {call_kind::fence, access::fenced, access::fenced},
    {call_kind::fence, access::used_fenced, access::fenced},
    {call_kind::last_fence, access::none, access::none},
    {call_kind::last_fence, access::fenced, access::none},
    {call_kind::last_fence, access::used_fenced, access::none},
    {call_kind::start, access::none, access::started},
    {call_kind::start, access::fenced, access::started},
    {call_kind::complete, access::started, access::none},
    {call_kind::lock, access::none, access::locked},
    {call_kind::lock, access::fenced, access::locked},
    {call_kind::lock, access::locked, access::locked},
    {call_kind::unlock, access::locked, access::none},  // of the last lock
    {call_kind::lock_all, access::none, access::locked_all},
    {call_kind::lock_all, access::fenced, access::locked_all},
    {call_kind::unlock_all, access::locked_all, access::none},
    {call_kind::flush, access::locked, access::locked},
    {call_kind::flush, access::locked_all, access::locked_all},
    {call_kind::operation, access::fenced, access::used_fenced},
    {call_kind::operation, access::used_fenced, access::used_fenced},
    {call_kind::operation, access::started, access::started},
    {call_kind::operation, access::locked, access::locked},
    {call_kind::operation, access::locked_all, access::locked_all},
    {call_kind::free, access::none, access::none},
    {call_kind::free, access::fenced, access::none},
};

constexpr exposure_row exposure_rows[]{
    {call_kind::fence, exposure::none, exposure::fenced},    {call_kind::fence, exposure::fenced, exposure::fenced},
    {call_kind::last_fence, exposure::none, exposure::none}, {call_kind::last_fence, exposure::fenced, exposure::none},
    {call_kind::post, exposure::none, exposure::posted},     {call_kind::post, exposure::fenced, exposure::posted},
    {call_kind::wait, exposure::posted, exposure::none},     {call_kind::free, exposure::none, exposure::none},
    {call_kind::free, exposure::fenced, exposure::none},
};

/// What a call makes of a state, or one of these.
using next_state = std::int8_t;
constexpr next_state refused = -1, no_matter = -2;  ///< no row has the call: the state stays

template <std::size_t States>
using next_states = std::array<std::array<next_state, States>, window_calls>;

/// The rows, by call and state.
template <std::size_t States, class Row, std::size_t Rows>
constexpr next_states<States> index_rows(const Row (&rows)[Rows]) {
  next_states<States> index{};
  for (auto& of_call : index) of_call.fill(no_matter);
  for (const Row& each : rows) index[static_cast<std::size_t>(each.what)].fill(refused);
  for (const Row& each : rows)
    index[static_cast<std::size_t>(each.what)][static_cast<std::size_t>(each.before)] =
        static_cast<next_state>(each.after);
  return index;
}

constexpr next_states<access_epochs> access_after = index_rows<access_epochs>(access_rows);
constexpr next_states<exposure_epochs> exposure_after = index_rows<exposure_epochs>(exposure_rows);

template <std::size_t States, class State>
next_state look_up(const next_states<States>& index, window_call what, State before) noexcept {
  return index[static_cast<std::size_t>(what)][static_cast<std::size_t>(before)];
}

std::string_view describe(access_epoch state) {
  constexpr std::array<std::string_view, 6> texts{
      "no access epoch is open",      "the epoch of a fence is open", "the epoch of a fence with operations is open",
      "the epoch of a start is open", "this rank holds locks",        "this rank holds the locks of lock_all"};
  return texts[static_cast<std::size_t>(state)];
}

std::string_view describe(exposure_epoch state) {
  constexpr std::array<std::string_view, 3> texts{"no exposure epoch is open", "the epoch of a fence is open",
                                                  "the epoch of a post is open"};
  return texts[static_cast<std::size_t>(state)];
}

/// What ends an epoch that is in the way, or begins the one that the call needs.
std::string_view remedy_for(window_call what, access_epoch before) {
  switch (what) {
    case call_kind::complete:
      return "call start before it";
    case call_kind::unlock:
      return "call lock for this rank before it";
    case call_kind::unlock_all:
      return "call lock_all before it";
    case call_kind::flush:
      return "call it between lock and unlock, or lock_all and unlock_all; fence and complete finish operations of "
             "other epochs";
    case call_kind::operation:
      return "call fence, start, lock or lock_all before operations";
    default:
      break;
  }
  switch (before) {
    case access::started:
      return "call complete before it";
    case access::locked:
      return "unlock each rank before it";
    case access::locked_all:
      return "call unlock_all before it";
    default:
      return "call fence before it, with no_succeed";
  }
}

std::string_view remedy_for(window_call what, exposure_epoch) {
  return what == call_kind::wait ? "call post before it" : "call wait before it, or test until it returns true";
}

}  // namespace

void access_rules::permit(std::string_view name, window_call what, rank_t target, const identity& whose) const {
  const auto refuse = [&](std::string_view state, std::string_view remedy) -> window_error {
    const std::string place = target == no_rank ? std::string() : fmt::format(" for rank {}", target);
    return {window_fault::epoch, name, whose.member, fmt::format("{}: {}{}", whose.window, state, place), remedy};
  };
  if (look_up(access_after, what, access_) == refused) throw refuse(describe(access_), remedy_for(what, access_));
  if (look_up(exposure_after, what, exposure_) == refused)
    throw refuse(describe(exposure_), remedy_for(what, exposure_));
}

void access_rules::move_on(window_call what) noexcept {
  if (const next_state after = look_up(access_after, what, access_); after >= 0)
    access_ = access_epoch{static_cast<std::uint8_t>(after)};
  if (const next_state after = look_up(exposure_after, what, exposure_); after >= 0)
    exposure_ = exposure_epoch{static_cast<std::uint8_t>(after)};
}

void access_rules::on(std::string_view name, window_call what, const identity& whose) {
  permit(name, what, no_rank, whose);
  move_on(what);
  if (what == call_kind::complete) targets_.clear();
}

void access_rules::start(std::string_view name, std::span<const rank_t> targets, const identity& whose) {
  permit(name, call_kind::start, no_rank, whose);
  targets_.assign(targets.begin(), targets.end());
  std::ranges::sort(targets_);
  move_on(call_kind::start);
}

lock_kind access_rules::lock_of(rank_t target) const noexcept {
  const lock_kind* const found = lock_of_.find(target);
  return found == nullptr ? lock_kind::none : *found;
}

void access_rules::lock(std::string_view name, lock_kind kind, rank_t target, const identity& whose) {
  permit(name, call_kind::lock, target, whose);
  lock_kind& held = lock_of_[target];
  if (held != lock_kind::none) [[unlikely]] {
    throw window_error(window_fault::epoch, name, whose.member,
                       fmt::format("{}: this rank holds a lock of rank {}", whose.window, target),
                       "unlock it before it is locked again");
  }
  held = kind;
  ++locks_;
  move_on(call_kind::lock);
}

void access_rules::unlock(std::string_view name, rank_t target, const identity& whose) {
  permit(name, call_kind::unlock, target, whose);
  lock_kind& held = lock_of_[target];
  if (held == lock_kind::none) [[unlikely]] {
    throw window_error(window_fault::epoch, name, whose.member,
                       fmt::format("{}: this rank holds no lock of rank {}", whose.window, target),
                       remedy_for(call_kind::unlock, access_));
  }
  held = lock_kind::none;
  if (--locks_ == 0) move_on(call_kind::unlock);
}

bool access_rules::is_between_epochs() const noexcept {
  return look_up(access_after, window_call::free, access_) != refused &&
         look_up(exposure_after, window_call::free, exposure_) != refused;
}

std::string_view access_rules::epoch_of(std::string_view name) const noexcept {
  if (name == "window::fence") return "fence epoch";
  if (name == "window::wait") return "post epoch";
  if (name == "window::start") return "start epoch";
  switch (access_) {
    case access::started:
      return "start epoch";
    case access::locked:
      return "lock epoch";
    case access::locked_all:
      return "lock_all epoch";
    default:
      return "fence epoch";
  }
}

void access_rules::use(std::string_view name, window_call what, rank_t target, const identity& whose) {
  check_use(name, what, target, whose);
  move_on(what);
}

void access_rules::check_use(std::string_view name, window_call what, rank_t target, const identity& whose) const {
  permit(name, what, target, whose);
  if (access_ == access::locked && lock_of(target) == lock_kind::none) {
    throw window_error(window_fault::epoch, name, whose.member,
                       fmt::format("{}: this rank holds locks, but not that of rank {}", whose.window, target),
                       "call lock for this rank before it");
  }
  if (access_ == access::started && !std::ranges::binary_search(targets_, target)) {
    throw window_error(window_fault::epoch, name, whose.member,
                       fmt::format("{}: rank {} is not in the group of the epoch of start", whose.window, target),
                       "name it in the call of start");
  }
}

}  // namespace amity::detail
