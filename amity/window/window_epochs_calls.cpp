/// The calls that begin and end epochs of a window.

#include "amity/window/window_epochs.hpp"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "amity/base/thread_mark.hpp"
#include "amity/window/window_error.hpp"

namespace amity::detail {

namespace {

/// Whether the instruction that leaves a mapped lock orders all accesses, those of the program included.
#if defined(__x86_64__)
constexpr bool leaving_locks_fences = true;
#else
constexpr bool leaving_locks_fences = false;
#endif

}  // namespace

// Fences

void window_epochs::fence(window_assert promised) {
  constexpr std::string_view call = "window::fence";
  const inside entered(*this, call);
  check_promises(call, promised);
  const bool opens = !has(promised, window_assert::no_succeed);
  const bool ends_none = has(promised, window_assert::no_precede);
  if (ends_none && rules_.access() == access_epoch::used_fenced) {
    throw window_error(
        window_fault::promise, call, member_,
        fmt::format("{}: no_precede is promised, but this rank has started operations since the previous fence",
                    title_),
        "make this call without no_precede, on all ranks");
  }
  if (checks_ != nullptr) checks_->check_stores(call, promised);
  rules_.on(call, opens ? window_call::fence : window_call::last_fence, whose());
  if (checks_ != nullptr) compare_promises(call, promised);
  if (!ends_none && direct_.unfinished) {
    begin_all_held(call);
    // Signals, and loads of members that leave first, overtake records. Targets of dynamic windows find errors.
    finish_all(call, signals_ || map_others_ || attached_ != nullptr);
  }
  direct_.fence_stores();
  if (opens || !ends_none) signals_ ? meet_at_barrier(call) : exchange_counts(call);
  end_access();
  origin_.begin_epoch(opens && !signals_ ? epoch_end::counts : epoch_end::answers, target_.fences());
  if (checks_ != nullptr) checks_->end_fence(promised);
  throw_failure(call);
}

// All records have been carried out before it.
void window_epochs::meet_at_barrier(std::string_view call) {
  signals_->begin_barrier();
  waits_.for_signals(
      call, "waits for all members", no_rank, *signals_,
      [this] { return signals_->try_end_barrier() && service_.sent(); },  // members that sleep wait for what it sends
      [this] { return signals_->round_is_complete(); });
}

// The program may compute next, while members that sleep wait.
void window_epochs::send_waiting_wakes() {
  if (!service_.sent()) [[unlikely]]
    endpoint_.progress();
}

void window_epochs::compare_promises(std::string_view call, window_assert promised) {
  counts_.assign(static_cast<std::size_t>(members().size()), assertion_checks::ballot(promised));
  collectives_.start_reduce_scatter(counts_);
  waits_.until(call, "waits for the promises of all members", no_rank,
               [&] { return collectives_.done() && service_.sent(); });
  checks_->check_ballots(call, collectives_.result(), members().size());
}

// A member that leaves this has carried out all that others have sent it. Records of its next epoch may reach members
// that have not left yet, and are refused there until they have.
void window_epochs::exchange_counts(std::string_view call) {
  counts_.assign(static_cast<std::size_t>(members().size()), 0);
  for (window_peer* const each : used_)
    counts_[static_cast<std::size_t>(each->member)] = std::exchange(each->counted, 0);
  collectives_.start_reduce_scatter(counts_);
  waits_.until(call, "waits for all members", no_rank, [&] {
    return collectives_.done() && service_.sent();  // else operations could use up the credits that parts wait for
  });
  const std::uint64_t expected = collectives_.result();
  waits_.for_target(call, "waits for operations of others", [&] { return target_.arrived() == expected; });
  if (!target_.begin_epoch()) return;
  endpoint_.own_engine().send(members_.lane(member_, target_thread_), core::service::wake, {});
  await_wake(call);
}

void window_epochs::await_wake(std::string_view call) {
  core::outbox& unsent = endpoint_.own_engine().unsent();
  const rank_t target = members_.lane(member_, target_thread_);
  const auto has_left = [&] {
    return unsent.empty() || !unsent.holds(target, core::service_header(core::service::wake));
  };
  if (!has_left()) waits_.until(call, "waits for a credit of the progress thread", no_rank, has_left);
}

// Post, start, complete, wait

void window_epochs::start(std::span<const rank_t> targets, window_assert promised) {
  constexpr std::string_view call = "window::start";
  const inside entered(*this, call);
  check_promises(call, promised);
  check_members(call, targets);
  if (checks_ != nullptr && has(promised, window_assert::no_check)) verify_posts(call, targets);
  rules_.start(call, targets, whose());
  // Signals follow no packet.
  origin_.begin_epoch(signals_ ? epoch_end::answers : epoch_end::packet, target_.fences());
  access_promised_ = promised;
}

// Posts that have been called may still be on their way.
void window_epochs::verify_posts(std::string_view call, std::span<const rank_t> targets) {
  for (const rank_t each : targets) {
    window_peer& to = peers_.peer(each);
    origin_.ask_word(to, window_act::has_posted, lock_kind::none);
    waits_.until(call, "asks whether it has called post", each, [&] { return to.answers.done(); });
    checks_->check_start(call, each, post_state{std::exchange(to.word, 0)});
  }
}

void window_epochs::complete() {
  constexpr std::string_view call = "window::complete";
  const inside entered(*this, call);
  if (rules_.access() != access_epoch::started) rules_.on(call, window_call::complete, whose());
  for (const rank_t each : rules_.targets()) use(each);
  if (direct_.unfinished) {
    begin_all_held(call);
    if (signals_ || attached_ != nullptr) {  // as for fences
      finish_all(call, true);
    } else {  // other records leave with the one that completes
      std::vector<window_peer*> unfinished;
      std::ranges::copy_if(used_, std::back_inserter(unfinished),
                           [](const window_peer* each) { return !window_origin::done(*each); });
      finish(call, unfinished, false);
    }
  }
  direct_.fence_stores();
  for (window_peer* const each : used_) wait_until_ready(call, *each);
  if (signals_) {
    signals_->complete(rules_.targets());
    send_waiting_wakes();
  } else {
    for (window_peer* const each : used_)
      origin_.send(each->lane, {.act = static_cast<std::uint8_t>(window_act::complete)});
  }
  rules_.on(call, window_call::complete, whose());
  end_access();
  throw_failure(call);
}

void window_epochs::post(std::span<const rank_t> origins, window_assert promised) {
  constexpr std::string_view call = "window::post";
  const inside entered(*this, call);
  check_promises(call, promised);
  check_members(call, origins);
  if (checks_ != nullptr) checks_->check_stores(call, promised);
  rules_.on(call, window_call::post, whose());
  if (checks_ != nullptr) checks_->post(promised, origins);
  posted_to_ = origins.size();
  if (signals_ && !has(promised, window_assert::no_check)) {
    signals_->post(origins);
    return send_waiting_wakes();
  }
  std::atomic_thread_fence(std::memory_order_seq_cst);  // stores of the program come before operations of others
  const bool is_promised = has(promised, window_assert::no_check);
  if (is_promised && checks_ == nullptr) return;
  for (const rank_t each : origins) {
    origin_.send(members_.lane(each), {.act = static_cast<std::uint8_t>(window_act::post),
                                       .op = static_cast<std::uint8_t>(is_promised ? 1 : 0)});
  }
}

void window_epochs::wait() {
  constexpr std::string_view call = "window::wait";
  const inside entered(*this, call);
  if (rules_.exposure() != exposure_epoch::posted) rules_.on(call, window_call::wait, whose());
  const auto completed = [this] { return all_have_completed(); };
  constexpr std::string_view what = "waits for complete of others";
  signals_ ? waits_.for_signals(call, what, no_rank, *signals_, completed, completed)
           : waits_.for_target(call, what, completed);
  end_exposure();
  rules_.on(call, window_call::wait, whose());
  if (checks_ != nullptr) checks_->end_exposure();
}

bool window_epochs::all_have_completed() const noexcept {
  return (signals_ ? signals_->completed() : target_.completed()) >= posted_to_;
}

void window_epochs::end_exposure() noexcept {
  const std::size_t completed = std::exchange(posted_to_, 0);
  signals_ ? signals_->take_completed(static_cast<std::uint32_t>(completed)) : target_.take_completed(completed);
}

bool window_epochs::test() {
  constexpr std::string_view call = "window::test";
  const inside entered(*this, call);
  if (rules_.exposure() == exposure_epoch::posted && !all_have_completed()) {
    const bool any = endpoint_.progress();
    using poll_round = core::engine::poll_round;
    endpoint_.own_engine().polled(endpoint_, call, any ? poll_round::eventful : poll_round::idle);
    if (!all_have_completed()) return false;
  }
  rules_.on(call, window_call::wait, whose());
  end_exposure();
  if (checks_ != nullptr) checks_->end_exposure();
  return true;
}

// Locks

void window_epochs::lock(lock_kind kind, rank_t target, window_assert promised) {
  constexpr std::string_view call = "window::lock";
  const inside entered(*this, call);
  check_member(call, target);
  check_promises(call, promised);
  if (kind != lock_kind::shared && kind != lock_kind::exclusive) {
    const std::string given = kind == lock_kind::none  ? "none"
                              : kind == lock_kind::all ? "all"
                                                       : fmt::to_string(static_cast<int>(kind));
    throw window_error(window_fault::argument, call, member_, fmt::format("{}: a lock of kind {}", title_, given),
                       "choose shared or exclusive");
  }
  const std::optional<access_rules> before = checks_ != nullptr ? std::optional(rules_) : std::nullopt;
  rules_.lock(call, kind, target, whose());
  // Members that request several locks in the same order would block each other if requests overtook one another. All
  // locks of this thread before the last one are held.
  const auto last = std::find_if(used_.rbegin(), used_.rend(),
                                 [](const window_peer* each) { return each->locked_by == &thread_mark; });
  if (last != used_.rend()) wait_until_ready(call, **last);
  window_peer* used = nullptr;
  try {
    used = &use(target);
  } catch (...) {
    rules_.unlock(call, target, whose());
    throw;
  }
  window_peer& to = *used;
  to.locked_by = &thread_mark;
  access_promised_ = promised;  // no other thread is let in before it is used
  try {
    take_lock(to, kind);
  } catch (...) {  // a promise is wrong
    if (before) rules_ = *before;
    access_promised_ = window_assert::none;
    to.listed = false;
    std::erase(used_, &to);
    if (rules_.access() != access_epoch::locked) end_access();
    throw;
  }
  origin_.begin_epoch(epoch_end::answers, target_.fences());
  direct_.may_flush = true;
  if (to.granted) set_open(to, true);
  if (target == member_) wait_until_ready(call, to);  // loads and stores of the program ask nothing
  access_promised_ = window_assert::none;
}

void window_epochs::unlock(rank_t target) {
  constexpr std::string_view call = "window::unlock";
  const inside entered(*this, call);
  check_member(call, target);
  window_peer* const known = peers_.find(target);
  const bool is_locked =
      rules_.access() == access_epoch::locked &&
      ((known != nullptr && known->lock != lock_kind::none) || rules_.lock_of(target) != lock_kind::none);
  if (!is_locked) rules_.unlock(call, target, whose());
  window_peer& of = known != nullptr ? *known : use(target);
  wait_until_ready(call, of);
  begin_held(call, of);
  window_peer* const one = &of;
  release(call, {&one, 1});
  of.listed = false;
  of.held_data = {};
  if (of.messages != nullptr) origin_.messages()->note_flush(*of.messages, true);
  std::erase(used_, one);
  rules_.unlock(call, target, whose());
  look_for_unfinished();
  if (rules_.access() != access_epoch::locked) end_access();
  throw_failure(call);
}

void window_epochs::lock_all(window_assert promised) {
  constexpr std::string_view call = "window::lock_all";
  const inside entered(*this, call);
  check_promises(call, promised);
  const std::optional<access_rules> before = checks_ != nullptr ? std::optional(rules_) : std::nullopt;
  rules_.on(call, window_call::lock_all, whose());
  access_promised_ = promised;
  try {
    wait_until_ready(call, use(member_));  // loads and stores of the program ask nothing
  } catch (...) {                          // a promise is wrong
    if (before) rules_ = *before;
    end_access();
    throw;
  }
  origin_.begin_epoch(epoch_end::answers, target_.fences());
  direct_.may_flush = true;
}

void window_epochs::unlock_all() {
  constexpr std::string_view call = "window::unlock_all";
  const inside entered(*this, call);
  if (rules_.access() != access_epoch::locked_all) rules_.on(call, window_call::unlock_all, whose());
  begin_all_held(call);
  release(call, used_);
  rules_.on(call, window_call::unlock_all, whose());
  end_access();
  throw_failure(call);
}

// The record that unlocks stands behind the others. A lock that is left by a store waits until they have been carried
// out.
void window_epochs::release(std::string_view call, std::span<window_peer* const> all) {
  if (direct_.unfinished) {
    std::vector<window_peer*> with_messages;
    std::ranges::copy_if(all, std::back_inserter(with_messages),
                         [](const window_peer* each) { return !window_origin::are_messages_done(*each); });
    if (!with_messages.empty()) finish(call, with_messages, false);
    std::vector<window_peer*> others;
    std::ranges::copy_if(all, std::back_inserter(others), [](const window_peer* each) { return !each->asks_owner; });
    finish(call, others, true);
    for (window_peer* const each : all) origin_.start_gets(*each);
    waits_.until(call, "waits for operations", no_rank, [&] {
      return std::ranges::all_of(all, [](const window_peer* each) { return window_origin::is_network_done(*each); });
    });
  }
  const bool all_mapped =
      !all.empty() && std::ranges::all_of(all, [](const window_peer* each) { return each->has_ticket; });
  if (!all_mapped || !leaving_locks_fences) direct_.fence_stores();
  for (window_peer* const each : all) begin_release(*each);
  if (all_mapped && !direct_.unfinished) return send_waiting_wakes();
  waits_.for_operations(call, all);
  for (window_peer* const each : all) complete_here(*each);
  take_failures(call, all);
  send_waiting_wakes();
}

void window_epochs::begin_release(window_peer& of) {
  const lock_kind kind = std::exchange(of.lock, lock_kind::none);
  const bool has_ticket = std::exchange(of.has_ticket, false);
  of.granted = false;
  set_open(of, false);
  if (std::exchange(of.asks_owner, false)) return origin_.unlock(of, kind);
  if (!has_ticket) return;
  if (is_served_here(of)) {
    if (checks_ != nullptr) checks_->end_exposure();
    return target_.release_lock(kind);
  }
  if (kind == lock_kind::exclusive) of.control->holder.store(0, std::memory_order_relaxed);
  of.control->lock.leave(kind);
  wake_owner(of);
}

}  // namespace amity::detail
