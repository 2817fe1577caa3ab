/// Operations of a window, from their call until they are complete.

#include "amity/window/window_epochs.hpp"

#include <algorithm>
#include <exception>
#include <iterator>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "amity/core/no_progress.hpp"
#include "amity/window/window_error.hpp"

namespace amity::detail {
namespace {

/// Appends a put to the last one if its bytes follow both at the target and in the memory of the program.
bool join(window_operation& last, const window_operation& what) noexcept {
  const auto is_contiguous = [](const window_operation& each) {
    return each.kind == operation_kind::put && each.there == nullptr && !each.is_packed;
  };
  if (!is_contiguous(last) || !is_contiguous(what) || last.at + last.from.size() != what.at ||
      last.from.data() + last.from.size() != what.from.data())
    return false;
  last.from = {last.from.data(), last.from.size() + what.from.size()};
  return true;
}

void keep(window_peer& of, packed_data&& copy) {
  of.packed_bytes += copy.data().size();
  of.packed.push_front(std::move(copy));
}

bool is_one_block(const std::shared_ptr<const layout>& blocks) noexcept {
  return blocks != nullptr && blocks->is_contiguous();
}

/// Counts for as long as it lives.
class counted final : private immovable {
 public:
  explicit counted(std::size_t& count) : count_(count) { ++count_; }
  ~counted() { --count_; }

