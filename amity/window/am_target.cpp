#include "amity/window/am_target.hpp"

#include <algorithm>
#include <cstring>
#include <exception>
#include <utility>

#include <fmt/format.h>

#include "amity/base/copy_bytes.hpp"
#include "amity/core/endpoint.hpp"
#include "amity/core/no_progress.hpp"
#include "amity/core/record_stream.hpp"
#include "amity/window/record_content.hpp"
#include "amity/window/window_error.hpp"
#include "amity/window/window_service.hpp"

namespace amity::detail {
namespace {

/// Pieces of memory that are kept for later units.
constexpr std::size_t spare_max = 8;

/// The longest text of an error. It fits into one record.
constexpr std::size_t text_bytes_max = 400;

}  // namespace

am_target::am_target(core::endpoint& in, window_service& service, const am_target_options& options, owner of)
    : endpoint_(in), engine_(in.own_engine()), service_(service), options_(options), owner_(std::move(of)) {
  spare_.reserve(spare_max);
}

// The program of this rank

void am_target::attach(std::string_view call, mutable_bytes memory) {
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
  serve_asks();
}

void am_target::detach(std::string_view call, const void* base) {
  const am_buffers::detaching how = calls_ > 0 ? am_buffers::detaching::in_use : buffers_.try_detach(base);
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

std::string am_target::describe() const {
  return fmt::format(
      "\n  {}: buffers for active messages of {} bytes, {} free; {} requests for space wait; {} units have not arrived "
      "as "
      "a whole",
      owner_.window, buffers_.bytes_attached(), buffers_.bytes_free(), asks_.size(), arriving_.size());
}

// Records

bool am_target::execute(rank_t lane, const core::record& what, bytes_view content, mutable_bytes memory,
                        core::answers& to) {
  if (options_.handlers != nullptr && !options_.handlers->may_run_here()) return false;
  switch (act_of(what)) {
    case window_act::am_describe:
      take_description(lane, content);
      return true;
    case window_act::am_ask:
      on_ask(lane, content);
      return true;
    case window_act::am_query:
      on_query(lane, content);
      return true;
    default:
      break;
  }
  // The record whose answer had no credit comes again.
  const auto left = std::ranges::find(replying_, lane, &unit::lane);
  if (left != replying_.end()) {
    if (left->question != what.question)
      throw engine_.invalid_packet(lane, "a unit before the answer to another one has left");
    if (!try_reply(*left, to)) return false;
    unit done = std::move(*left);
    replying_.erase(left);
    end(done);
    return true;
  }
  return act_of(what) == window_act::am_unit ? on_unit(lane, what, content, memory, to)
                                             : on_part(lane, what, content, memory, to);
}

void am_target::take_description(rank_t lane, bytes_view content) {
  layout_part part{};
  const auto invalid = [&] {
    return engine_.invalid_packet(lane, fmt::format("{} bytes of the description {} of active messages at {} of {}",
                                                    content.size(), part.number, part.at, part.bytes));
  };
  if (!take_head(content, part)) throw invalid();
  std::unique_ptr<origin_state>& of_lane = origins_[lane];
  if (of_lane == nullptr) of_lane = std::make_unique<origin_state>();
  const std::size_t place = part.number % descriptions_kept;
  if (place >= of_lane->descriptions.size()) of_lane->descriptions.resize(place + 1);
  known_description& to = of_lane->descriptions[place];
  if (part.at == 0) {
    to = {};
    to.number = part.number;
    to.bytes_missing = part.bytes;
  }
  if (to.number != part.number || part.at != to.encoded.size() || content.size() > to.bytes_missing) throw invalid();
  to.encoded.insert(to.encoded.end(), content.begin(), content.end());
  to.bytes_missing -= content.size();
  if (to.bytes_missing > 0) return;
  try {
    to.what = std::make_shared<const am_description>(am_description::decode(to.encoded));
  } catch (const error& wrong) {
    throw engine_.invalid_packet(lane, wrong.what());
  }
  to.encoded = {};
  try {
    if (options_.handlers == nullptr)
      throw error("an active message", owner_.member, fmt::format("{} has no handlers here", owner_.window),
                  "make the window with window_options::handlers on all ranks");
    to.recipe = options_.handlers->prepare(*to.what);
  } catch (const std::exception& wrong) {
    to.problem = wrong.what();
  }
}

am_target::origin_state& am_target::find_origin(rank_t lane) {
  const std::unique_ptr<origin_state>* const of_lane = origins_.find(lane);
  if (of_lane == nullptr) throw engine_.invalid_packet(lane, "an active message without its description");
  return **of_lane;
}

am_target::known_description& am_target::find_description(rank_t lane, origin_state& of, std::uint32_t number) {
  const std::size_t place = number % descriptions_kept;
  known_description* const found = place < of.descriptions.size() ? &of.descriptions[place] : nullptr;
  if (found == nullptr || found->number != number || found->what == nullptr)
    throw engine_.invalid_packet(lane,
                                 fmt::format("an active message with description {}, which it has not sent", number));
  return *found;
}

bool am_target::on_unit(rank_t lane, const core::record& what, bytes_view content, mutable_bytes memory,
                        core::answers& to) {
  const auto invalid = [&] {
    return engine_.invalid_packet(lane, fmt::format("a unit of {} bytes of an active message", what.bytes));
  };
  const auto space = static_cast<am_space>(what.op);
  origin_state& from = find_origin(lane);
  unit arrived{.lane = lane, .from = &from, .question = what.question, .at = what.at, .space = space};
  const bool is_same_room = (what.word_bytes & same_room_bit) != 0;
  const bool is_same_kind = (what.word_bytes & same_kind_bit) != 0;
  am_unit_head head{.description = from.described, .segments = 1};
  const bool has_room = names_room(space) && !is_same_room;
  const bool is_valid = space <= am_space::credit && what.word_bytes <= (restarts_bit | same_room_bit | same_kind_bit) &&
                        (!is_same_room || names_room(space));
  if (!is_valid || !(is_same_kind || take_head(content, head)) || (has_room && !take_head(content, arrived.room)))
    throw invalid();
  from.described = head.description;
  if (has_room) from.named = arrived.room;
  if (is_same_room) arrived.room = from.named;
  known_description& known = find_description(lane, from, head.description);
  arrived.segments = head.segments;
  arrived.description = head.description;
  arrived.need = need_of(*known.what, head.segments);
  const std::uint64_t input_bytes = known.what->input.packed_bytes * head.segments;
  arrived.arrived = content.size();
  arrived.is_whole = content.size() == input_bytes;
  constexpr std::uint64_t bytes_max = std::uint64_t{1} << 60;
  const std::uint64_t largest = std::max(known.what->input.packed_bytes, known.what->footprint());
  const bool is_too_large = largest > 0 && head.segments > bytes_max / largest;
  if (head.segments == 0 || is_too_large || content.size() > input_bytes) throw invalid();
  if ((what.word_bytes & restarts_bit) != 0) from.refuses = false;
  if (from.refuses) {
    refuse(arrived, am_refusal::reason::no_room, {});
    if (space == am_space::granted) give_room_back(arrived);
    return true;
  }
  if (owner_.find_problem != nullptr) {
    const std::string problem = owner_.find_problem(arrived.at, known.what->persistent_bytes);
    if (!problem.empty()) {
      if (space == am_space::granted) give_room_back(arrived);  // since the request
      fail(arrived, am_refusal::reason::place, problem);
      return true;
    }
  } else if (arrived.at > memory.size() || known.what->persistent_bytes > memory.size() - arrived.at) {
    throw invalid();
  }
  if (!has_taken_over_ && owner_.take_over != nullptr) {
    if (!owner_.take_over()) return false;
    has_taken_over_ = true;
  }
  if (!try_take_room(arrived)) return true;  // and has refused it
  if (owner_.note_write != nullptr && known.what->persistent_bytes > 0)
    owner_.note_write(what, lane, known.what->persistent_bytes);
  if (arrived.is_whole) return carry_out(std::move(arrived), known, content, memory, to);

  const am_side& side = known.what->input;
  place(arrived.input, arrived.room.input_buffer, arrived.need.input + side.overhang, side.alignment);
  unpack_input(known.what->input, arrived.input.data, 0, content);
  arriving_.push_back(std::move(arrived));
  return true;
}

bool am_target::on_part(rank_t lane, const core::record& what, bytes_view content, mutable_bytes memory,
                        core::answers& to) {
  const auto found = std::ranges::find_if(
      arriving_, [&](const unit& each) { return each.lane == lane && each.question == what.question; });
  // A unit that was refused after its first record.
  if (found == arriving_.end()) return true;
  known_description& known = find_description(lane, *found->from, found->description);
  const am_description& of = *known.what;
  const std::uint64_t input_bytes = of.input.packed_bytes * found->segments;
  if (what.at != found->arrived || content.size() > input_bytes - found->arrived)
    throw engine_.invalid_packet(
        lane, fmt::format("{} bytes of an active message at {} of {}", content.size(), what.at, input_bytes));
  if (found->failure.empty()) unpack_input(of.input, found->input.data, found->arrived, content);
  found->arrived += content.size();
  if (found->arrived < input_bytes) return true;
  unit whole = std::move(*found);
  arriving_.erase(found);
  if (!whole.failure.empty()) {
    refuse(whole, whole.why, whole.failure);
    return true;
  }
  return carry_out(std::move(whole), known, {}, memory, to);
}

// Space

bool am_target::try_take_room(unit& of) {
  switch (of.space) {
    case am_space::system: {
      std::uint64_t& used = of.from->system_used;
      used += of.need.input + of.need.output;
      if (used > options_.system_bytes)
        throw engine_.invalid_packet(of.lane,
                                     fmt::format("{} bytes for a system buffer of {}", used, options_.system_bytes));
      return true;
    }
    case am_space::owed:
      if (buffers_.try_take_owed(of.need, of.room)) {
        credits_.withdraw_used(of.room);
        return true;
      }
      // Other units lie where this one would fit, or it is too large for one buffer.
      if (buffers_.has_all_owed() && (of.segments > 1 || buffers_.would_fit(of.need))) {
        refuse_room(of);
        return false;
      }
      if (buffers_.has_all_owed()) {
        fail(of, am_refusal::reason::buffer, no_buffer_for(of.need));
        return false;
      }
      fail(
          of, am_refusal::reason::owed,
          fmt::format("rank {} has attached {} bytes, of which {} are free, and {} bytes that were guaranteed to this "
                      "rank do not fit",
                      owner_.member, buffers_.bytes_attached(), buffers_.bytes_free(), of.need.input + of.need.output));
      return false;
    case am_space::granted:
      return true;  // since the request
    case am_space::chosen:
      if (buffers_.try_take_there(of.need, of.room)) {
        credits_.withdraw_used(of.room);
        return true;
      }
      options_.may_detach || (buffers_.has(of.room.input_buffer) && buffers_.has(of.room.output_buffer))
          ? refuse_room(of)
          : fail(of, am_refusal::reason::promise,
                 fmt::format("rank {} has detached a buffer, though the window was made with the "
                             "promise that no rank does so between messages",
                             owner_.member));
      return false;
    case am_space::credit:
      if (credits_.try_take(of.lane, of.need, of.room)) return true;
      refuse_room(of);
      return false;
  }
  return false;
}

void am_target::refuse_room(const unit& of) {
  of.from->refuses = true;
  tell_credit(of.lane, 0);
  refuse(of, am_refusal::reason::no_room, {});
}

void am_target::give_room_back(unit& of) {
  if (of.space == am_space::system) {
    of.from->system_used -= of.need.input + of.need.output;
    return;
  }
  if (of.space == am_space::credit) {
    credits_.give_back(of.lane, of.need, of.room);
  } else {
    buffers_.give_back(of.need, of.room, of.space == am_space::owed);
  }
  if (of.space == am_space::granted) --granted_;
  // Not here: the answer may be in a packet that is still open.
  if (!asks_.empty()) service_.watch(*owner_.records);
}

void am_target::on_ask(rank_t lane, bytes_view content) {
  waiting_ask next{.lane = lane, .what = {}};
  if (!take_head(content, next.what) || !content.empty() || next.what.segments == 0)
    throw engine_.invalid_packet(lane, "a request for space for active messages");
  static_cast<void>(find_description(lane, next.what.description));
  if (next.what.is_ahead != 0) {
    if (asks_.empty()) extend_credit(next);
    return tell_credit(lane, next.what.number);
  }
  if (!asks_.empty() || !try_serve(next)) asks_.push_back(next);
}

void am_target::serve_asks() {
  while (!asks_.empty() && try_serve(asks_.front())) asks_.pop_front();
}

// Origins replace no description of a request that waits.
bool am_target::try_serve(const waiting_ask& next) {
  const am_description& what = *find_description(next.lane, next.what.description).what;
  const am_need of_segment = need_of(what, 1);
  if (const am_fit found = find_room(of_segment, next.what.segments); found.segments > 0) {
    ++granted_;
    credits_.note_grant(need_of(what, found.segments));
    extend_credit(next);
    tell_credit(next.lane, 0);
    const am_grant grant{
        .number = next.what.number, .segments = static_cast<std::uint32_t>(found.segments), .room = found.where};
    send(next.lane, window_act::am_granted, head_bytes(grant));
    return true;
  }
  if (buffers_.can_ever_fit(of_segment)) return false;
  refuse_ask(next.lane, next.what.number, no_buffer_for(of_segment));
  return true;
}

std::string am_target::no_buffer_for(const am_need& of_segment) const {
  return fmt::format(
      "a segment needs {} bytes of input and {} of output at rank {}, whose largest buffer has {} bytes ({} attached "
      "in "
      "all)",
      of_segment.input, of_segment.output, owner_.member, buffers_.bytes_largest(), buffers_.bytes_attached());
}

// Space that some origins have and use is withdrawn only if no other will be free.
am_fit am_target::find_room(const am_need& of_segment, std::uint64_t segments_max) {
  am_fit found = buffers_.try_take(of_segment, segments_max);
  if (found.segments > 0) return found;
  using enum am_credits::holders;
  if (credits_.try_withdraw(of_segment, idle) || (granted_ == 0 && credits_.try_withdraw(of_segment, all)))
    found = buffers_.try_take(of_segment, segments_max);
  return found;
}

void am_target::extend_credit(const waiting_ask& for_ask) {
  const am_description& what = *find_description(for_ask.lane, for_ask.what.description).what;
  if (!options_.adapts || !buffers_.can_ever_fit(need_of(what, 1))) return;
  credits_.note_request(need_of(what, for_ask.what.segments));
  credits_.extend(for_ask.lane, need_of(what, 1), for_ask.what.waiting);
}

void am_target::tell_credit(rank_t lane, std::uint32_t number) {
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
    send(lane, window_act::am_credited, content);
  } while (!left.empty());
}

void am_target::on_query(rank_t lane, bytes_view content) {
  std::uint64_t number = 0;
  if (!take_head(content, number)) throw engine_.invalid_packet(lane, "a query of space for active messages");
  std::vector<am_free> all = buffers_.free_or_kept();
  const std::size_t bytes_max = core::record_bytes_max(engine_.transport().caps().packet_bytes_max);
  all.resize(std::min(all.size(), (bytes_max - sizeof number) / sizeof(am_free)));
  std::vector<std::byte> answer(sizeof number + all.size() * sizeof(am_free));
  std::memcpy(answer.data(), &number, sizeof number);
  if (!all.empty()) std::memcpy(answer.data() + sizeof number, all.data(), all.size() * sizeof(am_free));
  send(lane, window_act::am_listed, answer);
}

void am_target::send(rank_t lane, window_act act, bytes_view head, std::string_view text) {
  std::vector<std::byte> content(head.begin(), head.end());
  const bytes_view tail = std::as_bytes(std::span(text)).first(std::min(text.size(), text_bytes_max));
  content.insert(content.end(), tail.begin(), tail.end());
  service_.send(lane,
                {.owner = core::record_owner::windows,
                 .act = static_cast<std::uint8_t>(act),
                 .bytes = static_cast<std::uint32_t>(content.size()),
                 .at = static_cast<std::uint64_t>(owner_.identity)},
                content);
}

void am_target::fail(unit& of, am_refusal::reason why, std::string_view text) {
  if (of.is_whole) return refuse(of, why, text);
  of.why = why;
  of.failure = text;
  arriving_.push_back(std::move(of));
}

void am_target::refuse(const unit& of, am_refusal::reason why, std::string_view text) {
  const am_refusal refusal{.number = of.question, .why = why, .is_unit = 1};
  send(of.lane, window_act::am_refused, head_bytes(refusal), text);
}

void am_target::refuse_ask(rank_t lane, std::uint32_t number, std::string_view text) {
  const am_refusal refusal{.number = number, .why = am_refusal::reason::buffer, .is_unit = 0};
  send(lane, window_act::am_refused, head_bytes(refusal), text);
}

// Memory of units

void am_target::place(storage& in, std::uint32_t buffer, std::uint64_t bytes, std::uint64_t alignment) {
  in.buffer = am_room::no_buffer;
  in.data = buffer == am_room::no_buffer ? nullptr : buffers_.try_place(buffer, bytes, alignment);
  if (in.data != nullptr) {
    in.buffer = buffer;
    return;
  }
  if (in.elsewhere.empty() && !spare_.empty()) {
    in.elsewhere = std::move(spare_.back());
    spare_.pop_back();
  }
  if (in.elsewhere.size() < bytes + alignment) in.elsewhere.resize(bytes + alignment);
  const auto address = reinterpret_cast<std::uintptr_t>(in.elsewhere.data());
  in.data = in.elsewhere.data() + (alignment - address % alignment) % alignment;
}

void am_target::remove(storage& from) noexcept {
  if (from.buffer != am_room::no_buffer) buffers_.remove_place(from.buffer, from.data);
  from.buffer = am_room::no_buffer;
  from.data = nullptr;
  if (!from.elsewhere.empty() && spare_.size() < spare_max) spare_.push_back(std::move(from.elsewhere));
}

// Segments follow one another at the distance of their footprint.
void am_target::unpack_input(const am_side& side, std::byte* to, std::uint64_t from, bytes_view packed) const {
  if (side.blocks == nullptr) return copy_bytes(to + from, packed.data(), packed.size());
  while (!packed.empty()) {
    const std::uint64_t segment = from / side.packed_bytes, at = from % side.packed_bytes;
    const bytes_view part = packed.first(std::min<std::uint64_t>(packed.size(), side.packed_bytes - at));
    side.blocks->unpack(to + segment * side.footprint - side.first, at, part);
    from += part.size();
    packed = packed.subspan(part.size());
  }
}

// Calls of handlers

bool am_target::carry_out(unit&& whole, known_description& known, bytes_view input, mutable_bytes memory,
                          core::answers& to) {
  try {
    run(whole, known, input, memory);
  } catch (const window_error& wrong) {
    const bool is_count = wrong.fault() == window_fault::range;
    refuse(whole, is_count ? am_refusal::reason::counts : am_refusal::reason::handler, wrong.what());
    end(whole);
    return true;
  } catch (const std::exception& wrong) {
    refuse(whole, am_refusal::reason::handler, wrong.what());
    end(whole);
    return true;
  } catch (...) {
    refuse(whole, am_refusal::reason::handler, "an exception of an unknown type");
    end(whole);
    return true;
  }
  if (try_reply(whole, to)) {
    end(whole);
    return true;
  }
  replying_.push_back(std::move(whole));
  return false;
}

void am_target::run(unit& of, known_description& known, bytes_view input, mutable_bytes memory) {
  const am_description& what = *known.what;
  if (known.recipe == nullptr)
    throw error("an active message", owner_.member, known.problem, "correct the message or the handlers");
  const bool is_in_place =
      what.input.blocks == nullptr && reinterpret_cast<std::uintptr_t>(input.data()) % what.input.alignment == 0;
  const std::byte* begin = of.input.data != nullptr ? of.input.data : input.data();
  if (of.input.data == nullptr && !is_in_place) {
    place(of.input, of.room.input_buffer, of.need.input + what.input.overhang, what.input.alignment);
    unpack_input(what.input, of.input.data, 0, input);
    begin = of.input.data;
  }
  place(of.output, of.room.output_buffer, of.need.output + what.output.overhang, what.output.alignment);
  std::memset(of.output.data, 0, of.need.output + what.output.overhang);
  counts_.assign(what.is_vector() ? of.segments : 0, 0);
  const std::byte* const input_address = byte_at(begin, static_cast<std::uint64_t>(-what.input.first));
  {
    const core::no_progress quiet(endpoint_);
    ++calls_;
    const struct counted {
      std::size_t& calls;
      ~counted() { --calls; }
    } counts_call{calls_};
    known.recipe->run(
        {.segments = of.segments,
         .input = {input_address, of.need.input},
         .persistent = {byte_at(memory.data(), of.at), what.persistent_bytes},
         .output = {byte_at(of.output.data, static_cast<std::uint64_t>(-what.output.first)), of.need.output},
         .output_counts = counts_});
  }
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    if (counts_[i] <= what.count_max) continue;
    throw window_error(
        window_fault::range, "an active message", owner_.member,
        fmt::format("the handler of operation {} has set the count {} for a segment, and the largest is {}",
                    what.operation, counts_[i], what.count_max),
        "set counts of at most what the origin has named");
  }
  pack_output(what, of, counts_);
}

