#include "amity/window/window_target.hpp"

#include <algorithm>
#include <cstring>
#include <exception>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "amity/base/copy_bytes.hpp"
#include "amity/core/endpoint.hpp"
#include "amity/core/memory.hpp"
#include "amity/core/record_stream.hpp"
#include "amity/window/accumulate.hpp"
#include "amity/window/record_content.hpp"
#include "amity/window/window_error.hpp"

namespace amity::detail {
namespace {

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

/// The longest text of an error. It fits into one answer.
constexpr std::size_t failure_bytes_max = 256;

accumulate_function function_of(const core::record& what) noexcept {
  if (what.op >= accumulate_ops || what.word_bytes >= element_types) return nullptr;
  return find_accumulate(static_cast<accumulate_op>(what.op), static_cast<element_type>(what.word_bytes));
}

/// The control block and the signals follow the data. That begins a page then: copies from ordinary buffers, which
/// begin shortly after a page, are slower the other way round, because loads seem to depend on the stores before them.
std::size_t control_offset(const window_target::memory_request& wanted) noexcept {
  return wanted.own ? 0 : (wanted.allocated + cache_line_bytes - 1) / cache_line_bytes * cache_line_bytes;
}

core::local_segment allocate(core::endpoint& in, const window_target::memory_request& wanted) {
  if (wanted.allocated > std::numeric_limits<std::size_t>::max() / 4) {
    throw window_error(window_fault::memory, "window", in.rank(),
                       fmt::format("a window of {} bytes is not possible", wanted.allocated), "allocate less");
  }
  try {
    return in.memory().allocate(control_offset(wanted) + sizeof(control_block) + wanted.signal_bytes);
  } catch (const std::exception& refused) {
    throw window_error(window_fault::memory, "window", in.rank(),
                       fmt::format("a window of {} bytes is not possible: {}", wanted.allocated, refused.what()),
                       "allocate less memory for the window");
  }
}

/// Whole words around memory of the program: segments begin and end on words.
std::optional<core::local_segment> make_segment(core::endpoint& in, const window_target::memory_request& wanted) {
  const std::optional<mutable_bytes>& own = wanted.own;
  if (!own || own->empty() || wanted.around) return std::nullopt;
  const auto begin = reinterpret_cast<std::uintptr_t>(own->data());
  const std::size_t before = begin % sizeof(std::uint64_t);
  return in.memory().attach({own->data() - before, own->size() + before});
}

}  // namespace

window_target::window_target(core::endpoint& in, rank_t member_lane, const memory_request& wanted,
                             const core::group& members, const access_rules::identity& whose)
    : endpoint_(in),
      engine_(in.own_engine()),
      service_(window_service::of(in)),
      member_lane_(member_lane),
      serves_others_(engine_.transport().rank() != member_lane),
      members_(members),
      window_(whose.window),
      member_(whose.member),
      control_segment_(allocate(in, wanted)),
      control_(*reinterpret_cast<control_block*>(control_segment_.data + control_offset(wanted))),
      data_segment_(make_segment(in, wanted)),
      memory_(wanted.own             ? *wanted.own
              : wanted.allocated > 0 ? mutable_bytes(control_segment_.data, wanted.bytes)
                                     : mutable_bytes()),
      attached_(wanted.attached),
      transfers_(serves_others_ && attached_ == nullptr ? &service_.transfers(member_lane) : nullptr) {
  about_.control = control_segment_.descriptor;
  about_.bytes = wanted.own ? wanted.own->size() : wanted.bytes;
  about_.control_offset = control_offset(wanted);
  const std::optional<core::local_segment>& around = data_segment_ ? data_segment_ : wanted.around;
  if (around) {
    about_.data = around->descriptor;
    about_.data_offset = static_cast<std::uint64_t>(memory_.data() - around->data);
    engine_.attentive().offer();
  }
}

window_target::~window_target() {
  if (about_.data.lane != no_rank) engine_.attentive().withdraw();
}

window_target& window_target::make(core::endpoint& in, rank_t member_lane, const memory_request& wanted,
                                   const core::group& members, const access_rules::identity& whose) {
  if (window_service::of(in).full())
    throw window_error(window_fault::memory, "window", in.rank(), "this rank has as many windows as it can number",
                       "end some windows first");
  std::unique_ptr<window_target> made(new window_target(in, member_lane, wanted, members, whose));
  window_target& target = *made;
  target.about_.number = target.service_.add(std::move(made));
  return target;
}

void window_target::release() {
  for (target_transfers& each : targets_) transfers_->close(each);
  endpoint_.memory().release(control_segment_);
  if (data_segment_) endpoint_.memory().release(*data_segment_);
  abandon();
}

void window_target::abandon() noexcept {
  for (const target_transfers& each : targets_) transfers_->forget(each);
  service_.remove_owner(about_.number, identity_);
}

window_identity window_target::identity_of_first() const noexcept {
  return window_identity{std::uint64_t{static_cast<std::uint32_t>(engine_.transport().rank())} << 32 | about_.number};
}

void window_target::publish(window_identity identity) {
  identity_ = identity;
  lock_.emplace(service_, *this, control_, identity);
  service_.publish_owner(identity, *this);
}

void window_target::receive_messages(const am_target_options& options, std::function<bool()> take_over) {
  message_options_ = options;
  take_over_ = std::move(take_over);
}

am_target& window_target::messages() {
  if (messages_ != nullptr) return *messages_;
  std::function<std::string(std::uint64_t, std::uint64_t)> find_problem;
  if (attached_ != nullptr) {
    find_problem = [this](std::uint64_t at, std::uint64_t bytes) {
      return bytes == 0 ? std::string() : attached_->find_problem(at, bytes, nullptr, 0);
    };
  }
  std::function<void(const core::record&, rank_t, std::uint64_t)> note_write;
  if (checks_ != nullptr) {
    note_write = [this](const core::record& what, rank_t lane, std::uint64_t bytes) {
      checks_->note_write("window::am", members_.find(lane), (what.act & counted_bit) != 0, what.at, bytes, nullptr, 0);
    };
  }
  messages_ = std::make_unique<am_target>(endpoint_, service_, *message_options_,
                                          am_target::owner{.records = this,
                                                           .member = member_,
                                                           .identity = identity_,
                                                           .window = window_,
                                                           .take_over = take_over_,
                                                           .find_problem = std::move(find_problem),
                                                           .note_write = std::move(note_write)});
  return *messages_;
}

// Numbers that the thread which has made the window waits for. Each thread writes one word, then reads one that the
// other writes: one of the two sees the other.

bool window_target::begin_epoch() noexcept {
  arrived_.store(0, std::memory_order_relaxed);
  fences_.store(fences() + 1, std::memory_order_release);
  if (!serves_others_) return false;
  std::atomic_thread_fence(std::memory_order_seq_cst);
  return has_refused_.exchange(false, std::memory_order_relaxed);
}

bool window_target::is_early(const core::record& what) noexcept {
  if (!is_ahead(what)) return false;
  if (!serves_others_) return true;
  has_refused_.store(true, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  return is_ahead(what);
}

void window_target::announce_wait() noexcept {
  member_waits_.store(true, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_seq_cst);
}

void window_target::wake_member() {
  if (!serves_others_) return;
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (!member_waits_.load(std::memory_order_relaxed)) return;
  if (member_waits_.exchange(false, std::memory_order_relaxed)) engine_.send(member_lane_, core::service::wake, {});
}

// A shared lock that is granted lets the next ticket in.
bool window_target::serve_lock() {
  const bool any_wait = lock_->serve_waiting();
  wake_member();
  return any_wait;
}

void window_target::release_lock(lock_kind kind) {
  lock_->release(kind);
  lock_->serve_waiting();
}

// Records of members

bool window_target::execute(rank_t lane, const core::record& what, bytes_view content, core::answers& to) {
  const window_act act = act_of(what);
  if (act < window_act::describe) return use_memory(lane, what, content, to);
  const rank_t member = members_.find(lane);
  const bool has_kind = act == window_act::lock || act == window_act::unlock || act == window_act::try_lock;
  const auto kind = static_cast<lock_kind>(what.op);
  if (member == no_rank || (has_kind && (kind == lock_kind::none || kind > lock_kind::all))) {
    throw engine_.invalid_packet(lane,
                                 fmt::format("operation {} with {} on {}", static_cast<int>(act), what.op, window_));
  }
  const auto answer = [&](const auto& with) {
    std::byte* const place = to.try_write(what.question, 0, sizeof with);
    if (place != nullptr) std::memcpy(place, &with, sizeof with);
    return place != nullptr;
  };
  switch (act) {
    case window_act::describe:
      return answer(about_);
    case window_act::complete:
      completed_.fetch_add(1, std::memory_order_release);
      if (checks_ != nullptr) checks_->note_complete(member);
      wake_member();
      return true;
    case window_act::lock:
      if (is_early(what)) return false;
      lock_->request(lane, member, kind);
      wake_member();
      return true;
    case window_act::unlock:
      if (!answer(failure_bytes(lane))) return false;
      lock_->release(kind);
      wake_member();
      return true;
    case window_act::flush:
      return answer(failure_bytes(lane));
    case window_act::failure:
      return tell_failure(lane, what, to);
    case window_act::released:
      serve_lock();
      return true;
    case window_act::reach:
      return !is_early(what) && answer(std::uint64_t{0});
    default: {  // try_lock
      if (is_early(what)) return false;
      std::byte* const place = to.try_write(what.question, 0, sizeof(std::uint64_t));
      if (place == nullptr) return false;
      const std::uint64_t was_free = control_.take_if_free(kind, member) ? 1 : 0;
      std::memcpy(place, &was_free, sizeof was_free);
      return true;
    }
  }
}

bool window_target::use_memory(rank_t lane, const core::record& what, bytes_view content, core::answers& to) {
  if (is_early(what)) return false;
  if (act_of(what) >= window_act::am_describe) {
    if (!message_options_)
      throw engine_.invalid_packet(lane, fmt::format("an active message on {}, which receives none", window_));
    return messages().execute(lane, what, content, memory_, to);
  }
  if (!run(lane, what, content, to)) return false;
  if ((what.act & counted_bit) != 0) {
    arrived_.store(arrived_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
    wake_member();
  }
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
  if (in_blocks && !take_head(content, where)) throw invalid();
  answer_place wanted{};
  const bool asks = what.question != core::no_question;
  const bool answers = asks && act != window_act::compare_swap && act != window_act::put;
  if (answers && !take_head(content, wanted)) throw invalid();
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
  if (answers) {
    answer = to.try_write(what.question, wanted.at, wanted.bytes);
    if (answer == nullptr) return false;
  }
  if (asks && act == window_act::put && to.try_write(what.question, 0, 0) == nullptr) return false;
  const bool swaps = act == window_act::compare_swap;
  if (!swaps && !is_attached(lane, what, bytes, blocks, where.from)) {
    if (answers) std::memset(answer, 0, wanted.bytes);
    return true;
  }
  std::byte* const there = swaps ? nullptr : place(lane, what, bytes, blocks);
  if (checks_ != nullptr && !is_read && !swaps) note_write(lane, what, bytes, blocks, where.from);
  const std::byte* operands = is_read ? nullptr : content.data();
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
      if (!take_head(content, given)) throw invalid();
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

std::byte* window_target::place(rank_t lane, const core::record& what, std::size_t bytes, const layout* blocks) const {
  if (attached_ != nullptr) return byte_at(nullptr, what.at);
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

// Errors of the program that only the owner can find. The origin learns of them when it asks whether its operations
// have been carried out.

bool window_target::is_attached(rank_t lane, const core::record& what, std::size_t bytes, const layout* blocks,
                                std::size_t from) {
  if (attached_ == nullptr) return true;
  const std::string problem = attached_->find_problem(what.at, bytes, blocks, from);
  if (problem.empty()) return true;
  std::string& first = failures_[lane];
  if (first.empty()) {
    first = fmt::format("{}, target {}: {}", name_of(what), member_, problem);
    first.resize(std::min(first.size(), failure_bytes_max));
  }
  return false;
}

std::uint64_t window_target::failure_bytes(rank_t lane) const noexcept {
  const std::string* const first = failures_.find(lane);
  return first == nullptr ? 0 : first->size();
}

bool window_target::tell_failure(rank_t lane, const core::record& what, core::answers& to) {
  if (failure_bytes(lane) == 0) throw engine_.invalid_packet(lane, "a request for an error that does not exist");
  std::string& first = failures_[lane];
  std::byte* const place = to.try_write(what.question, 0, first.size());
  if (place == nullptr) return false;
  std::memcpy(place, first.data(), first.size());
  first.clear();
  return true;
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
  std::byte* const answer = to.try_write(what.question, 0, what.word_bytes);
  if (answer == nullptr) return false;
  if (!is_attached(lane, what, what.word_bytes)) {
    std::memset(answer, 0, what.word_bytes);
    return true;
  }
  std::byte* const there = place(lane, what, what.word_bytes);
  if (!may_compare_swap(there, what.word_bytes))
    throw engine_.invalid_packet(lane, fmt::format("compare and swap of {} bytes at {}", what.word_bytes, what.at));
  if (checks_ != nullptr) note_write(lane, what, what.word_bytes, nullptr, 0);
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
  if (!take_head(content, part)) throw invalid();
  std::unique_ptr<layouts>& of_lane = layouts_[lane];
  if (of_lane == nullptr) of_lane = std::make_unique<layouts>();
  known_layout& to = (*of_lane)[part.number % descriptions_kept];
  if (part.at == 0) {
    to = {.number = part.number, .bytes_missing = part.bytes, .encoded = {}, .known = {}};
    to.encoded.reserve(part.bytes);
  }
  if (to.number != part.number || part.at != to.encoded.size() || content.size() > to.bytes_missing) throw invalid();
  to.encoded.insert(to.encoded.end(), content.begin(), content.end());
  to.bytes_missing -= content.size();
  if (to.bytes_missing > 0) return;
  try {
    to.known = layout::decode(to.encoded);
  } catch (const error& wrong) {
    throw engine_.invalid_packet(lane, fmt::format("layout {}: {}", part.number, wrong.what()));
  }
  to.encoded = {};
}

// The layout of an operation that has `bytes` of its data.
const layout& window_target::find_layout(rank_t lane, const block_place& where, std::size_t bytes) {
  const std::unique_ptr<layouts>* const of_lane = layouts_.find(lane);
  const known_layout* const found = of_lane == nullptr ? nullptr : &(**of_lane)[where.number % descriptions_kept];
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
