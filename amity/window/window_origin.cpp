#include "amity/window/window_origin.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <span>
#include <utility>

#include "amity/base/copy_bytes.hpp"
#include "amity/core/segment_records.hpp"
#include "amity/window/compare_swap.hpp"
#include "amity/window/record_content.hpp"

namespace amity::detail {
namespace {

/// Larger operations take less time by one system call that copies.
constexpr std::size_t attention_bytes_max = 2048;

std::uint64_t word(window_identity identity) noexcept { return static_cast<std::uint64_t>(identity); }

window_act act_for(const window_operation& of) noexcept {
  const bool in_blocks = of.there != nullptr;
  switch (of.kind) {
    case operation_kind::put:
      return in_blocks ? window_act::put_blocks : window_act::put;
    case operation_kind::get:
      return in_blocks ? window_act::get_blocks : window_act::get;
    case operation_kind::accumulate:
      return in_blocks ? window_act::accumulate_blocks : window_act::accumulate;
    case operation_kind::compare_swap:
      break;
  }
  return window_act::compare_swap;
}

std::size_t element_bytes(const window_operation& of) noexcept {
  return of.kind == operation_kind::accumulate ? layout_of(of.type).bytes : 1;
}

}  // namespace

window_origin::window_origin(core::endpoint& in, window_service& service, direct_access& direct, window_target& own,
                             window_identity identity, window_protocol protocol, bool is_dynamic)
    : endpoint_(in),
      service_(service),
      stream_(in.own_engine().served().records()),
      direct_(direct),
      bytes_max_(core::record_bytes_max(in.own_engine().transport().caps().packet_bytes_max)),
      own_(own),
      identity_(identity),
      protocol_(protocol),
      is_dynamic_(is_dynamic) {}

// Records

void window_origin::begin_epoch(epoch_end end, std::uint64_t fences) noexcept {
  end_ = end;
  fences_ = fences;
  if (messages_) messages_->begin_epoch(message_bits());
}

std::uint8_t window_origin::message_bits() const noexcept {
  const unsigned parity = fences_ % 2 != 0 ? parity_bit : 0u, counts = end_ == epoch_end::counts ? counted_bit : 0u;
  return static_cast<std::uint8_t>(parity | counts);
}

core::record window_origin::record_of(const window_peer& to, window_act act, std::uint64_t at) const noexcept {
  return {.owner = core::record_owner::windows,
          .act = static_cast<std::uint8_t>(static_cast<unsigned>(act) | (fences_ % 2 != 0 ? parity_bit : 0u)),
          .object = to.number,
          .at = at};
}

std::byte* window_origin::try_append_operation(window_peer& to, core::record what) {
  const bool counts = end_ == epoch_end::counts;
  if (counts) what.act |= counted_bit;
  std::byte* const place = service_.try_append(to.lane, what);
  if (place != nullptr && counts) ++to.counted;
  return place;
}

void window_origin::end_append(window_peer& to) {
  protocol_ == window_protocol::send_recv ? stream_.send(to.lane) : service_.end_append(to.lane);
}

void window_origin::send(rank_t lane, core::record what) {
  what.owner = core::record_owner::windows;
  what.at = word(identity_);
  const auto try_send = [&] {
    return stream_.try_send(lane, what, {}, core::tracking::otherwise, fabric::claim::no_epoch);
  };
  if (!try_send()) [[unlikely]]
    endpoint_.wait_until(core::wait_for_credit, try_send);
}

void window_origin::ask_for_lock(window_peer& to, lock_kind kind) {
  core::record what = record_of(to, window_act::lock, 0);
  what.op = static_cast<std::uint8_t>(kind);
  send(to.lane, what);
}

void window_origin::ask_word(window_peer& to, window_act act, lock_kind kind) {
  core::record what = record_of(to, act, 0);
  what.op = static_cast<std::uint8_t>(kind);
  what.question = ask(to, std::as_writable_bytes(std::span(&to.word, 1)), to.answers);
  send(to.lane, what);
}

void window_origin::ask_description(window_peer& of, window_description& about) {
  core::record what{.act = static_cast<std::uint8_t>(window_act::describe)};
  what.question = ask(of, std::as_writable_bytes(std::span(&about, 1)), of.answers);
  send(of.lane, what);
  endpoint_.wait_until(wait_for_description, [&] { return of.answers.done(); });
}

void window_origin::unlock(window_peer& to, lock_kind kind) {
  ask_word(to, window_act::unlock, kind);
  to.unflushed = to.accumulates_in_records = false;
}

std::optional<std::uint32_t> window_origin::try_ask(window_peer& to, mutable_bytes into, core::event& told) {
  const std::optional<std::uint32_t> question = stream_.try_expect(to.lane, into, told);
  if (question) told.expect();
  return question;
}

std::uint32_t window_origin::ask(window_peer& to, mutable_bytes into, core::event& told) {
  std::optional<std::uint32_t> question = try_ask(to, into, told);
  if (question) return *question;
  service_.send_open();
  endpoint_.wait_until("answers to as many operations as may be under way",
                       [&] { return (question = try_ask(to, into, told)).has_value(); });
  return *question;
}

void window_origin::begin_flush(window_peer& to) {
  start_gets(to);
  if (!to.unflushed) return stream_.send(to.lane);
  if (is_dynamic_) {
    ask_word(to, window_act::flush, lock_kind::none);
  } else {
    if (stream_.full())
      endpoint_.wait_until("flushes of as many members as may be under way", [this] { return !stream_.full(); });
    to.flushed.expect();
    stream_.flush(to.lane, to.flushed);
  }
  to.unflushed = false;  // not before a wait, in which another thread may ask
}

void window_origin::ask_failure(window_peer& to, mutable_bytes into) {
  core::record what = record_of(to, window_act::failure, 0);
  what.question = ask(to, into, to.answers);
  send(to.lane, what);
}

void window_origin::begin_completion(window_peer& to) {
  start_gets(to);
  stream_.send(to.lane);
}

void window_origin::begin_messages(const am_origin_options& options, std::span<const am_guarantee> guarantees) {
  messages_ = std::make_unique<am_origin>(endpoint_.own_engine(), service_, options);
  messages_->begin_epoch(message_bits());
  for (const am_guarantee& each : guarantees) guaranteed_[each.target] = each.bytes;
}

am_queue& window_origin::queue_for(window_peer& to) {
  if (to.messages == nullptr) {
    const std::uint64_t* const bytes = guaranteed_.find(to.member);
    to.messages = messages_->make_queue(to.lane, to.number, bytes == nullptr ? 0 : *bytes);
  }
  return *to.messages;
}

std::string_view window_origin::describe_unfinished(const window_peer& of) noexcept {
  if (!are_messages_done(of)) {
    return of.messages->messages.empty()   ? "waits for an answer about space for active messages"
           : of.messages->waits_for_room() ? "waits for space for active messages"
           : of.messages->is_sent()        ? "waits for handlers of active messages"
                                           : "waits until active messages may be sent";
  }
  if (of.transfers != nullptr && !of.transfers->done())
    return "waits for puts and gets that the progress thread carries out";
  if (!is_network_done(of)) return "waits for puts and gets in remote memory";
  if (!of.answers.done()) return "waits for its replies";
  return "waits until operations have been carried out";
}

// Operations

void window_origin::carry_out(window_peer& to, window_operation& what) {
  if (try_carry_out(to, what)) [[likely]]
    return;
  service_.send_open();  // answers may be missing
  endpoint_.wait_until(core::wait_for_credit, [&] { return try_carry_out(to, what); });
}

bool window_origin::try_carry_out(window_peer& to, window_operation& what) {
  if (what.bytes() == 0) return true;
  if (to.is_mapped) {
    const bool is_accumulate = what.kind >= operation_kind::accumulate;
    if (!is_accumulate) use_mapped(to, what);
    if (!is_accumulate || try_accumulate_mapped(to, what)) return true;
  } else if (try_hand_over(to, what)) {
    return true;
  } else if (takes_network(to, what)) {
    if (prefers_attention(what) && try_use_attention(to, what)) return true;
    if (collects(to, what)) return try_collect(to, what);
    if (!core::has_place(endpoint_)) return false;
    use_network(to, what);
    return true;
  }
  return what.kind == operation_kind::compare_swap ? try_use_swap_record(to, what) : try_use_records(to, what);
}

// An owner that has taken over accumulates keeps them, so that an operation of several records stays one.
bool window_origin::try_accumulate_mapped(window_peer& to, const window_operation& what) {
  const bool is_covered = what.kind == operation_kind::compare_swap || layout_of(what.type).is_covered;
  if (what.moved > 0) return false;  // parts of it have been sent
  if (to.accumulates_in_records || (!is_covered && to.accumulates != nullptr)) return false;
  return direct_.accumulates.try_apply(to.accumulates, to.member, [&] { use_mapped(to, what); });
}

void window_origin::use_mapped(window_peer& to, const window_operation& what) const {
  std::byte* const there = byte_at(to.base, what.at);
  switch (what.kind) {
    case operation_kind::put:
      if (what.there != nullptr) return what.there->unpack(there, 0, what.from);
      return copy_bytes(there, what.from.data(), what.from.size());
    case operation_kind::get:
      if (what.there != nullptr) return what.there->pack(there, 0, what.into);
      return copy_bytes(what.into.data(), there, what.into.size());
    case operation_kind::compare_swap: {
      const std::uint64_t before = compare_swap(there, what.into.size(), what.swap.expected, what.swap.desired);
      std::memcpy(what.into.data(), &before, what.into.size());
      return;
    }
    default:
      break;
  }
  const accumulate_function apply = find_accumulate(what.op, what.type);
  const std::size_t element = layout_of(what.type).bytes, bytes = what.bytes();
  const std::byte* from = what.from.data();
  std::byte* previous = what.into.empty() ? nullptr : what.into.data();
  const auto each = [&](std::ptrdiff_t offset, std::size_t part) {
    apply(byte_at(there, static_cast<std::uint64_t>(offset)), from, previous, part / element);
    if (from != nullptr) from += part;
    if (previous != nullptr) previous += part;
  };
  if (what.there == nullptr) return each(0, bytes);
  what.there->for_each(0, bytes, each);
}

bool window_origin::takes_network(const window_peer& to, const window_operation& what) const {
  if (what.kind > operation_kind::get || what.there != nullptr || to.data_segment.lane == no_rank) return false;
  if (core::segment_records::reach(to.data_segment.handle) || protocol_ == window_protocol::buffered) return false;
  if (to.data_segment.handle.direct != nullptr && protocol_ == window_protocol::send_recv) return false;
  if (protocol_ == window_protocol::rma) return true;
  const fabric::remote_capabilities& can = endpoint_.own_engine().transport().remote_to(to.lane);
  const bool is_put = what.kind == operation_kind::put;
  return what.bytes() > (can.unattended ? 0 : is_put ? can.packed_bytes_max : can.woken_bytes_max);
}

// An operation of which parts are records stays on this thread.
bool window_origin::hands_over(const window_peer& to, const window_operation& what) noexcept {
  return to.transfers != nullptr && what.kind <= operation_kind::get && what.there == nullptr &&
         what.bytes() >= long_transfers::bytes_min && what.moved == 0 && !what.question;
}

// If as many are under way as can be, this thread carries the operation out itself: it has no order with these.
bool window_origin::try_hand_over(window_peer& to, const window_operation& what) {
  if (!hands_over(to, what)) return false;
  long_transfers& taker = *own_.transfers();
  if (!taker.try_hand_over(*to.transfers, {.at = to.data_offset + what.at, .from = what.from, .into = what.into}))
    return false;
  if (taker.must_wake()) endpoint_.own_engine().send(taker.lane(), core::service::wake, {});
  return true;
}

// A system call takes longer than a packet and its answer, if the owner polls.
bool window_origin::prefers_attention(const window_operation& what) const noexcept {
  return protocol_ == window_protocol::automatic && what.bytes() <= std::min(attention_bytes_max, bytes_max_);
}

// Without a credit the operation takes another way: the owner might answer late, because it no longer polls.
bool window_origin::try_use_attention(window_peer& to, const window_operation& what) {
  fabric::attention_board* const board = endpoint_.own_engine().transport().attention();
  if (board == nullptr || !board->engage(to.lane)) return false;
  const bool is_sent = try_send_question(to, what);
  board->disengage(to.lane);
  return is_sent;
}

// One record, which is answered.
bool window_origin::try_send_question(window_peer& to, const window_operation& what) {
  const std::optional<std::uint32_t> question = stream_.try_expect(to.lane, what.into, to.answers);
  if (!question) return false;
  core::record whole = record_of(to, act_for(what), what.at);
  whole.question = *question;
  const answer_place place{.at = 0, .bytes = what.into.size()};
  const bytes_view content =
      what.kind == operation_kind::get ? bytes_view(std::as_bytes(std::span(&place, 1))) : what.from;
  whole.bytes = static_cast<std::uint32_t>(content.size());
  const bool is_sent = stream_.try_send(to.lane, whole, content, core::tracking::otherwise, fabric::claim::no_epoch);
  if (is_sent) {
    to.answers.expect();
  } else {
    stream_.withdraw(*question);
  }
  return is_sent;
}

// If the memory is unattended, a get needs no packet and is complete at once.
bool window_origin::collects(const window_peer& to, const window_operation& what) const {
  return what.kind == operation_kind::get && what.into.size() <= short_gets::get_bytes_max &&
         protocol_ != window_protocol::send_recv && !endpoint_.own_engine().transport().remote_to(to.lane).unattended;
}

bool window_origin::try_collect(window_peer& to, const window_operation& what) {
  if (to.gets == nullptr) to.gets = std::make_unique<target_gets>(to.data_segment);
  return service_.gets().try_add(*to.gets, to.data_offset + what.at, what.into);
}

void window_origin::use_network(window_peer& to, const window_operation& what) {
  core::memory& memory = endpoint_.memory();
  const core::remote_address there{to.data_segment, to.data_offset + what.at};
  if (what.kind == operation_kind::get) return memory.get(there, what.into, to.network);
  // `complete` need not wait for what the fabric keeps in order.
  const bool is_followed =
      end_ == epoch_end::packet && endpoint_.own_engine().transport().remote_to(to.lane).puts_before_packets;
  using core::put_events;
  memory.put(there, what.from,
             is_followed ? put_events{.source_free = &to.network} : put_events{.complete = &to.network});
}

bool window_origin::try_use_swap_record(window_peer& to, window_operation& what) {
  if (!what.question) what.question = try_ask(to, what.into, to.answers);
  if (!what.question) return false;
  core::record swap = record_of(to, window_act::compare_swap, what.at);
  swap.question = *what.question;
  swap.word_bytes = static_cast<std::uint8_t>(what.into.size());
  swap.bytes = sizeof what.swap;
  std::byte* const content = try_append_operation(to, swap);
  if (content == nullptr) return false;
  std::memcpy(content, &what.swap, sizeof what.swap);
  to.accumulates_in_records = true;
  to.unflushed |= is_dynamic_;
  end_append(to);
  return true;
}

core::record window_origin::contiguous_record(const window_peer& to, const window_operation& what) const noexcept {
  core::record whole = record_of(to, act_for(what), what.at);
  whole.op = static_cast<std::uint8_t>(what.op);
  whole.word_bytes = static_cast<std::uint8_t>(what.type);
  whole.bytes = static_cast<std::uint32_t>(what.from.size());
  if (end_ == epoch_end::counts) whole.act |= counted_bit;
  return whole;
}

// Loops over neighboring elements, one operation for each, fill few records.
bool window_origin::extend_record(window_peer& to, const window_operation& what) {
  if (what.there != nullptr || !what.into.empty() || what.from.size() > bytes_max_) return false;
  std::byte* const content = stream_.tail(to.lane).try_extend(contiguous_record(to, what));
  if (content == nullptr) return false;
  copy_bytes(content, what.from.data(), what.from.size());
  to.unflushed = true;
  to.accumulates_in_records |= what.kind == operation_kind::accumulate;
  return true;
}

// A call that ends the epoch sends the packet, and so ends the record.
void window_origin::note_put(window_peer& to, const window_operation& what) {
  if (what.kind != operation_kind::put || what.there != nullptr || endpoint_.own_engine().lock() != nullptr) return;
  direct_.last_put = {
      .tail = &stream_.tail(to.lane),
      .member = to.member,
      .end = to.bytes == 0 ? ~std::uint64_t{0} : to.bytes,  // the target checks addresses of a dynamic window
      .bytes_max = std::min(what.from.size(), bytes_max_),
      .what = contiguous_record(to, what)};
}

// In pieces of whole elements, each of which fits into a packet.
bool window_origin::try_use_records(window_peer& to, window_operation& what) {
  if (what.moved == 0 && extend_record(to, what)) return true;
  const bool asks = !what.into.empty(), carries = !what.from.empty(), in_blocks = what.there != nullptr;
  block_place blocks{.number = 0, .from = 0};
  if (in_blocks) {
    const std::optional<std::uint32_t> number = try_number(to, what.there);
    if (!number) return false;
    blocks.number = *number;
  }
  if (asks && !what.question) what.question = try_ask(to, what.into, to.answers);
  if (asks && !what.question) return false;
  const std::size_t element = element_bytes(what), bytes = what.bytes();
  const std::size_t head = (in_blocks ? sizeof blocks : 0) + (asks ? sizeof(answer_place) : 0);
  const window_act act = act_for(what);
  while (what.moved < bytes) {
    const std::size_t left = bytes - what.moved;
    std::size_t part = carries ? stream_.room(to.lane, left + head) - head : bytes_max_;
    if (part < element) part = bytes_max_ - head;
    part = std::min(left, part / element * element);
    core::record piece = record_of(to, act, in_blocks ? what.at : what.at + what.moved);
    piece.op = static_cast<std::uint8_t>(what.op);
    piece.word_bytes = static_cast<std::uint8_t>(what.type);
    piece.bytes = static_cast<std::uint32_t>(head + (carries ? part : 0));
    piece.question = what.question.value_or(core::no_question);
    std::byte* content = try_append_operation(to, piece);
    if (content == nullptr) return false;
    if (in_blocks) {
      blocks.from = what.moved;
      std::memcpy(content, &blocks, sizeof blocks);
      content += sizeof blocks;
    }
    if (asks) {
      const answer_place place{.at = what.moved, .bytes = part};
      std::memcpy(content, &place, sizeof place);
      content += sizeof place;
    }
    if (carries) copy_bytes(content, what.from.data() + what.moved, part);
    end_append(to);
    what.moved += part;
    if (!asks || is_dynamic_) to.unflushed = true;
    if (what.kind == operation_kind::accumulate) to.accumulates_in_records = true;
  }
  note_put(to, what);
  return true;
}

std::optional<std::uint32_t> window_origin::try_number(window_peer& to, const std::shared_ptr<const layout>& blocks) {
  if (to.layouts == nullptr) to.layouts = std::make_unique<sent_descriptions<layout>>();
  return to.layouts->try_number(blocks, bytes_max_ - sizeof(layout_part),
                                [&](const layout_part& head, bytes_view part) {
                                  core::record piece = record_of(to, window_act::layout, 0);
                                  piece.bytes = static_cast<std::uint32_t>(sizeof head + part.size());
                                  std::byte* const content = service_.try_append(to.lane, piece);
                                  if (content == nullptr) return false;
                                  copy_bytes(put_head(content, head), part.data(), part.size());
                                  end_append(to);
                                  return true;
                                });
}

}  // namespace amity::detail