 private:
  std::size_t& count_;
};

std::size_t copied_bytes(const std::shared_ptr<const layout>& blocks) noexcept {
  return blocks == nullptr || blocks->is_contiguous() ? 0 : blocks->bytes();
}

std::size_t held_bytes(const window_operation& what, bool copies) noexcept {
  return sizeof what + (copies || what.is_packed ? sizeof(packed_data) + what.from.size() : 0);
}

}  // namespace

window_peer& window_epochs::use(rank_t target) {
  window_peer& to = peers_.peer(target);
  if (!std::exchange(to.listed, true)) used_.push_back(&to);
  return to;
}

void window_epochs::inside::abandon_after_failure() noexcept {
  if (of_.target_.transfers()->done() || std::uncaught_exceptions() == 0) return;
  if (of_.endpoint_.own_engine().failure().exists()) of_.team_.threads().abandon();
}

void window_epochs::set_open(window_peer& of, bool is_open) {
  of.open = is_open;
  if (of.direct != nullptr) of.direct->is_open = is_open;
}

bool window_epochs::take_post(rank_t from) {
  if (signals_) return signals_->take_post(from);
  std::uint32_t& posts = posts_[from];
  if (posts == 0) return false;
  --posts;
  return true;
}

bool window_epochs::is_ready(window_peer& to) {
  if (to.asks_fence) {
    if (!to.answers.done()) return false;
    to.asks_fence = false;
    to.fences = target_.fences();
  }
  if (to.open) return true;
  switch (rules_.access()) {
    case access_epoch::started:
      if (!has(access_promised_, window_assert::no_check) || checks_ != nullptr) {
        if (checks_ != nullptr && posts_[to.member] > 0) checks_->consume_post(to.member, access_promised_);
        if (!take_post(to.member)) return false;
      }
      to.fences = target_.fences();
      set_open(to, true);
      return true;
    case access_epoch::locked:
      if (to.lock == lock_kind::none) return true;  // another thread has left it
      [[fallthrough]];
    case access_epoch::locked_all:
      if (!has_lock(to)) return false;
      set_open(to, true);
      return true;
    default:
      return true;
  }
}

void window_epochs::wait_until_ready(std::string_view call, window_peer& to) {
  if (is_ready(to)) return;
  if (to.asks_fence)
    return waits_.until(call, "waits until it leaves the fence", to.member, [&] { return is_ready(to); });
  if (rules_.access() == access_epoch::started) {
    const auto is_posted = [&] { return is_ready(to); };
    if (!signals_) return waits_.until(call, "waits for its post", to.member, is_posted);
    return waits_.for_signals(call, "waits for its post", to.member, *signals_, is_posted,
                              [&] { return signals_->has_post(to.member); });
  }
  const std::int32_t holder = to.control == nullptr ? 0 : to.control->holder.load(std::memory_order_relaxed);
  const std::string held_by = holder == 0 ? std::string() : fmt::format(", which rank {} holds", holder - 1);
  window_peer* const one = &to;
  waits_.for_locks(call, "waits for its lock" + held_by, {&one, 1}, [&] { return is_ready(to); });
}

void window_epochs::take_lock(window_peer& to, lock_kind kind) {
  to.lock = kind;
  if (has(access_promised_, window_assert::no_check)) {
    if (checks_ == nullptr) {
      to.granted = true;
    } else {
      take_promised_lock(to, kind);
    }
    if (to.granted) return;
  }
  to.has_ticket = to.control != nullptr;
  if (to.has_ticket && kind == lock_kind::all) return static_cast<void>(has_lock(to));
  if (to.has_ticket) {
    const auto [ticket, enters] = to.control->lock.draw(kind);
    to.ticket = ticket;
    if (enters) note_mapped_lock(to);
    return;
  }
  to.asks_owner = true;
  origin_.ask_for_lock(to, kind);
}

// The program promises that no other rank holds the lock or waits for it.
void window_epochs::take_promised_lock(window_peer& to, lock_kind kind) {
  const std::string_view call = rules_.access() == access_epoch::locked_all ? "window::lock_all" : "window::lock";
  rank_t holder = no_rank;
  bool was_free = false;
  if (to.control != nullptr) {
    holder = to.control->holder.load(std::memory_order_relaxed) - 1;
    was_free = to.control->take_if_free(kind, member_);
  } else {
    origin_.ask_word(to, window_act::try_lock, kind);
    waits_.until(call, "asks whether its lock is free", to.member, [&] { return to.answers.done(); });
    was_free = std::exchange(to.word, 0) != 0;
  }
  if (!was_free) {
    to.lock = lock_kind::none;
    throw checks_->lock_is_taken(call, to.member, holder);
  }
  to.granted = kind == lock_kind::exclusive;
  to.has_ticket = to.granted && to.control != nullptr;
  to.asks_owner = to.granted && to.control == nullptr;
}

// The owner has drawn tickets that wait, and does not see what happens to the lock.
void window_epochs::wake_owner(window_peer& of) {
  if (is_served_here(of)) return;
  if (of.control->must_wake_owner()) [[unlikely]]
    send_to_service(of.lane, window_act::released);
}

bool window_epochs::has_lock(window_peer& to) {
  if (to.lock == lock_kind::none) take_lock(to, lock_kind::all);
  if (to.granted || !to.has_ticket) return to.granted;
  if (!to.control->lock.try_enter(to.lock, to.ticket)) return false;
  note_mapped_lock(to);
  return true;
}

// It has been taken.
void window_epochs::note_mapped_lock(window_peer& to) {
  to.granted = true;
  if (to.lock == lock_kind::shared) wake_owner(to);  // the next ticket may be another reader's
  if (to.lock == lock_kind::exclusive) to.control->holder.store(member_ + 1, std::memory_order_relaxed);
}

void window_epochs::begin(std::string_view call, window_operation&& what, bool copies) {
  const inside entered(*this, call);
  check_member(call, what.target);
  rules_.check_use(call, window_call::operation, what.target, whose());
  window_peer& to = peers_.peer(what.target);
  check_operation(call, to, what);
  rules_.operation_begins();
  use(what.target);
  direct_.all_open = rules_.access() == access_epoch::used_fenced && checks_ == nullptr;
  const bool waits_for_end = origin_.protocol() == window_protocol::send_recv && !to.is_mapped;
  const bool may_start = is_ready(to) && !asks_fence(to, what);
  if (waits_for_end || !may_start) {
    if (!to.is_mapped && may_hold(what, copies)) {
      hold(call, to, std::move(what), copies);
      return endpoint_.own_engine().pace(endpoint_);
    }
    wait_until_ready(call, to);
  }
  if (checks_ != nullptr && to.member == member_ && what.writes()) {
    checks_->note_write(call, member_, rules_.access() == access_epoch::used_fenced, what.at, what.bytes(),
                        what.there.get(), 0);
  }
  begin_held(call, to);
  carry_out(to, what);
  if (to.gets != nullptr && !to.gets->is_reading()) origin_.start_gets(to);  // else collects until that is complete
  if (to.transfers != nullptr) await_wake(call);
  if (copies && window_origin::reads_operands(to))
    waits_.until(call, "waits for its operand", what.target, [&] { return !window_origin::reads_operands(to); });
  endpoint_.own_engine().pace(endpoint_);
}

// Records of this epoch wait at an owner that has not left the fence. The network does not.
bool window_epochs::asks_fence(window_peer& to, const window_operation& what) {
  if (has_left_fence(to) || to.is_mapped || !origin_.bypasses_owner(to, what)) return false;
  origin_.ask_word(to, window_act::reach, lock_kind::none);
  to.asks_fence = true;
  return true;
}

// Packs operands, and unpacks results when they are there. The paths of operations see contiguous data at the origin.
void window_epochs::begin_in_blocks(std::string_view call, window_operation&& what, const origin_layouts& own) {
  const inside entered(*this, call);
  check_member(call, what.target);
  const auto is_null = [](const std::byte* base, const auto* blocks) {
    return base == nullptr && blocks != nullptr && blocks->first() == 0 && blocks->bytes() > 0;
  };
  if (is_null(what.from.data(), own.from.get()) || is_null(what.into.data(), own.into.get())) {
    throw window_error(window_fault::argument, call, member_,
                       fmt::format("{}: {} bytes at a null pointer", title_, what.bytes()), "pass a span of elements");
  }
  make_room_for_copies(call, what.target, copied_bytes(own.from) + copied_bytes(own.into));
  std::optional<packed_data> operands, result;
  if (is_one_block(own.from)) {
    what.from = {byte_at(what.from.data(), static_cast<std::uint64_t>(own.from->first())), what.from.size()};
  } else if (own.from != nullptr) {
    what.from = operands.emplace(what.from.data(), *own.from).data();
    what.is_packed = true;
  }
  if (is_one_block(own.into)) {
    what.into = {byte_at(what.into.data(), static_cast<std::uint64_t>(own.into->first())), what.into.size()};
  } else if (own.into != nullptr) {
    what.into = result.emplace(what.into.data(), own.into).data();
  }
  const bool moves_whole_block = what.kind <= operation_kind::get && is_one_block(what.there) &&
                                 what.there->first() == 0 && what.there->bytes() == what.bytes();
  if (moves_whole_block) {  // remote memory takes contiguous data
    what.there = nullptr;
    what.in_blocks = false;
  }
  const rank_t target = what.target;
  begin(call, std::move(what), false);
  if (!operands && !result) return;
  window_peer& to = peers_.peer(target);
  const bool reads_operands = !to.held.empty() || window_origin::reads_operands(to);
  if (operands && reads_operands) keep(to, *std::move(operands));
  if (result) keep(to, *std::move(result));
  if (!complete_here(to)) direct_.unfinished = true;
}

// Copies stay until all operations on the target are complete here, which a loop of them might never see. Beyond half
// of the bound of the engine, it waits for that. A single copy may be larger.
void window_epochs::make_room_for_copies(std::string_view call, rank_t target, std::size_t bytes) {
  window_peer* const of = peers_.find(target);
  if (bytes == 0 || of == nullptr || of->packed.empty()) return;
  if (of->packed_bytes + bytes <= endpoint_.own_engine().bound().bytes_max() / 2 || complete_here(*of)) return;
  wait_until_complete_here(call, *of);
}

// Rounds of progress inside this call begin no operations.
void window_epochs::carry_out(window_peer& to, window_operation& what) {
  const counted carrying(carried_out_);
  origin_.carry_out(to, what);
  note_under_way(to);
}

void window_epochs::note_under_way(const window_peer& to) noexcept {
  direct_.stored = true;
  if (to.unflushed || !window_origin::done(to)) direct_.unfinished = true;
  if (to.is_mapped && to.accumulates_in_records) direct_.records_accumulate = true;
}

// A program may begin any number of operations before the call, the post or the lock that lets them start. Beyond half
// of the bound of the engine, they wait for that, and start.
bool window_epochs::may_hold(const window_operation& what, bool copies) const noexcept {
  const core::memory_bound& bound = endpoint_.own_engine().bound();
  return bound.bytes() + held_bytes(what, copies) <=
         bound.bytes_max() / 2;  // the rest is for handlers, which cannot wait
}

void window_epochs::hold(std::string_view call, window_peer& to, window_operation&& what, bool copies) {
  await_beginning(call, to);
  const bool collects = origin_.protocol() != window_protocol::send_recv;  // which sends each on its own, at the end
  if (collects && !copies && !to.held.empty() && join(to.held.back(), what)) return;
  const std::size_t bytes = held_bytes(what, copies);
  endpoint_.own_engine().bound().add_held(bytes);
  to.held_bytes += bytes;
  if (copies) what.from = to.held_data.emplace_back(what.from.begin(), what.from.end());
  to.held.push_back(std::move(what));
  // Checked windows report wrong promises from the calls of the program.
  if (collects && checks_ == nullptr && !std::exchange(is_watched_, true)) service_.watch(*this);
  direct_.unfinished = true;
}

void window_epochs::await_beginning(std::string_view call, window_peer& to) {
  if (to.begins_held > 0)
    waits_.until(call, "waits until queued operations have begun", to.member, [&] { return to.begins_held == 0; });
}

// The post or the lock is there.
void window_epochs::begin_held(std::string_view call, window_peer& to) {
  if (has_waiting_messages(to)) advance_messages(to);
  await_beginning(call, to);
  if (to.held.empty()) return;
  const counted beginning(to.begins_held);
  for (; to.begun < to.held.size(); ++to.begun) carry_out(to, to.held[to.begun]);
  end_held(to);
}

// All operations that were queued have begun.
void window_epochs::end_held(window_peer& to) {
  to.begun = 0;
  to.held = {};  // few peers need it at once
  if (!window_origin::reads_operands(to)) to.held_data = {};
  endpoint_.own_engine().bound().subtract_held(std::exchange(to.held_bytes, 0));
  origin_.start_gets(to);
}

// Held operations begin when the post or the lock is there, also while the program waits for something else. They make
// no progress, as in a handler: this is called in a round of it.
bool window_epochs::on_round() {
  if (carried_out_ > 0) return true;
  const core::no_progress quiet(endpoint_);
  bool any_held = false;
  const bool begins_held = origin_.protocol() != window_protocol::send_recv && checks_ == nullptr;
  for (window_peer* const each : used_) {
    const bool has_messages = has_waiting_messages(*each);
    if (each->held.empty() && !has_messages) continue;
    if (has_messages && may_advance_in_round(*each)) advance_messages(*each);
    any_held |= has_waiting_messages(*each);
    if (!begins_held || each->held.empty()) continue;
    if (is_ready(*each)) {
      while (each->begun < each->held.size() && origin_.try_carry_out(*each, each->held[each->begun])) ++each->begun;
      note_under_way(*each);
      if (each->begun == each->held.size()) end_held(*each);
    }
    any_held |= !each->held.empty();
  }
  is_watched_ = any_held;
  return any_held;
}

void window_epochs::await_held(std::string_view call, window_peer& to) {
  if (to.held.empty() && !has_waiting_messages(to)) return;
  wait_until_ready(call, to);
  begin_held(call, to);
}

void window_epochs::begin_all_held(std::string_view call) {
  std::vector<window_peer*> left;
  std::ranges::copy_if(used_, std::back_inserter(left),
                       [](const window_peer* each) { return !each->held.empty() || has_waiting_messages(*each); });
  const auto any_is_ready = [&] {
    return std::ranges::any_of(left, [this](window_peer* each) { return is_ready(*each); });
  };
  while (!left.empty()) {
    waits_.for_locks(call, "waits for posts, locks or fences", left, any_is_ready);
    std::erase_if(left, [&](window_peer* each) {
      if (!is_ready(*each)) return false;
      begin_held(call, *each);
      return true;
    });
  }
}

void window_epochs::finish(std::string_view call, std::span<window_peer* const> all, bool flushes) {
  for (window_peer* const each : all) flushes ? origin_.begin_flush(*each) : origin_.begin_completion(*each);
  waits_.for_operations(call, all);
  for (window_peer* const each : all) {
    if (each->held.empty()) each->held_data = {};
    complete_here(*each);
    if (each->messages != nullptr) origin_.messages()->note_flush(*each->messages, false);
    if (flushes && !each->unflushed) each->accumulates_in_records = false;  // other threads may have begun more
  }
  if (flushes) take_failures(call, all);
}

// During the wait, other threads may use further targets.
void window_epochs::finish_all(std::string_view call, bool flushes) {
  const std::vector<window_peer*> all = used_;
  finish(call, all, flushes);
}

void window_epochs::take_failures(std::string_view call, std::span<window_peer* const> all) {
  if (attached_ == nullptr) return;
  for (window_peer* const each : all) {
    const auto wait_for_answers = [&] {
      waits_.until(call, "asks for an error in operations", each->member, [&] { return each->answers.done(); });
    };
    while (const std::uint64_t bytes = std::exchange(each->word, 0)) {
      if (each->asks_failure) {
        waits_.until(call, "waits until another thread knows an error", each->member,
                     [&] { return !each->asks_failure; });
      } else {
        std::string text(bytes, ' ');
        each->asks_failure = true;
        origin_.ask_failure(*each, std::as_writable_bytes(std::span(text)));
        wait_for_answers();
        each->asks_failure = false;
        if (failure_.empty()) failure_ = fmt::format("{}: {}", title_, text);
        if (std::exchange(each->word, 0) == 0) break;
      }
      // Another flush was told of this error, or of a later one: only the target knows.
      origin_.ask_word(*each, window_act::flush, lock_kind::none);
      wait_for_answers();
    }
  }
}

void window_epochs::take_and_throw_failure(std::string_view call) {
  if (!failure_.empty())
    throw window_error(window_fault::range, call, member_, std::exchange(failure_, {}), attached_memory::remedy);
  throw_message_failure(call);
}

void window_epochs::look_for_unfinished() {
  direct_.unfinished = std::ranges::any_of(used_, [](const window_peer* each) {
    return each->unflushed || !each->held.empty() || !each->packed.empty() || !window_origin::done(*each);
  });
  direct_.records_accumulate = std::ranges::any_of(
      used_, [](const window_peer* each) { return each->is_mapped && each->accumulates_in_records; });
}

void window_epochs::end_access() {
  for (window_peer* const each : used_) {
    each->listed = each->unflushed = each->accumulates_in_records = false;
    complete_here(*each);
    if (each->messages != nullptr) origin_.messages()->note_flush(*each->messages, true);
    each->held_data = {};
    set_open(*each, false);
  }
  used_.clear();
  direct_.all_open = false;
  direct_.may_flush = false;
  direct_.unfinished = false;
  direct_.records_accumulate = false;
  if (direct_.last_put.tail != nullptr) direct_.last_put = {};
  access_promised_ = window_assert::none;
}

// Flushes and requests

void window_epochs::flush(rank_t target) {
  constexpr std::string_view call = "window::flush";
  const inside entered(*this, call);
  check_member(call, target);
  rules_.use(call, window_call::flush, target, whose());
  window_peer* const of = peers_.find(target);
  if (of != nullptr && of->listed) {
    await_held(call, *of);
    finish(call, {&of, 1}, true);
    look_for_unfinished();
  }
  direct_.fence_stores();
  throw_failure(call);
}

void window_epochs::flush_all() {
  constexpr std::string_view call = "window::flush_all";
  const inside entered(*this, call);
  rules_.on(call, window_call::flush, whose());
  begin_all_held(call);
  finish_all(call, true);
  look_for_unfinished();
  direct_.fence_stores();
  throw_failure(call);
}

void window_epochs::flush_local(rank_t target) {
  constexpr std::string_view call = "window::flush_local";
  const inside entered(*this, call);
  check_member(call, target);
  rules_.use(call, window_call::flush, target, whose());
  window_peer* const of = peers_.find(target);
  if (of == nullptr || !of->listed) return;
  await_held(call, *of);
  finish(call, {&of, 1}, false);
  throw_message_failure(call);
}

bool window_epochs::complete_here(window_peer& of) noexcept {
  if (!of.held.empty() || !window_origin::is_network_done(of) || !of.answers.done() ||
      !window_origin::are_messages_done(of))
    return false;
  for (const packed_data& each : of.packed) each.unpack();
  of.packed.clear();
  of.packed_bytes = 0;
  return true;
}

void window_epochs::wait_until_complete_here(std::string_view call, window_peer& of) {
  await_held(call, of);
  origin_.begin_completion(of);
  waits_.until(call, window_origin::describe_unfinished(of), of.member, [&] { return complete_here(of); });
}

bool window_epochs::test_local(rank_t target) {
  constexpr std::string_view call = "window_request::test";
  const inside entered(*this, call);
  window_peer* const of = peers_.find(target);
  if (of == nullptr) return true;
  if (complete_here(*of)) return true;
  if (!of->held.empty() && is_ready(*of)) begin_held(call, *of);
  origin_.begin_completion(*of);
  const bool any = endpoint_.progress();
  using poll_round = core::engine::poll_round;
  endpoint_.own_engine().polled(endpoint_, call, any ? poll_round::eventful : poll_round::idle);
  return complete_here(*of);
}

bool window_epochs::is_complete_here(rank_t target) noexcept {
  window_peer* const of = peers_.find(target);
  return of == nullptr || complete_here(*of);
}

void window_epochs::wait_local(rank_t target) {
  constexpr std::string_view call = "window_request::wait";
  const inside entered(*this, call);
  window_peer* const of = peers_.find(target);
  if (of == nullptr) return;
  if (complete_here(*of)) return;
  wait_until_complete_here(call, *of);
}

void window_epochs::flush_local_all() {
  constexpr std::string_view call = "window::flush_local_all";
  const inside entered(*this, call);
  rules_.on(call, window_call::flush, whose());
  begin_all_held(call);
  finish_all(call, false);
  throw_message_failure(call);
}

}  // namespace amity::detail
