#include "amity/core/remote_operations.hpp"

#include <cstring>
#include <exception>
#include <utility>

#include <fmt/format.h>

#include "amity/base/error.hpp"
#include "amity/core/endpoint.hpp"
#include "amity/core/segment_records.hpp"

namespace amity::core {
namespace {

using fabric::stage;

// Envelopes up to this are put together here and copied into a packet; larger ones are put together there.
constexpr std::size_t small_bytes_max = 256;

/// The bit of the next step in `lane_state::refused`; 0 if the step does not use memory of the lane. Steps over the
/// fabric and over records have different bits.
std::uint32_t bit_of_next(const remote_operation& of) noexcept {
  const step next = of.plan[of.next];
  if (next < step::put || next > step::atomic) return 0;
  return std::uint32_t{segment_records::reach(of.to.segment.handle) ? 1u << 16 : 1u} << static_cast<unsigned>(next);
}

std::uint64_t context_of(awaited* told) noexcept { return told == nullptr ? 0 : told->context(); }

}  // namespace

void remote_operation::reached() noexcept { owner->resume(*this); }

void remote_operations::list::put_behind(remote_operation* before, remote_operation& one) noexcept {
  remote_operation*& link = before == nullptr ? first : before->behind;
  one.behind = link;
  if (one.behind == nullptr) last = &one;
  link = &one;
  ++count;
}

remote_operation& remote_operations::list::take_behind(remote_operation* before) noexcept {
  remote_operation*& link = before == nullptr ? first : before->behind;
  remote_operation& one = *link;
  link = one.behind;
  if (link == nullptr) last = before;
  --count;
  return one;
}

remote_operations::remote_operations(engine& on, fabric::remote_memory* memory, segment_records& records,
                                     std::size_t kept_max)
    : engine_(on), fabric_(on.transport()), memory_(memory), records_(records), places_(kept_max) {
  for (remote_operation& place : places_) free_.push(place);
}

void remote_operations::begin(remote_operation&& wanted) {
  wanted.owner = this;
  if (wanted.plan[0] == step::put_and_await) {  // the fabric keeps the operation's address
    while (free_.count == 0) make_place();
    remote_operation& kept = keep(wanted);
    const bool behind = must_queue(kept);
    put_aside(kept, behind ? outcome::refused : take_steps(kept));
    return;
  }
  // It may have a slot or a credit that those which have all places wait for: it must go on trying itself.
  for (;;) {
    if (must_queue(wanted) && free_.count > 0) return put_aside(keep(wanted), outcome::refused);
    const outcome how = take_steps(wanted);
    if (how == outcome::ended) return;
    if (free_.count > 0) return put_aside(keep(wanted), how);
    make_place();
  }
}

// Outside handlers a round of progress; it may have made none.
void remote_operations::make_place() {
  if (!engine_.running().exists()) return engine_.wait_once(engine_.job_world(), wait_for_credit);
  const memory_bound& memory = engine_.bound();
  if (!engine_.has_room(sizeof(remote_operation))) {
    const error too_many("a Long, put, get or atomic in a handler", engine_.rank(),
                         fmt::format("{} operations of this rank wait, and {} bytes of them and of messages; another "
                                     "one would exceed AMITY_CORE_SPILL_BYTES_MAX={}",
                                     kept(), memory.bytes(), memory.bytes_max()),
                         "begin fewer in handlers, or raise AMITY_CORE_SPILL_BYTES_MAX");
    // What was counted as sent never will be: the job cannot go on, whatever the handler does.
    engine_.failure().set(std::make_exception_ptr(too_many));
    throw too_many;
  }
  free_.push(places_.emplace_back());
}

remote_operation& remote_operations::keep(const remote_operation& wanted) noexcept {
  remote_operation& place = free_.pop();
  engine_.bound().add_leaving(sizeof(remote_operation));
  place = wanted;
  return place;
}

void remote_operations::put_aside(remote_operation& of, outcome why) noexcept {
  const rank_t lane = of.to.segment.lane;
  if (why == outcome::ended) {
    engine_.bound().subtract_leaving(sizeof(remote_operation));
    free_.push(of);
  }
  if (why != outcome::refused && why != outcome::lacks_slot) return;
  count_waiting(lane, 1);
  const list* const slotless = slotless_.find(lane);
  const bool behind_these = of.plan[of.next] == step::take_slot && slotless != nullptr && slotless->count > 0;
  if (why == outcome::lacks_slot || behind_these) {
    if (slotless == nullptr) lanes_waiting_.push_back(lane);
    return slotless_[lane].push(of);
  }
  ready_.push(of);
}

void remote_operations::resume(remote_operation& of) noexcept {
  count_waiting(of.to.segment.lane, 1);
  ready_.push(of);
}

void remote_operations::count_waiting(rank_t lane, int more) noexcept {
  waiting_ += static_cast<std::size_t>(more);
  waiting_at_[lane].waiting += static_cast<std::size_t>(more);
}

bool remote_operations::anyone_waits_at(rank_t lane) const noexcept {
  if (waiting_ == 0) return false;
  const lane_state* const here = waiting_at_.find(lane);
  return here != nullptr && here->waiting > 0;
}

// Whoever goes on sending would otherwise take all credits and slots from what could not begin before. In handlers,
// where places are few, and after a failure, which may have taken the events of those that wait, each is for itself.
bool remote_operations::must_queue(const remote_operation& wanted) noexcept {
  const rank_t lane = wanted.to.segment.lane;
  if (!anyone_waits_at(lane) || engine_.running().exists() || engine_.failure().exists()) return false;
  retry_first(lane);
  return anyone_waits_at(lane);
}

void remote_operations::retry_first(rank_t lane) noexcept {
  remote_operation* before = nullptr;
  remote_operation* first = ready_.first;
  while (first != nullptr && first->to.segment.lane != lane) before = std::exchange(first, first->behind);
  if (first == nullptr) return;
  ready_.take_behind(before);
  const outcome how = take_steps(*first);
  if (how == outcome::refused) return ready_.put_behind(before, *first);
  count_waiting(lane, -1);
  put_aside(*first, how);
}

void remote_operations::take_back(rank_t lane, const slot_news& news) {
  int left = slots_.take_back(lane, news);
  list& waiting = slotless_[lane];
  for (; left > 0 && waiting.count > 0; --left) ready_.push(waiting.pop());
}

bool remote_operations::advance() noexcept {
  bool any = false;
  ++round_;
  for (std::size_t left = ready_.count; left > 0; --left) {
    remote_operation& next = ready_.pop();
    const std::uint8_t before = next.next;
    const std::size_t moved = next.moved;
    const outcome how = was_refused(next) ? outcome::refused : take_steps(next);
    if (how == outcome::refused) note_refusal(next);
    any |= next.next != before || next.moved != moved || how == outcome::ended;
    count_waiting(next.to.segment.lane, -1);
    put_aside(next, how);
  }
  return any;
}

// Many operations on memory of a lane may wait, and the fabric refuses all of them for the same reason. Packets differ:
// some may take the reserve.
bool remote_operations::was_refused(const remote_operation& of) const noexcept {
  const lane_state* const here = waiting_at_.find(of.to.segment.lane);
  return here != nullptr && here->round == round_ && (here->refused & bit_of_next(of)) != 0;
}

void remote_operations::note_refusal(const remote_operation& of) noexcept {
  lane_state& here = waiting_at_[of.to.segment.lane];
  if (std::exchange(here.round, round_) != round_) here.refused = 0;
  here.refused |= bit_of_next(of);
}

void remote_operations::drop(const endpoint& gone, function_ref<bool(awaited&)> is_there) noexcept {
  for (remote_operation& each : places_) {
    if (each.world != &gone) continue;
    each.world = nullptr;
    // Otherwise the payload has left, or its event is the fabric's to report.
    const bool is_first = each.next == 0 || (each.next == 1 && each.plan[0] == step::take_slot);
    if (!is_first) continue;
    if (each.slot != no_slot) slots_.give_back(each.to.segment.lane, std::exchange(each.slot, no_slot));
    if (each.source_free != nullptr && is_there(*each.source_free)) each.source_free->reached();
    each.source_free = nullptr;
    each.plan = nothing_left;
    each.next = 0;
  }
  for (const rank_t lane : lanes_waiting_) {
    list& slotless = slotless_[lane];
    for (std::size_t left = slotless.count; left > 0; --left) {
      remote_operation& next = slotless.pop();
      (next.plan == nothing_left ? ready_ : slotless).push(next);
    }
  }
}

remote_operations::outcome remote_operations::take_steps(remote_operation& of) noexcept {
  for (;;) {
    const outcome how = take(of, of.plan[of.next]);
    if (how == outcome::refused || how == outcome::lacks_slot) return how;
    if (how == outcome::ended) {
      if (of.ended != nullptr) of.ended->reached();
      return how;
    }
    ++of.next;
    if (how == outcome::awaits) return how;
  }
}

remote_operations::outcome remote_operations::take(remote_operation& of, step now) noexcept {
  const rank_t lane = of.to.segment.lane;
  const fabric::remote_handle& there = of.to.segment.handle;
  switch (now) {
    case step::take_slot:
      of.slot = slots_.take(lane, [&](const slot_news& none) {
        engine_.send(lane, service::long_slots, std::as_bytes(std::span(&none, 1)));
      });
      return of.slot == no_slot ? outcome::lacks_slot : outcome::taken;
    case step::send_envelope:
      return send(of, {});
    case step::send_packed: {
      const outcome how = send(of, of.from);
      return how == outcome::refused ? how : come_to(of, stage::source_free);
    }
    case step::offer: {
      const offer where{.segment = of.holder->descriptor,
                        .offset = static_cast<std::uint64_t>(of.from.data() - of.holder->data)};
      const outcome how = send(of, std::as_bytes(std::span(&where, 1)));
      // The slot comes back when the target has the payload.
      if (how == outcome::taken) slots_.await(lane, of.slot, of.source_free);
      return how;
    }
    case step::end:
      return outcome::ended;
    default:
      break;
  }
  if (segment_records::reach(there)) return take_over_records(of, now);
  // Events that have been reached may have ended: no step behind these looks at them.
  const std::uint64_t source_free = context_of(of.source_free), complete = context_of(of.complete);
  switch (now) {
    case step::put: {
      // Puts that are no part of a message are complete before a collective, whether or not an event is.
      const bool is_counted = of.world == nullptr && of.complete == nullptr;
      const stage reached =
          memory_->put(there, of.to.offset, of.from,
                       {.source_free = source_free, .complete = is_counted ? without_event_.context() : complete});
      if (is_counted && reached != stage::refused && reached != stage::complete) without_event_.expect();
      return come_to(of, reached);
    }
    case step::put_and_await: {
      const stage reached =
          memory_->put(there, of.to.offset, of.from, {.source_free = source_free, .complete = of.context()});
      const outcome how = come_to(of, reached);
      return how == outcome::taken && reached != stage::complete ? outcome::awaits : how;
    }
    case step::put_notify:
      return come_to(of, memory_->put_notify(there, of.to.offset, of.from, of.slot, source_free));
    case step::get:
      return come_to(of, memory_->get(there, of.to.offset, {of.into, of.bytes}, complete));
    default:
      return come_to(of, memory_->atomic(there, of.to.offset, of.what, of.previous, complete));
  }
}

remote_operations::outcome remote_operations::take_over_records(remote_operation& of, step now) {
  switch (now) {
    case step::put:
      return come_to(of, records_.put(of, of.complete));
    case step::put_and_await: {
      const outcome how = come_to(of, records_.put(of, &of));
      return how == outcome::taken ? outcome::awaits : how;
    }
    case step::put_notify:
      return come_to(of, records_.put_notify(of));
    case step::get:
      return come_to(of, records_.get(of));
    default:
      return come_to(of, records_.atomic(of));
  }
}

// The events of stages that are reached at once are told here; the fabric tells the others.
remote_operations::outcome remote_operations::come_to(remote_operation& of, stage reached) noexcept {
  if (reached == stage::refused) return outcome::refused;
  if (reached >= stage::source_free && of.source_free != nullptr) of.source_free->reached();
  if (reached == stage::complete && of.complete != nullptr) of.complete->reached();
  return outcome::taken;
}

remote_operations::outcome remote_operations::send(remote_operation& of, bytes_view rest) noexcept {
  const envelope about{.offset = of.to.offset, .bytes = of.bytes, .segment = of.to.segment.number, .slot = of.slot};
  const bytes_view args = std::as_bytes(of.args.words());
  if (of.world == nullptr) return outcome::ended;  // it has ended, and the payload stays without its message
  const std::size_t bytes = sizeof about + args.size() + rest.size();
  const auto write = [&](std::byte* to) {
    std::memcpy(to, &about, sizeof about);
    if (!args.empty()) std::memcpy(to + sizeof about, args.data(), args.size());
    if (!rest.empty()) std::memcpy(to + sizeof about + args.size(), rest.data(), rest.size());
  };
  const rank_t lane = of.to.segment.lane;
  const std::uint64_t header = with_world(of.header.word(), of.world->number());
  if (bytes <= small_bytes_max) {
    std::array<std::byte, small_bytes_max> packet;
    write(packet.data());
    if (fabric_.try_send(lane, header, {packet.data(), bytes}, claim_of(of.header)) != status::ok)
      return outcome::refused;
  } else {
    fabric::slot slot;
    if (fabric_.acquire(lane, slot, claim_of(of.header)) != status::ok) return outcome::refused;
    write(slot.data);
    fabric_.commit(lane, header, slot, bytes);
  }
  of.world->own_counts().packet(of.header.handler(), bytes);
  return outcome::taken;
}

}  // namespace amity::core
