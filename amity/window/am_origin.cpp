#include "amity/window/am_origin.hpp"

#include <algorithm>
#include <cstring>
#include <span>

#include <fmt/format.h>

#include "amity/base/copy_bytes.hpp"
#include "amity/core/engine.hpp"
#include "amity/core/record_stream.hpp"
#include "amity/window/record_content.hpp"
#include "amity/window/window_service.hpp"

namespace amity::detail {
namespace {

constexpr std::uint64_t segments_of_unit_max = 1'000'000;

/// How many segments fit into free bytes.
std::uint64_t segments_in(std::uint64_t free, const am_description& what) noexcept {
  return what.footprint() == 0 ? ~std::uint64_t{0} : free / what.footprint();
}

void add_free(std::vector<am_free>& list, std::uint32_t buffer, std::uint64_t bytes) noexcept {
  const auto found = std::ranges::find(list, buffer, &am_free::buffer);
  if (found != list.end()) found->bytes += bytes;
}

void subtract_free(std::vector<am_free>& list, std::uint32_t buffer, std::uint64_t bytes) noexcept {
  std::ranges::find(list, buffer, &am_free::buffer)->bytes -= bytes;
}

}  // namespace

void am_unit::reached() noexcept {
  origin->place_output(*this);
  origin->end(*this);
}

std::string am_queue::describe() const {
  const std::string wait = waits_for_room() ? "; the next unit waits for space" : "";
  return fmt::format(
      "{} not complete, {} units under way{}; so far {} handshakes, {} queries, {} refusals; credit of {} bytes",
      messages.size(), under_way, wait, counters.handshakes, counters.queries, counters.refusals, credit.bytes());
}

am_origin::am_origin(core::engine& on, window_service& service, const am_origin_options& options)
    : engine_(on),
      service_(service),
      stream_(on.served().records()),
      options_(options),
      content_max_(core::record_bytes_max(on.transport().caps().packet_bytes_max)) {}

std::unique_ptr<am_queue> am_origin::make_queue(rank_t lane, std::uint32_t window, std::uint64_t owed) const {
  auto made = std::make_unique<am_queue>(lane, window);
  made->system_free = options_.system_bytes;
  made->owed = made->owed_free = owed;
  return made;
}

void am_origin::add(am_queue& to, am_message&& what) {
  to.waiting += what.segments * what.what->footprint();
  to.messages.emplace_back(std::move(what), to.counters.messages++);
  ++messages_;
}

bool am_origin::advance(am_queue& of, bool is_exclusive) {
  bool any = false;
  for (;;) {
    if (of.beginning == nullptr) {
      const std::optional<candidate> what = next(of);
      if (!what) return any;
      request_list_early(of, *what, is_exclusive);
      const std::optional<found_room> where = find_room(of, *what, is_exclusive);
      if (!where) {
        request_room(of, *what, is_exclusive);
        return any;
      }
      begin(of, *what, *where);
    }
    if (!try_send(of, *of.beginning)) return any;
    of.beginning = nullptr;
    any = true;
  }
}

// Without a forced size, two units take the system buffer in turns.
std::size_t am_origin::segments_max(const am_description& of) const noexcept {
  const std::uint64_t bytes =
      options_.unit_bytes > 0 ? options_.unit_bytes : std::max<std::uint64_t>(options_.system_bytes, 4096) / 2;
  return std::clamp<std::uint64_t>(segments_in(bytes, of), 1, segments_of_unit_max);
}

std::optional<am_origin::candidate> am_origin::next(am_queue& of) noexcept {
  if (of.must_drain()) return std::nullopt;
  if (!of.returned.empty()) {
    am_unit* const again = of.returned.front();
    return candidate{.message = again->message, .first = again->first, .segments = again->segments, .returned = again};
  }
  if (of.cut == of.messages.size()) return std::nullopt;
  am_queued& message = of.messages[of.cut];
  const std::size_t left = message.what.segments - message.next;
  return candidate{.message = &message,
                   .first = message.next,
                   .segments = std::min(left, segments_max(*message.what.what)),
                   .returned = nullptr};
}

// Space

std::optional<am_origin::found_room> am_origin::find_room(am_queue& of, const candidate& what, bool is_exclusive) {
  const am_description& about = *what.message->what.what;
  if (of.granted.segments > 0) {
    const std::size_t segments = std::min<std::size_t>(of.granted.segments, what.segments);
    return found_room{.segments = segments, .space = am_space::granted, .room = std::exchange(of.granted, {}).room};
  }
  if (of.must_ask) return std::nullopt;
  const auto in = [&](std::uint64_t free) { return std::min<std::size_t>(segments_in(free, about), what.segments); };
  if (const std::size_t segments = in(of.system_free); segments > 0) {
    of.system_free -= segments * about.footprint();
    return found_room{.segments = segments, .space = am_space::system, .room = {}};
  }
  if (std::size_t segments = in(of.owed_free); segments > 0) {
    if (what.returned != nullptr) segments = 1;  // more of them were too large for one buffer
    of.owed_free -= segments * about.footprint();
    return found_room{.segments = segments, .space = am_space::owed, .room = {}};
  }
  if (const am_fit found = find_fit(of.credit.free(), need_of(about, 1), what.segments); found.segments > 0) {
    static_cast<void>(of.credit.try_take(need_of(about, found.segments), found.where));
    return found_room{.segments = found.segments, .space = am_space::credit, .room = found.where};
  }
  return of.has_list && is_exclusive ? choose_room(of, what) : std::nullopt;
}

std::optional<am_origin::found_room> am_origin::choose_room(am_queue& of, const candidate& what) {
  const am_need of_segment = need_of(*what.message->what.what, 1);
  const am_fit found = find_fit(of.list, of_segment, what.segments);
  if (found.segments == 0) return std::nullopt;
  subtract_free(of.list, found.where.input_buffer, found.segments * of_segment.input);
  subtract_free(of.list, found.where.output_buffer, found.segments * of_segment.output);
  return found_room{.segments = found.segments, .space = am_space::chosen, .room = found.where};
}

// The target grants space in the order of requests. Without credit, this rank requests it for its next unit alone, and
// after the last one has been answered, as the paper's base implementation does.
void am_origin::request_room(am_queue& of, const candidate& what, bool is_exclusive) {
  if (of.waits_since_ns == 0) of.waits_since_ns = std::max<std::uint64_t>(engine_.transport().now_ns(), 1);
  if (of.asks != am_queue::asking::nothing) return;
  const bool comes_back = of.under_way > 0;
  const bool is_owed = segments_in(of.owed, *what.message->what.what) > 0;
  const bool lists = is_exclusive && options_.detects_exclusive && !is_owed;
  if (lists && !of.has_list) return request_list(of);
  if (comes_back && (lists || is_owed)) return;
  if (comes_back && options_.adapts) {
    if (of.counters.units >= of.ask_ahead) ask(of, what, am_queue::asking::credit);
    return;
  }
  of.must_ask = true;
  if (!comes_back) ask(of, what, am_queue::asking::room);
}

// Before units that fit the system buffer: records stay in order.
void am_origin::request_list_early(am_queue& of, const candidate& what, bool is_exclusive) {
  if (!is_exclusive || !options_.detects_exclusive || of.has_list || of.asks != am_queue::asking::nothing) return;
  const bool fits = of.waiting <= of.system_free || segments_in(of.owed, *what.message->what.what) > 0;
  if (!fits && of.credit.empty()) request_list(of);
}

void am_origin::request_list(am_queue& of) {
  const std::uint64_t number = of.requests + 1;
  if (!try_send_content(of, window_act::am_query, head_bytes(number))) return;
  ++of.requests;
  ++of.counters.queries;
  of.asks = am_queue::asking::list;
}

void am_origin::ask(am_queue& of, const candidate& what, am_queue::asking kind) {
  const std::optional<std::uint32_t> description = try_describe(of, what.message->what.what);
  if (!description) return;
  const std::uint64_t again = what.returned != nullptr ? what.segments * what.message->what.what->footprint() : 0;
  // The program adds messages one after another, so few may wait now. In a long sequence, credit grows to three times
  // with each request.
  const std::uint64_t expected = 2 * (of.credit.bytes() + options_.system_bytes);
  const am_ask asked{.number = of.requests + 1,
                     .description = *description,
                     .segments = static_cast<std::uint32_t>(what.segments),
                     .is_ahead = kind == am_queue::asking::credit ? 1u : 0u,
                     .usable = std::max(of.waiting + again, expected)};
  if (!try_send_content(of, window_act::am_ask, head_bytes(asked))) return;
  ++of.requests;
  ++of.counters.handshakes;
  of.asks = kind;
  of.credit_when_asked = of.credit.bytes();
}

void am_origin::begin(am_queue& of, const candidate& what, const found_room& where) {
  am_unit* unit = what.returned;
  if (unit != nullptr) {
    of.returned.pop_front();
    unit->is_begun = false;
    unit->sent = 0;
  }
  if (unit == nullptr || where.segments < what.segments) {
    if (free_units_.empty()) {
      free_units_.push_back(&units_.emplace_back());
      free_units_.reserve(units_.size());  // `end` does not allocate
    }
    am_unit* const made = free_units_.back();
    free_units_.pop_back();
    made->origin = this;
    made->queue = &of;
    made->message = what.message;
    made->is_begun = false;
    made->sent = 0;
    ++what.message->units;
    if (unit == nullptr) {
      made->first = what.first;
      what.message->next += where.segments;
      of.waiting -= where.segments * what.message->what.what->footprint();
      if (what.message->is_cut()) ++of.cut;
      unit = made;
    } else {  // the rest of a unit that is sent again
      made->first = what.first + where.segments;
      made->segments = what.segments - where.segments;
      of.returned.push_front(made);
    }
  }
  unit->segments = where.segments;
  unit->space = where.space;
  unit->room = where.room;
  unit->restarts = std::exchange(of.restarts, false);
  of.beginning = unit;
  of.must_ask = false;
  ++of.under_way;
  ++of.counters.units;
  if (of.waits_since_ns == 0) return;
  of.counters.room_wait_ns += engine_.transport().now_ns() - std::exchange(of.waits_since_ns, 0);
}

void am_origin::give_room_back(am_queue& of, const am_unit& done) noexcept {
  const am_need need = need_of(*done.message->what.what, done.segments);
  switch (done.space) {
    case am_space::system:
      of.system_free += need.input + need.output;
      return;
    case am_space::owed:
      of.owed_free += need.input + need.output;
      return;
    case am_space::granted:
      return;
    case am_space::credit:
      of.credit.give_back(need, done.room);
      return;
    case am_space::chosen:
      add_free(of.list, done.room.input_buffer, need.input);
      add_free(of.list, done.room.output_buffer, need.output);
      return;
  }
}

bool am_origin::on_granted(am_queue& of, bytes_view content) {
  am_grant grant{};
  if (!take_head(content, grant) || !content.empty() || of.asks != am_queue::asking::room ||
      grant.number != of.requests)
    return false;
  of.asks = am_queue::asking::nothing;
  of.granted = grant;
  return grant.segments > 0;
}

// If the target gives no more, it is asked again after twice as many units as the last time.
bool am_origin::on_credited(am_queue& of, bytes_view content) {
  am_credited head{};
  if (!take_head(content, head) || content.size() % sizeof(am_free) != 0) return false;
  for (am_free now{}; take_head(content, now);) of.credit.set(now.buffer, now.bytes);
  of.counters.credit_bytes = of.credit.bytes();
  if (head.number == 0) return true;
  if (of.asks != am_queue::asking::credit || head.number != of.requests) return false;
  of.asks = am_queue::asking::nothing;
  const bool has_grown = of.credit.bytes() > of.credit_when_asked;
  of.ask_ahead_distance = has_grown ? am_queue::ask_ahead_distance_min : 2 * of.ask_ahead_distance;
  of.ask_ahead = has_grown ? 0 : of.counters.units + of.ask_ahead_distance;
  return true;
}

bool am_origin::on_listed(am_queue& of, bytes_view content) {
  std::uint64_t number = 0;
  if (!take_head(content, number) || content.size() % sizeof(am_free) != 0 || of.asks != am_queue::asking::list ||
      number != of.requests)
    return false;
  of.asks = am_queue::asking::nothing;
  of.list.resize(content.size() / sizeof(am_free));
  if (!content.empty()) std::memcpy(of.list.data(), content.data(), content.size());
  of.has_list = true;
  return true;
}

bool am_origin::on_refused(am_queue& of, bytes_view content) {
  am_refusal refusal{};
  if (!take_head(content, refusal)) return false;
  if (refusal.is_unit == 0) {
    if (of.asks != am_queue::asking::room || refusal.number != of.requests) return false;
    of.asks = am_queue::asking::nothing;
    of.must_ask = false;
    const std::optional<candidate> given_up = next(of);
    if (!given_up) return false;
    // Buffers cannot hold a segment. The system buffer can, now that nothing is under way.
    if (segments_in(options_.system_bytes, *given_up->message->what.what) > 0) return true;
    fail(refusal.why, content);
    give_up(of, *given_up);
    return true;
  }
  const auto found = std::ranges::find_if(
      units_, [&](const am_unit& each) { return each.queue == &of && each.question == refusal.number; });
  if (found == units_.end()) return false;
  am_unit& unit = *found;
  if (of.beginning == &unit) of.beginning = nullptr;
  stream_.withdraw(std::exchange(unit.question, core::no_question));
  if (refusal.why == am_refusal::reason::no_room) {
    send_again(of, unit);
  } else {
    fail(refusal.why, content);
    end(unit);
  }
  return true;
}

void am_origin::send_again(am_queue& of, am_unit& refused) {
  ++of.counters.refusals;
  if (refused.space != am_space::chosen) give_room_back(of, refused);
  of.has_list = false;
  of.restarts = true;
  --of.under_way;
  const auto is_before = [](const am_unit* a, const am_unit* b) {
    return std::pair(a->message->number, a->first) < std::pair(b->message->number, b->first);
  };
  of.returned.insert(std::ranges::upper_bound(of.returned, &refused, is_before), &refused);
}

void am_origin::give_up(am_queue& of, const candidate& what) {
  if (what.returned != nullptr) {
    of.returned.pop_front();
    ++of.under_way;
    what.returned->space = am_space::granted;
    return end(*what.returned);
  }
  am_queued& message = *what.message;
  of.waiting -= (message.what.segments - message.next) * message.what.what->footprint();
  message.next = message.what.segments;
  ++of.cut;
  drop_complete(of);
}

void am_origin::fail(am_refusal::reason why, bytes_view text) {
  if (!failure_.empty()) return;
  failure_.assign(reinterpret_cast<const char*>(text.data()), text.size());
  failure_reason_ = why;
}

// Sending

std::byte* am_origin::try_append(am_queue& of, core::record what) {
  what.owner = core::record_owner::windows;
  what.act |= act_bits_;
  what.object = of.window;
  return service_.try_append(of.lane, what);
}

bool am_origin::try_send_content(am_queue& of, window_act act, bytes_view content) {
  std::byte* const place =
      try_append(of, {.act = static_cast<std::uint8_t>(act), .bytes = static_cast<std::uint32_t>(content.size())});
  if (place == nullptr) return false;
  copy_bytes(place, content.data(), content.size());
  stream_.send(of.lane);  // the next unit waits for the answer
  return true;
}

std::optional<std::uint32_t> am_origin::try_describe(am_queue& of, const std::shared_ptr<const am_description>& what) {
  return of.descriptions.try_number(
      what, content_max_ - sizeof(layout_part), [&](const layout_part& head, bytes_view part) {
        std::byte* const place = try_append(of, {.act = static_cast<std::uint8_t>(window_act::am_describe),
                                                 .bytes = static_cast<std::uint32_t>(sizeof head + part.size())});
        if (place == nullptr) return false;
        copy_bytes(put_head(place, head), part.data(), part.size());
        service_.end_append(of.lane);
        return true;
      });
}

bool am_origin::try_send(am_queue& of, am_unit& next) {
  const am_message& message = next.message->what;
  const am_description& what = *message.what;
  const std::size_t total = next.segments * what.input.packed_bytes;
  const std::uint64_t input_at = next.first * what.input.packed_bytes;
  const auto copy_input = [&](std::byte* to, std::size_t bytes) {
    if (message.input_blocks != nullptr)
      message.input_blocks->pack(message.input, input_at + next.sent, {to, bytes});
    else
      copy_bytes(to, message.input + input_at + next.sent, bytes);
    next.sent += bytes;
    of.counters.input_bytes += bytes;
  };
  if (!next.is_begun) {
    const std::optional<std::uint32_t> description = try_describe(of, message.what);
    if (!description) return false;
    const std::size_t output_bytes = next.segments * what.output.packed_bytes;
    const bool is_direct = message.output_blocks == nullptr && !what.is_vector();
    if (!is_direct)
      next.answer.resize(output_bytes +
                         (what.is_vector() ? sizeof(am_vector_head) + am_counts_bytes(next.segments) : 0));
    const mutable_bytes into = is_direct
                                   ? mutable_bytes(message.output + next.first * what.output.packed_bytes, output_bytes)
                                   : mutable_bytes(next.answer);
    const std::optional<std::uint32_t> question = stream_.try_expect(of.lane, into, next);
    if (!question) return false;
    const bool is_same_room = names_room(next.space) && next.room == of.named;
    const bool has_room = names_room(next.space) && !is_same_room;
    // A short segment and its record fit one line then.
    const bool is_same_kind = next.segments == 1 && *description == of.described;
    const unsigned bits =
        (next.restarts ? restarts_bit : 0u) | (is_same_room ? same_room_bit : 0u) | (is_same_kind ? same_kind_bit : 0u);
    const std::size_t front = (is_same_kind ? 0 : sizeof(am_unit_head)) + (has_room ? sizeof(am_room) : 0);
    const std::size_t bytes = std::min(total, content_max_ - front);
    std::byte* place = try_append(of, {.act = static_cast<std::uint8_t>(window_act::am_unit),
                                       .op = static_cast<std::uint8_t>(next.space),
                                       .word_bytes = static_cast<std::uint8_t>(bits),
                                       .bytes = static_cast<std::uint32_t>(front + bytes),
                                       .question = *question,
                                       .at = message.at});
    if (place == nullptr) {
      stream_.withdraw(*question);
      return false;
    }
    next.question = *question;
    of.described = *description;
    if (!is_same_kind)
      place = put_head(
          place, am_unit_head{.description = *description, .segments = static_cast<std::uint32_t>(next.segments)});
    if (has_room) place = put_head(place, of.named = next.room);
    copy_input(place, bytes);
    next.is_begun = true;
    service_.end_append(of.lane);
  }
  while (next.sent < total) {
    const std::size_t bytes = std::min(total - next.sent, content_max_);
    std::byte* const place = try_append(of, {.act = static_cast<std::uint8_t>(window_act::am_part),
                                             .bytes = static_cast<std::uint32_t>(bytes),
                                             .question = next.question,
                                             .at = next.sent});
    if (place == nullptr) return false;
    copy_input(place, bytes);
    service_.end_append(of.lane);
  }
  return true;
}

// Answers

void am_origin::place_output(const am_unit& done) noexcept {
  am_counters& counters = done.queue->counters;
  const am_message& message = done.message->what;
  const am_description& what = *message.what;
  const std::uint64_t segment_bytes = what.output.packed_bytes;
  const auto place = [&](std::size_t segment, bytes_view data) {
    if (message.output_blocks != nullptr)
      return message.output_blocks->unpack(message.output, segment * segment_bytes, data);
    copy_bytes(message.output + segment * segment_bytes, data.data(), data.size());
  };
  if (!what.is_vector()) {
    if (message.output_blocks != nullptr && !done.answer.empty()) place(done.first, done.answer);
    counters.output_bytes += done.segments * segment_bytes;
    return;
  }
  am_vector_head head;
  std::memcpy(&head, done.answer.data(), sizeof head);
  const std::byte* from = done.answer.data() + sizeof head;
  std::vector<std::byte>::const_pointer data = from + am_counts_bytes(done.segments);
  for (std::size_t i = 0; i < done.segments; ++i, from += sizeof(std::uint32_t)) {
    std::uint32_t count;
    std::memcpy(&count, from, sizeof count);
    count = std::min(count, what.count_max);
    if (message.output_counts != nullptr) message.output_counts[done.first + i] = count;
    if (message.large_output_counts != nullptr) message.large_output_counts[done.first + i] = count;
    const std::uint64_t generated = count * what.element_bytes();
    if (generated > 0) place(done.first + i, {data, generated});
    const std::uint64_t sent = head.is_packed != 0 ? generated : segment_bytes;
    data += sent;
    counters.output_bytes += sent;
  }
  counters.count_bytes += done.segments * sizeof(std::uint32_t);
}

void am_origin::end(am_unit& done) noexcept {
  am_queue& of = *done.queue;
  give_room_back(of, done);
  --of.under_way;
  --done.message->units;
  done.question = core::no_question;
  done.queue = nullptr;
  free_units_.push_back(&done);
  drop_complete(of);
}

void am_origin::drop_complete(am_queue& of) noexcept {
  while (!of.messages.empty() && of.messages.front().is_cut() && of.messages.front().units == 0) {
    of.messages.pop_front();
    --of.cut;
    --messages_;
  }
}

}  // namespace amity::detail
