#include "amity/window/am_allocator.hpp"

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "amity/base/copy_bytes.hpp"
#include "amity/core/engine.hpp"
#include "amity/window/record_content.hpp"
#include "amity/window/window_error.hpp"
#include "amity/window/window_service.hpp"

namespace amity::detail {
namespace {

/// The longest text of an error. It fits into one record.
constexpr std::size_t text_bytes_max = 400;

}  // namespace

void am_notices::send(rank_t lane, window_act act, bytes_view head, std::string_view text) const {
  std::vector<std::byte> content(head.begin(), head.end());
  const bytes_view tail = std::as_bytes(std::span(text)).first(std::min(text.size(), text_bytes_max));
  content.insert(content.end(), tail.begin(), tail.end());
  service.send(lane,
               {.owner = core::record_owner::windows,
                .act = static_cast<std::uint8_t>(act),
                .bytes = static_cast<std::uint32_t>(content.size()),
                .at = static_cast<std::uint64_t>(identity)},
               content);
}

am_allocator::am_allocator(core::engine& on, const am_notices& notices, const options& how, owner of)
    : engine_(on), notices_(notices), options_(how), owner_(std::move(of)) {}

// The program of this rank

void am_allocator::attach(std::string_view call, mutable_bytes memory) {
  if (memory.empty() || memory.data() == nullptr) {
    throw window_error(window_fault::attachment, call, owner_.member,
                       fmt::format("{}: a buffer of {} bytes at address {}", owner_.window, memory.size(),
                                   static_cast<const void*>(memory.data())),
                       "attach at least one byte of memory");
  }
  if (!buffers_.try_attach(memory)) {
    throw window_error(window_fault::attachment, call, owner_.member,
                       fmt::format("{}: {} bytes at address {} overlap a buffer that is attached", owner_.window,
                                   memory.size(), static_cast<const void*>(memory.data())),
                       "detach that buffer before, or pass other memory");
  }
  serve();
}

void am_allocator::detach(std::string_view call, const void* base, bool is_used) {
  const am_buffers::detaching how = is_used ? am_buffers::detaching::in_use : buffers_.try_detach(base);
  if (how == am_buffers::detaching::done) return credits_.drop_detached();
  if (how == am_buffers::detaching::owed) {
    throw window_error(window_fault::guarantee, call, owner_.member,
                       fmt::format("{}: without the buffer at address {}, fewer bytes are attached than are guaranteed "
                                   "to origins",
                                   owner_.window, base),
                       "attach another buffer before");
  }
  const bool is_known = how == am_buffers::detaching::in_use;
  throw window_error(window_fault::attachment, call, owner_.member,
                     fmt::format("{}: {} at address {}", owner_.window,
                                 is_known ? "active messages use the buffer" : "no buffer begins", base),
                     is_known ? "detach it after the origins have completed their messages"
                              : "pass the address of an attached buffer, once");
}

std::string am_allocator::describe() const {
  return fmt::format("buffers for active messages of {} bytes, {} free; {} requests for space wait",
                     buffers_.bytes_attached(), buffers_.bytes_free(), asks_.size());
}

// Requests

void am_allocator::on_ask(rank_t lane, const am_ask& what, std::shared_ptr<const am_description> about) {
  const waiting_ask next{.lane = lane, .what = what, .about = std::move(about)};
  if (what.is_ahead != 0) {
    if (asks_.empty()) extend_credit(next);
    return tell_credit(lane, what.number);
  }
  if (!asks_.empty() || !try_serve(next)) asks_.push_back(next);
}

void am_allocator::serve() {
  while (!asks_.empty() && try_serve(asks_.front())) asks_.pop_front();
}

bool am_allocator::try_serve(const waiting_ask& next) {
  const am_need of_segment = need_of(*next.about, 1);
  if (const am_fit found = find_room(of_segment, next.what.segments); found.segments > 0) {
    ++granted_;
    credits_.note_grant(need_of(*next.about, found.segments));
    extend_credit(next);
    tell_credit(next.lane);
    const am_grant grant{
        .number = next.what.number, .segments = static_cast<std::uint32_t>(found.segments), .room = found.where};
    notices_.send(next.lane, window_act::am_granted, head_bytes(grant));
    return true;
  }
  if (buffers_.can_ever_fit(of_segment)) return false;
  const am_refusal refused{.number = next.what.number, .why = am_refusal::reason::buffer, .is_unit = 0};
  notices_.send(next.lane, window_act::am_refused, head_bytes(refused), no_buffer_for(of_segment));
  return true;
}

std::string am_allocator::no_buffer_for(const am_need& of_segment) const {
  return fmt::format(
      "a segment needs {} bytes of input and {} of output at rank {}, whose largest buffer has {} bytes ({} attached "
      "in all)",
      of_segment.input, of_segment.output, owner_.member, buffers_.bytes_largest(), buffers_.bytes_attached());
}

// Space that some origins have and use is withdrawn only if no other will be free.
am_fit am_allocator::find_room(const am_need& of_segment, std::uint64_t segments_max) {
  am_fit found = buffers_.try_take(of_segment, segments_max);
  if (found.segments > 0) return found;
  using enum am_credits::holders;
  if (credits_.try_withdraw(of_segment, idle) || (granted_ == 0 && credits_.try_withdraw(of_segment, all)))
    found = buffers_.try_take(of_segment, segments_max);
  return found;
}

void am_allocator::extend_credit(const waiting_ask& for_ask) {
  const am_description& what = *for_ask.about;
  if (!options_.adapts || !buffers_.can_ever_fit(need_of(what, 1))) return;
  credits_.note_request(need_of(what, for_ask.what.segments));
  credits_.extend(for_ask.lane, need_of(what, 1), for_ask.what.usable);
}

void am_allocator::tell_credit(rank_t lane, std::uint32_t number) {
  const std::vector<am_free> changed = credits_.take_untold(lane);
  if (changed.empty() && number == 0) return;
  const std::size_t bytes_max = core::record_bytes_max(engine_.transport().caps().packet_bytes_max);
  const std::size_t count_max = (bytes_max - sizeof(am_credited)) / sizeof(am_free);
  std::span<const am_free> left(changed);
  do {
    const std::span<const am_free> part = left.first(std::min(left.size(), count_max));
    left = left.subspan(part.size());
    const am_credited head{.number = left.empty() ? number : 0};
    std::vector<std::byte> content(sizeof head + part.size_bytes());
    copy_bytes(put_head(content.data(), head), reinterpret_cast<const std::byte*>(part.data()), part.size_bytes());
    notices_.send(lane, window_act::am_credited, content);
  } while (!left.empty());
}

void am_allocator::on_query(rank_t lane, std::uint64_t number) {
  std::vector<am_free> all = buffers_.free_or_kept();
  const std::size_t bytes_max = core::record_bytes_max(engine_.transport().caps().packet_bytes_max);
  all.resize(std::min(all.size(), (bytes_max - sizeof number) / sizeof(am_free)));
  std::vector<std::byte> answer(sizeof number + all.size() * sizeof(am_free));
  std::memcpy(answer.data(), &number, sizeof number);
  if (!all.empty()) std::memcpy(answer.data() + sizeof number, all.data(), all.size() * sizeof(am_free));
  notices_.send(lane, window_act::am_listed, answer);
}

// Units

std::optional<am_allocator::refusal> am_allocator::try_take(am_allocation& of) {
  switch (of.space) {
    case am_space::owed:
      return try_take_owed(of);
    case am_space::chosen:
      if (buffers_.try_take_there(of.need, of.room)) {
        credits_.withdraw_used(of.room);
        return std::nullopt;
      }
      if (options_.may_detach || (buffers_.has(of.room.input_buffer) && buffers_.has(of.room.output_buffer)))
        return refusal{.why = am_refusal::reason::no_room};
      return refusal{.why = am_refusal::reason::promise,
                     .text = fmt::format("rank {} has detached a buffer, though the window was made with the "
                                         "promise that no rank does so between messages",
                                         owner_.member)};
    case am_space::credit:
      if (credits_.try_take(of.lane, of.need, of.room)) return std::nullopt;
      return refusal{.why = am_refusal::reason::no_room};
    default:
      return std::nullopt;  // granted, since the request
  }
}

std::optional<am_allocator::refusal> am_allocator::try_take_owed(am_allocation& of) {
  if (buffers_.try_take_owed(of.need, of.room)) {
    credits_.withdraw_used(of.room);
    return std::nullopt;
  }
  if (!buffers_.has_all_owed()) {
    return refusal{
        .why = am_refusal::reason::owed,
        .text = fmt::format("rank {} has attached {} bytes, of which {} are free, and {} bytes that were guaranteed to "
                            "this rank do not fit",
                            owner_.member, buffers_.bytes_attached(), buffers_.bytes_free(),
                            of.need.input + of.need.output)};
  }
  // Other units lie where this one would fit, or it is too large for one buffer.
  if (of.segments > 1 || buffers_.would_fit(of.need)) return refusal{.why = am_refusal::reason::no_room};
  return refusal{.why = am_refusal::reason::buffer, .text = no_buffer_for(of.need)};
}

void am_allocator::give_back(const am_allocation& of) {
  if (of.space == am_space::credit) {
    credits_.give_back(of.lane, of.need, of.room);
  } else {
    buffers_.give_back(of.need, of.room, of.space == am_space::owed);
  }
  if (of.space == am_space::granted) --granted_;
  // Not here: the answer may be in a packet that is still open.
  if (!asks_.empty()) notices_.service.watch(*owner_.records);
}

}  // namespace amity::detail
