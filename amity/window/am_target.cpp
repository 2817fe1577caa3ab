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

}  // namespace

am_target::am_target(core::endpoint& in, window_service& service, const am_target_options& options, owner of)
    : endpoint_(in),
      engine_(in.own_engine()),
      options_(options),
      owner_(std::move(of)),
      notices_{.service = service, .identity = owner_.identity},
      space_(engine_, notices_, options.allocator,
             {.records = owner_.records, .member = owner_.member, .window = owner_.window}) {
  spare_.reserve(spare_max);
}

std::string am_target::describe() const {
  return fmt::format("\n  {}: {}; {} units have not arrived as a whole", owner_.window, space_.describe(),
                     arriving_.size());
}

// Records

bool am_target::execute(rank_t lane, const core::record& what, bytes_view content, mutable_bytes memory,
                        core::answers& to) {
  if (options_.handlers != nullptr && !options_.handlers->may_run_here()) return false;
  switch (act_of(what)) {
    case window_act::am_describe:
      take_description(lane, content);
      return true;
    case window_act::am_ask: {
      am_ask asked{};
      if (!take_head(content, asked) || !content.empty() || asked.segments == 0)
        throw engine_.invalid_packet(lane, "a request for space for active messages");
      space_.on_ask(lane, asked, find_description(lane, asked.description).what);
      return true;
    }
    case window_act::am_query: {
      std::uint64_t number = 0;
      if (!take_head(content, number)) throw engine_.invalid_packet(lane, "a query of space for active messages");
      space_.on_query(lane, number);
      return true;
    }
    default:
      break;
  }
  // The record whose answer had no credit comes again.
  const auto left = std::ranges::find(replying_, lane, [](const unit& each) { return each.allocation.lane; });
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
  unit arrived{.allocation = {.lane = lane, .space = space}, .from = &from, .question = what.question, .at = what.at};
  const bool is_same_room = (what.word_bytes & same_room_bit) != 0;
  const bool is_same_kind = (what.word_bytes & same_kind_bit) != 0;
  am_unit_head head{.description = from.described, .segments = 1};
  const bool has_room = names_room(space) && !is_same_room;
  const bool is_valid = space <= am_space::credit &&
                        what.word_bytes <= (restarts_bit | same_room_bit | same_kind_bit) &&
                        (!is_same_room || names_room(space));
  if (!is_valid || !(is_same_kind || take_head(content, head)) ||
      (has_room && !take_head(content, arrived.allocation.room)))
    throw invalid();
  from.described = head.description;
  if (has_room) from.named = arrived.allocation.room;
  if (is_same_room) arrived.allocation.room = from.named;
  known_description& known = find_description(lane, from, head.description);
  arrived.allocation.segments = head.segments;
  arrived.description = head.description;
  arrived.allocation.need = need_of(*known.what, head.segments);
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
  place(arrived.input, arrived.allocation.room.input_buffer, arrived.allocation.need.input + side.overhang,
        side.alignment);
  unpack_input(known.what->input, arrived.input.data, 0, content);
  arriving_.push_back(std::move(arrived));
  return true;
}

bool am_target::on_part(rank_t lane, const core::record& what, bytes_view content, mutable_bytes memory,
                        core::answers& to) {
  const auto found = std::ranges::find_if(
      arriving_, [&](const unit& each) { return each.allocation.lane == lane && each.question == what.question; });
  // A unit that was refused after its first record.
  if (found == arriving_.end()) return true;
  known_description& known = find_description(lane, *found->from, found->description);
  const am_description& of = *known.what;
  const std::uint64_t input_bytes = of.input.packed_bytes * found->allocation.segments;
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
  if (of.allocation.space == am_space::system) {
    std::uint64_t& used = of.from->system_used;
    used += of.allocation.need.input + of.allocation.need.output;
    if (used <= options_.system_bytes) return true;
    throw engine_.invalid_packet(of.allocation.lane,
                                 fmt::format("{} bytes for a system buffer of {}", used, options_.system_bytes));
  }
  const std::optional<am_allocator::refusal> refused = space_.try_take(of.allocation);
  if (!refused) return true;
  if (refused->why == am_refusal::reason::no_room) {
    refuse_room(of);
  } else {
    fail(of, refused->why, refused->text);
  }
  return false;
}