void am_target::pack_output(const am_description& what, unit& of, std::span<const std::uint32_t> counts) {
  const am_side& side = what.output;
  const auto pack = [&](std::byte* to, std::uint64_t segment, std::uint64_t bytes) {
    const std::byte* const from = of.output.data + segment * side.footprint;
    if (side.blocks == nullptr) return copy_bytes(to, from, bytes);
    side.blocks->pack(byte_at(from, static_cast<std::uint64_t>(-side.first)), 0, {to, bytes});
  };
  if (!what.is_vector()) {
    if (side.blocks == nullptr) {
      of.answer = {of.output.data, side.packed_bytes * of.segments};
      return;
    }
    of.packed.resize(side.packed_bytes * of.segments);
    for (std::uint64_t i = 0; i < of.segments; ++i)
      pack(of.packed.data() + i * side.packed_bytes, i, side.packed_bytes);
    of.answer = of.packed;
    return;
  }
  std::uint64_t generated = 0;
  for (const std::uint32_t count : counts) generated += count * what.element_bytes();
  const std::uint64_t whole = side.packed_bytes * of.segments;
  const am_vector_head head{
      .is_packed = static_cast<double>(generated) < options_.pack_below * static_cast<double>(whole) ? 1u : 0u};
  const std::size_t front = sizeof head + am_counts_bytes(of.segments);
  of.packed.assign(front + (head.is_packed != 0 ? generated : whole), std::byte{});
  std::memcpy(of.packed.data(), &head, sizeof head);
  std::memcpy(of.packed.data() + sizeof head, counts.data(), counts.size_bytes());
  std::byte* to = of.packed.data() + front;
  for (std::uint64_t i = 0; i < of.segments; ++i) {
    const std::uint64_t bytes = head.is_packed != 0 ? counts[i] * what.element_bytes() : side.packed_bytes;
    if (bytes > 0) pack(to, i, bytes);
    to += bytes;
  }
  of.answer = of.packed;
}

bool am_target::try_reply(unit& of, core::answers& to) {
  const std::size_t part_max = core::record_bytes_max(engine_.transport().caps().packet_bytes_max);
  do {
    const std::size_t bytes = std::min(part_max, of.answer.size() - of.sent);
    const bool is_last = of.sent + bytes == of.answer.size();
    std::byte* const place =
        to.try_write(of.question, of.sent, bytes,
                     is_last && !of.packed.empty() ? core::answer_part::last : core::answer_part::of_all);
    if (place == nullptr) return false;
    copy_bytes(place, of.answer.data() + of.sent, bytes);
    of.sent += bytes;
  } while (of.sent < of.answer.size());
  return true;
}

void am_target::end(unit& of) {
  remove(of.input);
  remove(of.output);
  give_room_back(of);
}

}  // namespace amity::detail
