/// Active messages of a window: which calls wait for them, and when they may go.

#include <functional>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "amity/window/window_epochs.hpp"
#include "amity/window/window_error.hpp"

namespace amity::detail {

void window_epochs::receive_messages() {
  std::function<bool()> take_over;
  if (messages_.is_atomic) {
    // The target may stay when this object has ended.
    take_over = [alive = std::weak_ptr<window_epochs*>(self_)] {
      const std::shared_ptr<window_epochs*> self = alive.lock();
      return self == nullptr || (*self)->try_take_over_accumulates();
    };
  }
  target_.receive_messages({.handlers = messages_.handlers,
                            .system_bytes = static_cast<std::uint64_t>(messages_.system_bytes),
                            .allocator = {.may_detach = messages_.may_detach, .adapts = messages_.adapts},
                            .pack_below = messages_.pack_below},
                           std::move(take_over));
}

void window_epochs::start_messages() {
  is_complete_ = true;
  if (has_guarantees_) exchange_guarantees();
  guarantees_.assign(messages_.guarantees.begin(), messages_.guarantees.end());
  messages_.guarantees = {};  // of the caller
  if (messages_.is_atomic && target_thread_ != endpoint_.thread()) take_over_accumulates();
}

am_origin& window_epochs::sent_messages() {
  if (origin_.messages() == nullptr) {
    origin_.begin_messages({.system_bytes = static_cast<std::uint64_t>(messages_.system_bytes),
                            .unit_bytes = static_cast<std::uint64_t>(messages_.unit_bytes),
                            .detects_exclusive = messages_.detects_exclusive,
                            .may_detach = messages_.may_detach,
                            .adapts = messages_.adapts},
                           guarantees_);
  }
  return *origin_.messages();
}

void window_epochs::exchange_guarantees() {
  counts_.assign(static_cast<std::size_t>(members().size()), 0);
  for (const am_guarantee& each : messages_.guarantees) counts_[static_cast<std::size_t>(each.target)] = each.bytes;
  collectives_.start_reduce_scatter(counts_);
  waits_.until("window", "waits for guarantees of all members", no_rank,
               [this] { return collectives_.done() && service_.sent(); });
  const std::uint64_t owed = collectives_.result();
  on_target_thread([&] { target_.messages().buffers().owe(owed); });
}

bool window_epochs::try_take_over_accumulates() {
  if (owns_accumulates_.load(std::memory_order_acquire)) return true;
  // A progress thread must not use what belongs to this thread, which takes over when it makes the window.
  if (target_thread_ != endpoint_.thread() || !is_complete_) return false;
  if (target_.control().accumulates.by_owner.load(std::memory_order_relaxed) == 0) announce_owner("an active message");
  for (rank_t member = 0; member < members().size(); ++member) {
    const window_peer* const each = peers_.find(member);
    if (each != nullptr && each->control != nullptr && each->control->accumulates.uses(member_)) return false;
  }
  owns_accumulates_ = true;
  return true;
}

void window_epochs::check_messages(std::string_view call) {
  if (messages_.handlers != nullptr) return;
  throw window_error(window_fault::argument, call, member_, fmt::format("{}: it has no handlers", title_),
                     "name them in window_options::messages when the window is made, on all ranks");
}

void window_epochs::send_message(std::string_view call, rank_t target, am_message&& what, const am_description* about) {
  const inside entered(*this, call);
  check_member(call, target);
  rules_.check_use(call, window_call::operation, target, whose());
  check_messages(call);
  if (what.what == nullptr) {
    if (last_described_ == nullptr || *last_described_ != *about)
      last_described_ = std::make_shared<const am_description>(*about);
    what.what = last_described_;
  }
  const std::uint64_t bytes = what.what->persistent_bytes;
  window_peer& to = peers_.peer(target);
  if (attached_ == nullptr && (what.at > to.bytes || bytes > to.bytes - what.at))
    refuse_place(call, to, {.at = what.at, .bytes = bytes, .index_bytes = what.index_bytes});
  if (what.segments == 0) return;
  am_origin& messages = sent_messages();
  const auto has_place = [&] {
    if (checks_ != nullptr) advance_ready_messages();
    return messages.messages() < static_cast<std::size_t>(messages_.messages_max);
  };
  if (!has_place()) waits_.until(call, "waits until earlier active messages are complete", target, has_place);
  rules_.operation_begins();
  use(target);
  messages.add(origin_.queue_for(to), std::move(what));
  direct_.stored = direct_.unfinished = true;
  if (is_ready(to)) advance_messages(to);
  watch_messages(to);
  endpoint_.own_engine().pace(endpoint_);
}

// Only an origin that the owner has let in alone, for that it has asked, can rely on it: a promise may be wrong.
// Checked windows report wrong promises, of start and lock_all, from the calls of the program.
bool window_epochs::may_advance_in_round(window_peer& to) {
  const access_epoch now = rules_.access();
  const bool asks = now == access_epoch::started || (now == access_epoch::locked_all && to.lock == lock_kind::none);
  return (checks_ == nullptr || to.open || !asks) && is_ready(to);
}

void window_epochs::advance_messages(window_peer& to) {
  const bool is_exclusive = to.lock == lock_kind::exclusive && (to.has_ticket || to.asks_owner);
  origin_.messages()->advance(*to.messages, is_exclusive);
}

// Rounds of progress do not look for posts and locks of checked windows.
void window_epochs::advance_ready_messages() {
  for (window_peer* const each : used_) {
    if (has_waiting_messages(*each) && is_ready(*each)) advance_messages(*each);
  }
}

void window_epochs::watch_messages(const window_peer& of) {
  if (has_waiting_messages(of) && !std::exchange(is_watched_, true)) service_.watch(*this);
}

void window_epochs::throw_message_failure(std::string_view call) {
  if (origin_.messages() == nullptr || origin_.messages()->failure().empty()) return;
  am_origin& messages = *origin_.messages();
  const std::string text = fmt::format("{}: {}", title_, messages.failure());
  const am_refusal::reason why = messages.failure_reason();
  messages.forget_failure();
  switch (why) {
    case am_refusal::reason::buffer:
      throw window_error(window_fault::buffer, call, member_, text, "attach larger buffers at that rank");
    case am_refusal::reason::owed:
      throw window_error(window_fault::guarantee, call, member_, text,
                         "attach as much as is guaranteed to all origins");
    case am_refusal::reason::promise:
      throw window_error(window_fault::detached, call, member_, text, "make the window without that promise");
    case am_refusal::reason::counts:
      throw window_error(window_fault::counts, call, member_, text, "correct the handler");
    case am_refusal::reason::place:
      throw window_error(window_fault::range, call, member_, text, attached_memory::remedy);
    default:
      throw window_error(window_fault::handler, call, member_, text, "correct the handler");
  }
}

void window_epochs::attach_buffer(mutable_bytes memory) {
  constexpr std::string_view call = "window::attach_buffer";
  const inside entered(*this, call);
  check_messages(call);
  on_target_thread([&] { target_.messages().attach(call, memory); });
}

void window_epochs::detach_buffer(const void* base) {
  constexpr std::string_view call = "window::detach_buffer";
  const inside entered(*this, call);
  check_messages(call);
  on_target_thread([&] { target_.messages().detach(call, base); });
}

std::string window_epochs::describe() const {
  std::string text;
  for (const window_peer* const each : peers_.used()) {
    if (window_origin::are_messages_done(*each)) continue;
    text += fmt::format("\n  {}: active messages to rank {}: {}", title_, each->member, each->messages->describe());
  }
  return text;
}

am_counters window_epochs::counters_of(rank_t target) {
  constexpr std::string_view call = "window::counters_of";
  const inside entered(*this, call);
  check_member(call, target);
  const window_peer* const of = peers_.find(target);
  return of == nullptr || of->messages == nullptr ? am_counters() : of->messages->counters;
}

}  // namespace amity::detail