void am_target::refuse_room(const unit& of) {
  of.from->refuses = true;
  space_.tell_credit(of.allocation.lane);
  refuse(of, am_refusal::reason::no_room, {});
}

void am_target::give_room_back(unit& of) {
  if (of.allocation.space == am_space::system) {
    of.from->system_used -= of.allocation.need.input + of.allocation.need.output;
  } else {
    space_.give_back(of.allocation);
  }
}

void am_target::fail(unit& of, am_refusal::reason why, std::string_view text) {
  if (of.is_whole) return refuse(of, why, text);
  of.why = why;
  of.failure = text;
  arriving_.push_back(std::move(of));
}

void am_target::refuse(const unit& of, am_refusal::reason why, std::string_view text) {
  const am_refusal refusal{.number = of.question, .why = why, .is_unit = 1};
  notices_.send(of.allocation.lane, window_act::am_refused, head_bytes(refusal), text);
}

// Memory of units

void am_target::place(storage& in, std::uint32_t buffer, std::uint64_t bytes, std::uint64_t alignment) {
  in.buffer = am_room::no_buffer;
  in.data = buffer == am_room::no_buffer ? nullptr : space_.buffers().try_place(buffer, bytes, alignment);
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
  if (from.buffer != am_room::no_buffer) space_.buffers().remove_place(from.buffer, from.data);
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
    place(of.input, of.allocation.room.input_buffer, of.allocation.need.input + what.input.overhang,
          what.input.alignment);
    unpack_input(what.input, of.input.data, 0, input);
    begin = of.input.data;
  }
  place(of.output, of.allocation.room.output_buffer, of.allocation.need.output + what.output.overhang,
        what.output.alignment);
  std::memset(of.output.data, 0, of.allocation.need.output + what.output.overhang);
  counts_.assign(what.is_vector() ? of.allocation.segments : 0, 0);
  const std::byte* const input_address = byte_at(begin, static_cast<std::uint64_t>(-what.input.first));
  {
    const core::no_progress quiet(endpoint_);
    ++calls_;
    const struct counted {
      std::size_t& calls;
      ~counted() { --calls; }
    } counts_call{calls_};
    known.recipe->run(
        {.segments = of.allocation.segments,
         .input = {input_address, of.allocation.need.input},
         .persistent = {byte_at(memory.data(), of.at), what.persistent_bytes},
         .output = {byte_at(of.output.data, static_cast<std::uint64_t>(-what.output.first)), of.allocation.need.output},
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
      of.answer = {of.output.data, side.packed_bytes * of.allocation.segments};
      return;
    }
    of.packed.resize(side.packed_bytes * of.allocation.segments);
    for (std::uint64_t i = 0; i < of.allocation.segments; ++i)
      pack(of.packed.data() + i * side.packed_bytes, i, side.packed_bytes);
    of.answer = of.packed;
    return;
  }
  std::uint64_t generated = 0;
  for (const std::uint32_t count : counts) generated += count * what.element_bytes();
  const std::uint64_t whole = side.packed_bytes * of.allocation.segments;
  const am_vector_head head{
      .is_packed = static_cast<double>(generated) < options_.pack_below * static_cast<double>(whole) ? 1u : 0u};
  const std::size_t front = sizeof head + am_counts_bytes(of.allocation.segments);
  of.packed.assign(front + (head.is_packed != 0 ? generated : whole), std::byte{});
  std::memcpy(of.packed.data(), &head, sizeof head);
  std::memcpy(of.packed.data() + sizeof head, counts.data(), counts.size_bytes());
  std::byte* to = of.packed.data() + front;
  for (std::uint64_t i = 0; i < of.allocation.segments; ++i) {
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
