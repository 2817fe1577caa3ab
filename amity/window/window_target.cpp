#include "amity/window/window_target.hpp"

#include <atomic>
#include <cstring>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "amity/base/copy_bytes.hpp"
#include "amity/base/error.hpp"
#include "amity/core/engine.hpp"
#include "amity/core/record_stream.hpp"
#include "amity/window/accumulate.hpp"

namespace amity::detail {
namespace {

/// Takes the head of a content; false: the content is shorter.
template <class Head>
bool take(bytes_view& content, Head& head) {
  if (content.size() < sizeof head) return false;
  std::memcpy(&head, content.data(), sizeof head);
  content = content.subspan(sizeof head);
  return true;
}

window_act act_of(const core::record& what) noexcept {
  return static_cast<window_act>(what.act & ~(counted_bit | parity_bit));
}

/// For errors.
std::string_view name_of(const core::record& what) noexcept {
  switch (act_of(what)) {
    case window_act::put:
    case window_act::put_blocks:
      return "window::put";
    case window_act::get:
    case window_act::get_blocks:
      return "window::get";
    case window_act::compare_swap:
      return "window::compare_and_swap";
    default:
      return "window::accumulate";
  }
}

accumulate_function function_of(const core::record& what) noexcept {
  if (what.op >= accumulate_ops || what.word_bytes >= element_types) return nullptr;
  return find_accumulate(static_cast<accumulate_op>(what.op), static_cast<element_type>(what.word_bytes));
}

}  // namespace

bool window_target::execute(rank_t lane, const core::record& what, bytes_view content, core::answers& to) {
  if (is_early(what)) return false;
  if (!run(lane, what, content, to)) return false;
  if ((what.act & counted_bit) != 0) ++arrived_;
  return true;
}

bool window_target::run(rank_t lane, const core::record& what, bytes_view content, core::answers& to) {
  const auto invalid = [&] {
    return engine_.invalid_packet(lane, fmt::format("operation {} of {} bytes on a window", what.act, what.bytes));
  };
  const window_act act = act_of(what);
  if (act == window_act::layout) {
    take_layout(lane, content);
    return true;
  }
  const bool in_blocks =
      act == window_act::put_blocks || act == window_act::get_blocks || act == window_act::accumulate_blocks;
  block_place where{};
  if (in_blocks && !take(content, where)) throw invalid();
  answer_place wanted{};
  const bool answers = what.question != core::no_question && act != window_act::compare_swap;
  if (answers && !take(content, wanted)) throw invalid();
  std::byte* answer = nullptr;
  if (answers) {
    if (wanted.bytes == 0 || wanted.bytes > core::record_bytes_max(engine_.transport().caps().packet_bytes_max))
      throw invalid();
  }
  const bool is_get = act == window_act::get || act == window_act::get_blocks;
  // An accumulate that changes nothing has an answer alone.
  const bool is_read = is_get || (answers && content.empty());
  const std::size_t bytes = is_read ? wanted.bytes : content.size();
  if (answers && wanted.bytes != bytes) throw invalid();
  if (is_get && !answers) throw invalid();

  const layout* const blocks = in_blocks ? &find_layout(lane, where, bytes) : nullptr;
  std::byte* const there = act == window_act::compare_swap ? nullptr : place(lane, what, bytes, blocks, where.from);
  if (checks_ != nullptr && !is_read && act != window_act::compare_swap)
    note_write(lane, what, bytes, blocks, where.from);
  const std::byte* operands = is_read ? nullptr : content.data();
  if (answers) {
    answer = to.try_write(what.question, wanted.at, wanted.bytes);
    if (answer == nullptr) return false;
  }
  switch (act) {
    case window_act::put:
      copy_bytes(there, content.data(), bytes);
      return true;
    case window_act::get:
      copy_bytes(answer, there, bytes);
      return true;
    case window_act::accumulate:
      accumulate(lane, what, there, {operands, bytes}, answer);
      return true;
    case window_act::compare_swap: {
      swap_operands given{};
      if (!take(content, given)) throw invalid();
      return compare_swap(lane, what, given, to);
    }
    case window_act::put_blocks:
      blocks->unpack(there, where.from, content);
      return true;
    case window_act::get_blocks:
      blocks->pack(there, where.from, {answer, bytes});
      return true;
    case window_act::accumulate_blocks:
      blocks->for_each(where.from, bytes, [&](std::ptrdiff_t offset, std::size_t part) {
        accumulate(lane, what, byte_at(there, static_cast<std::uint64_t>(offset)), {operands, part}, answer);
        if (operands != nullptr) operands += part;
        if (answer != nullptr) answer += part;
      });
      return true;
    default:
      throw invalid();
  }
}

std::byte* window_target::place(rank_t lane, const core::record& what, std::size_t bytes, const layout* blocks,
                                std::size_t from) const {
  if (attached_ != nullptr) {
    // The origin cannot check this, so a program can be wrong here.
    if (const std::string problem = attached_->find_problem(what.at, bytes, blocks, from); !problem.empty())
      throw error(fmt::format("{} of rank {}", name_of(what), members_.find(lane)), whose_.member,
                  fmt::format("{}: {}", whose_.window, problem), attached_memory::remedy);
    return byte_at(nullptr, what.at);
  }
  const std::size_t size = memory_.size();
  if (blocks == nullptr) {
    if (what.at <= size && bytes <= size - what.at) return memory_.data() + what.at;
    throw engine_.invalid_packet(lane,
                                 fmt::format("{} bytes at offset {} of a window of {} bytes", bytes, what.at, size));
  }
  const auto at = static_cast<std::ptrdiff_t>(what.at), end = static_cast<std::ptrdiff_t>(size);
  if (at >= 0 && at <= end && blocks->first() >= -at && blocks->end() <= end - at) return memory_.data() + what.at;
  throw engine_.invalid_packet(lane, fmt::format("a layout from {} to {} at offset {} of a window of {} bytes",
                                                 blocks->first(), blocks->end(), what.at, size));
}

// Before the write: a promise may exclude it.
void window_target::note_write(rank_t lane, const core::record& what, std::size_t bytes, const layout* blocks,
                               std::size_t from) {
  if (what.op == static_cast<std::uint8_t>(accumulate_op::no_op)) return;
  checks_->note_write(name_of(what), members_.find(lane), (what.act & counted_bit) != 0, what.at, bytes, blocks, from);
}

void window_target::accumulate(rank_t lane, const core::record& what, std::byte* there, bytes_view operands,
                               std::byte* previous) {
  const accumulate_function apply = function_of(what);
  const element_layout* const element =
      apply == nullptr ? nullptr : &layout_of(static_cast<element_type>(what.word_bytes));
  const bool lacks_operands = operands.data() == nullptr && what.op != static_cast<std::uint8_t>(accumulate_op::no_op);
  if (element == nullptr || lacks_operands || operands.size() % element->bytes != 0 ||
      (element->is_covered && reinterpret_cast<std::uintptr_t>(there) % element->bytes != 0)) {
    throw engine_.invalid_packet(lane, fmt::format("accumulate {} on type {} of {} bytes at offset {}", what.op,
                                                   what.word_bytes, operands.size(), what.at));
  }
  apply(there, operands.data(), previous, operands.size() / element->bytes);
}

bool window_target::compare_swap(rank_t lane, const core::record& what, const swap_operands& given, core::answers& to) {
  std::byte* const there = place(lane, what, what.word_bytes);
  if (!may_compare_swap(there, what.word_bytes))
    throw engine_.invalid_packet(lane, fmt::format("compare and swap of {} bytes at {}", what.word_bytes, what.at));
  if (checks_ != nullptr) note_write(lane, what, what.word_bytes, nullptr, 0);
  std::byte* const answer = to.try_write(what.question, 0, what.word_bytes);
  if (answer == nullptr) return false;
  const std::uint64_t before = detail::compare_swap(there, what.word_bytes, given.expected, given.desired);
  std::memcpy(answer, &before, what.word_bytes);
  return true;
}

// Layouts

void window_target::take_layout(rank_t lane, bytes_view content) {
  layout_part part{};
  const auto invalid = [&] {
    return engine_.invalid_packet(
        lane, fmt::format("{} bytes of layout {} at {} of {}", content.size(), part.number, part.at, part.bytes));
  };
  if (!take(content, part)) throw invalid();
  std::unique_ptr<layouts>& of_lane = layouts_[lane];
  if (of_lane == nullptr) of_lane = std::make_unique<layouts>();
  known_layout& to = (*of_lane)[part.number % layouts_kept];
  if (part.at == 0) {
    to = {.number = part.number, .bytes_missing = part.bytes, .encoded = {}, .known = {}};
    to.encoded.reserve(part.bytes);
  }
  if (to.number != part.number || part.at != to.encoded.size() || content.size() > to.bytes_missing) throw invalid();
  to.encoded.insert(to.encoded.end(), content.begin(), content.end());
  to.bytes_missing -= content.size();
  if (to.bytes_missing > 0) return;
  to.known = layout::decode(to.encoded);
  to.encoded = {};
}

// The layout of an operation that has `bytes` of its data.
const layout& window_target::find_layout(rank_t lane, const block_place& where, std::size_t bytes) {
  const std::unique_ptr<layouts>* const of_lane = layouts_.find(lane);
  const known_layout* const found = of_lane == nullptr ? nullptr : &(**of_lane)[where.number % layouts_kept];
  if (found == nullptr || found->number != where.number || found->bytes_missing > 0)
    throw engine_.invalid_packet(lane, fmt::format("layout {}, which it has not sent", where.number));
  const layout& known = found->known;
  if (where.from > known.bytes() || bytes > known.bytes() - where.from) {
    throw engine_.invalid_packet(
        lane, fmt::format("bytes {} to {} of a layout of {} bytes", where.from, where.from + bytes, known.bytes()));
  }
  return known;
}

}  // namespace amity::detail
