#include "amity/window/window_epochs.hpp"

#include <algorithm>
#include <cstring>
#include <exception>
#include <iterator>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "amity/base/copy_bytes.hpp"
#include "amity/base/error.hpp"
#include "amity/core/rank_list.hpp"
#include "amity/window/compare_swap.hpp"

namespace amity::detail {
namespace {

/// Nothing announces that a peer has left the lock of a window that it maps.
constexpr std::uint64_t lock_rest_ns = 20'000;

core::group members_of(core::endpoint& in) {
  std::vector<rank_t> ranks;
  for (rank_t rank = 0; rank < in.size(); ++rank) ranks.push_back(in.job_rank(rank));
  return {core::rank_list(std::move(ranks)), in.threads(), in.thread()};
}

std::size_t bytes_of_signals(core::endpoint& in) {
  for (rank_t rank = 0; rank < in.size(); ++rank) {
    if (!in.transport().same_node(rank)) return 0;
  }
  return node_signals::bytes(in.size());
}

/// The control block and the signals follow the data. That begins a page then: copies from ordinary buffers, which
/// begin shortly after a page, are slower the other way round, because loads seem to depend on the stores before them.
std::size_t control_offset(std::size_t data_bytes) {
  return (data_bytes + cache_line_bytes - 1) / cache_line_bytes * cache_line_bytes;
}

core::local_segment allocate(core::endpoint& in, std::size_t data_bytes, std::size_t signal_bytes) {
  in.check_own_call("window");
  if (data_bytes > std::numeric_limits<std::size_t>::max() / 4) {
    throw error("window", in.rank(), fmt::format("a window of {} bytes is not possible", data_bytes), "allocate less");
  }
  return in.memory().allocate(control_offset(data_bytes) + sizeof(control_block) + signal_bytes);
}

/// Whole words around memory of the program: segments begin and end on words.
std::optional<core::local_segment> make_segment(core::endpoint& in, const std::optional<mutable_bytes>& own) {
  if (!own || own->empty()) return std::nullopt;
  const auto begin = reinterpret_cast<std::uintptr_t>(own->data());
  const std::size_t before = begin % sizeof(std::uint64_t);
  return in.memory().attach({own->data() - before, own->size() + before});
}

/// Whether some members reach the memory otherwise than by records.
bool has_other_paths(const window_peer* of) noexcept { return of->about.control.key != fabric::segment_key{}; }

std::uint32_t add(core::endpoint& in, window_service& to, record_window& added) {
  if (!to.full()) return to.add(added);
  throw error("window", in.rank(), "this rank has as many windows as it can number", "end some windows first");
}

// Member 0 names the window.
window_identity agree(core::endpoint& in, std::uint32_t number) {
  const std::uint64_t own =
      std::uint64_t{static_cast<std::uint32_t>(in.own_engine().transport().rank())} << 32 | number;
  return window_identity{in.reduce(core::reduction::max_u64, in.rank() == 0 ? own : 0)};
}

}  // namespace

window_epochs::window_epochs(core::endpoint& in, direct_access& direct, std::optional<mutable_bytes> own,
                             std::size_t bytes, std::unique_ptr<attached_memory> attached,
                             const window_options& options)
    : endpoint_(in),
      direct_(direct),
      service_(window_service::of(in)),
      name_(options.name),
      title_(fmt::format("window '{}'", options.name)),
      member_(in.rank()),
      signal_bytes_(bytes_of_signals(in)),
      control_segment_(allocate(in, own ? 0 : bytes, signal_bytes_)),
      control_(*reinterpret_cast<control_block*>(control_segment_.data + control_offset(own ? 0 : bytes))),
      data_segment_(make_segment(in, own)),
      memory_(own ? *own : mutable_bytes(control_segment_.data, bytes)),
      attached_(std::move(attached)),
      number_(add(in, service_, *this)),
      identity_(agree(in, number_)),
      checks_(options.checked ? std::make_unique<assertion_checks>(attached_ ? mutable_bytes() : memory_, whose())
                              : nullptr),
      origin_(in, service_, members_of(in), identity_, options.checked ? window_protocol::buffered : options.protocol),
      target_(in.own_engine(), memory_, attached_.get(), checks_.get(), origin_.members(), whose()),
      lock_(service_, *this, control_, identity_),
      collectives_(member_, in.size(),
                   std::min<std::size_t>(core::record_bytes_max(in.transport().caps().packet_bytes_max), 4096),
                   [this](rank_t member, bytes_view part) {
                     service_.send(origin_.members().lane(member),
                                   {.owner = core::record_owner::windows,
                                    .act = static_cast<std::uint8_t>(window_act::collective),
                                    .bytes = static_cast<std::uint32_t>(part.size()),
                                    .at = static_cast<std::uint64_t>(identity_)},
                                   part);
                   }) {
  about_.control = control_segment_.descriptor;
  about_.number = number_;
  about_.bytes = memory_.size();
  about_.control_offset = control_offset(own ? 0 : bytes);
  if (data_segment_) {
    about_.data = data_segment_->descriptor;
    about_.data_offset = static_cast<std::uint64_t>(memory_.data() - data_segment_->data);
  }
  try {
    meet_members();
  } catch (...) {
    endpoint_.fail(std::current_exception());
    service_.leave(endpoint_);
    service_.remove(number_, identity_);
    throw;
  }
}

// Members that have left the barrier may ask others, which know the window by then.
void window_epochs::meet_members() {
  service_.publish(identity_, *this);
  service_.enter(endpoint_);
  endpoint_.barrier();
  origin_.add_own(member_, about_, &control_, memory_.data());
  origin_.meet_node();
  for (rank_t member = 0; member < members().size(); ++member) {
    const window_peer* const met = origin_.find(member);
    if (met != nullptr && met->base != nullptr)  // not of a dynamic window
      direct_.targets[member] = {.base = met->base, .bytes = met->about.bytes, .is_open = false};
  }
  if (signal_bytes_ > 0) agree_on_signals();
}

void window_epochs::agree_on_signals() {
  std::vector<std::byte*> areas;
  bool maps_all = checks_ == nullptr;  // which see records alone
  for (rank_t member = 0; member < members().size(); ++member) {
    const window_peer* const met = origin_.find(member);
    maps_all &= met != nullptr && met->control != nullptr && (met->base != nullptr || met->about.bytes == 0);
    areas.push_back(maps_all ? reinterpret_cast<std::byte*>(met->control + 1) : nullptr);
  }
  if (endpoint_.reduce(core::reduction::min_u64, maps_all ? 1 : 0) == 0) return;
  signals_.emplace(member_, areas, [this](rank_t member) {
    service_.send(members().lane(member),
                  {.owner = core::record_owner::windows,
                   .act = static_cast<std::uint8_t>(window_act::wake),
                   .at = static_cast<std::uint64_t>(identity_)},
                  {});
  });
}

window_epochs::~window_epochs() {
  if (std::uncaught_exceptions() > 0 && !endpoint_.own_engine().failure().exists()) {
    // Others wait for the end of the window, and operations under way know this object.
    endpoint_.fail(std::make_exception_ptr(error("the end of a window", member_,
                                                 fmt::format("{}: an exception has left its scope", title_),
                                                 "let the exception leave the program, or end windows before it")));
  }
  bool works = std::uncaught_exceptions() == 0 && !endpoint_.own_engine().failure().exists();
  if (works) {
    try {
      endpoint_.check_own_call("the end of a window");
      rules_.on("the end of a window", window_call::free, whose());
      endpoint_.barrier();
    } catch (...) {
      works = false;
      endpoint_.fail(std::current_exception());
    }
  }
  service_.leave(endpoint_);
  service_.remove(number_, identity_);
  if (!works) return;
  endpoint_.memory().release(control_segment_);
  if (data_segment_) endpoint_.memory().release(*data_segment_);
}

void window_epochs::check_member(std::string_view call, rank_t member) const {
  if (member >= 0 && member < members().size()) return;
  throw error(call, member_, fmt::format("{}: rank {} is not a member", title_, member),
              fmt::format("name one of 0 to {}", members().size() - 1));
}

void window_epochs::check_members(std::string_view call, std::span<const rank_t> all) const {
  std::vector<rank_t> sorted(all.begin(), all.end());
  std::ranges::sort(sorted);
  for (const rank_t each : sorted) check_member(call, each);
  const auto twice = std::ranges::adjacent_find(sorted);
  if (twice == sorted.end()) return;
  throw error(call, member_, fmt::format("{}: rank {} is named twice", title_, *twice), "name each rank once");
}

void window_epochs::check_operation(std::string_view call, const window_peer& of, const window_operation& what) const {
  const std::size_t bytes = what.bytes();
  if (what.in_blocks && what.there == nullptr) {
    throw error(call, member_, fmt::format("{}: the layout is a null pointer", title_),
                "pass a layout, or call the form without one");
  }
  if (what.there != nullptr && what.there->bytes() != bytes) {
    throw error(call, member_,
                fmt::format("{}: {} bytes of data for a layout of {} bytes", title_, bytes, what.there->bytes()),
                "pass as much data as the layout has");
  }
  if (attached_ == nullptr) check_place(call, of, what);
  if (what.kind == operation_kind::accumulate) check_operands(call, what);
  if (attached_ != nullptr) check_address(call, what);
}

void window_epochs::check_place(std::string_view call, const window_peer& of, const window_operation& what) const {
  const std::size_t bytes = what.bytes();
  const auto size = static_cast<std::ptrdiff_t>(of.about.bytes);
  const auto at = static_cast<std::ptrdiff_t>(what.at);
  const bool fits = what.there == nullptr
                        ? what.at <= of.about.bytes && bytes <= of.about.bytes - what.at
                        : at >= 0 && at <= size && what.there->first() >= -at && what.there->end() <= size - at;
  if (fits) return;
  throw error(call, member_,
              fmt::format("{}: {} bytes at offset {} are out of range: the memory of rank {} has {} bytes", title_,
                          bytes, what.at, of.member, of.about.bytes),
              "pass an index and a count that lie in the target's memory");
}

// In a dynamic window, only the target knows which memory is attached.
void window_epochs::check_address(std::string_view call, const window_operation& what) const {
  const bool swaps = what.kind == operation_kind::compare_swap;
  const std::size_t alignment = swaps ? what.bytes() : layout_of(what.type).is_covered ? layout_of(what.type).bytes : 1;
  if ((swaps || what.kind == operation_kind::accumulate) && what.at % alignment != 0) {
    throw error(
        call, member_,
        fmt::format("{}: address {:#x} is not a multiple of the {} bytes of an element", title_, what.at, alignment),
        "pass the address of an element");
  }
  if (what.target != member_) return;
  const std::string problem = attached_->find_problem(what.at, what.bytes(), what.there.get(), 0);
  if (!problem.empty()) throw error(call, member_, fmt::format("{}: {}", title_, problem), attached_memory::remedy);
}

void window_epochs::check_operands(std::string_view call, const window_operation& what) const {
  const auto refuse = [&](std::string_view problem, std::string_view remedy) -> error {
    return {call, member_, fmt::format("{}: {}", title_, problem), remedy};
  };
  const element_layout& element = layout_of(what.type);
  if (find_accumulate(what.op, what.type) == nullptr)
    throw refuse(fmt::format("{} is not defined on {}", name_of(what.op), element.name), "choose another operation");
  if (what.from.empty() && what.op != accumulate_op::no_op && !what.into.empty())
    throw refuse(fmt::format("{} without operands", name_of(what.op)), "pass an operand for each element");
  if (!what.from.empty() && !what.into.empty() && what.from.size() != what.into.size()) {
    throw refuse(
        fmt::format("{} bytes of operands, and {} for what was there before", what.from.size(), what.into.size()),
        "pass as many of both");
  }
  if (what.there != nullptr && what.there->grain() % element.bytes != 0) {
    throw refuse(
        fmt::format("blocks of a layout that are not whole elements of {} ({} bytes)", element.name, element.bytes),
        "describe blocks whose offsets and sizes are multiples of the element");
  }
}

void window_epochs::check_dynamic(std::string_view call) const {
  endpoint_.check_own_call(call);
  if (attached_ != nullptr) return;
  throw error(call, member_, fmt::format("{}: its memory is fixed", title_), "create it with create_dynamic_window");
}

void window_epochs::attach(const void* base, std::size_t bytes) {
  constexpr std::string_view call = "window::attach";
  check_dynamic(call);
  const auto begin = reinterpret_cast<std::uintptr_t>(base);
  if (bytes == 0 || begin == 0 || bytes > std::numeric_limits<std::uintptr_t>::max() - begin) {
    throw error(call, member_, fmt::format("{}: {} bytes at address {:#x} cannot be attached", title_, bytes, begin),
                "pass memory of at least one byte");
  }
  attached_->attach(begin, begin + bytes);
}

void window_epochs::detach(const void* base) {
  constexpr std::string_view call = "window::detach";
  check_dynamic(call);
  const auto begin = reinterpret_cast<std::uintptr_t>(base);
  if (attached_->detach(begin)) return;
  throw error(call, member_,
              fmt::format("{}: no attached memory begins at address {:#x}; {}", title_, begin,
                          attached_->describe_nearest(begin)),
              "pass the address that attach was called with, once for each call");
}

void window_epochs::make_progress() {
  if (!endpoint_.in_handler()) endpoint_.progress();
}

/// Looks whether a wait is over while no record arrives.
template <class Done>
class stores_of_members final : public fabric::watched_memory {
 public:
  stores_of_members(Done& done, node_signals* signals) : done_(done), signals_(signals) {}

  bool is_ready() override { return done_(); }
  void announce() override {
    if (signals_ != nullptr) signals_->announce_sleep();
  }
  void cancel() noexcept override {
    if (signals_ != nullptr) signals_->end_sleep();
  }
  std::uint64_t sleep_ns_max() const noexcept override {
    return signals_ != nullptr ? ~std::uint64_t{0} : lock_rest_ns;
  }

 private:
  Done& done_;
  node_signals* signals_;  ///< null: nobody tells when a lock is left
};

template <class Done>
void window_epochs::wait_for(std::string_view call, std::string_view what, rank_t target, Done&& done, told_by how) {
  if (done()) return;
  label_.assign(call).append(" of ").append(title_);
  if (target != no_rank) label_.append(", target ").append(std::to_string(target));
  label_.append(": ").append(what);
  stores_of_members watched(done, how == told_by::signals && signals_ ? &*signals_ : nullptr);
  const bool watches = how == told_by::lock || (how == told_by::signals && signals_);
  endpoint_.own_engine().wait_until(
      endpoint_, label_, done, [] { return false; }, watches ? &watched : nullptr);
}

// Records of members

bool window_epochs::execute(rank_t lane, const core::record& what, bytes_view content, core::answers& to) {
  const auto act = static_cast<window_act>(what.act & ~(counted_bit | parity_bit));
  if (act < window_act::describe) return target_.execute(lane, what, content, to);
  const rank_t member = members().find(lane);
  const auto invalid = [&] {
    return endpoint_.own_engine().invalid_packet(
        lane, fmt::format("operation {} with {} on {}", static_cast<int>(act), what.op, title_));
  };
  if (member == no_rank) throw invalid();
  const bool has_kind = act == window_act::lock || act == window_act::unlock || act == window_act::try_lock;
  const auto kind = static_cast<lock_kind>(what.op);
  if (has_kind && kind != lock_kind::shared && kind != lock_kind::exclusive) throw invalid();
  const auto answer = [&](bytes_view with) {
    std::byte* const place = to.try_write(what.question, 0, with.size());
    if (place != nullptr) copy_bytes(place, with.data(), with.size());
    return place != nullptr;
  };
  switch (act) {
    case window_act::describe:
      return answer(std::as_bytes(std::span(&about_, 1)));
    case window_act::collective:
      collectives_.on_packet(member, content);
      return true;
    case window_act::post:
      ++posts_[member];
      if (checks_ != nullptr) checks_->note_post(member, what.op != 0);
      return true;
    case window_act::complete:
      ++completed_;
      if (checks_ != nullptr) checks_->note_complete(member);
      return true;
    case window_act::lock:
      if (target_.is_early(what)) return false;
      lock_.request(lane, member, kind);
      return true;
    case window_act::granted: {
      window_peer* const from = origin_.find(member);
      if (from == nullptr || from->lock == lock_kind::none || from->granted) throw invalid();
      from->granted = true;
      return true;
    }
    case window_act::unlock: {
      constexpr std::uint64_t done = 0;
      if (!answer(std::as_bytes(std::span(&done, 1)))) return false;
      lock_.release(kind);
      return true;
    }
    case window_act::wake:
      lock_.serve_waiting();
      return true;
    case window_act::has_posted: {
      const post_state state = checks_ == nullptr ? post_state::promised : checks_->post_for(member);
      return answer(std::as_bytes(std::span(&state, 1)));
    }
    case window_act::try_lock: {
      if (target_.is_early(what)) return false;
      std::byte* const place = to.try_write(what.question, 0, sizeof(std::uint64_t));
      if (place == nullptr) return false;
      const std::uint64_t was_free = control_.take_if_free(kind, member) ? 1 : 0;
      std::memcpy(place, &was_free, sizeof was_free);
      return true;
    }
    default:
      throw invalid();
  }
}

// Access

window_peer& window_epochs::use(rank_t target) {
  window_peer& to = origin_.peer(target);
  if (!std::exchange(to.listed, true)) used_.push_back(&to);
  return to;
}

void window_epochs::set_open(window_peer& of, bool is_open) {
  of.open = is_open;
  if (of.base != nullptr && checks_ == nullptr) direct_.targets[of.member].is_open = is_open;
}

bool window_epochs::take_post(rank_t from) {
  if (signals_) return signals_->take_post(from);
  std::uint32_t& posts = posts_[from];
  if (posts == 0) return false;
  --posts;
  return true;
}

bool window_epochs::is_ready(window_peer& to) {
  if (to.open) return true;
  switch (rules_.access()) {
    case access_epoch::started:
      if (!has(access_promised_, window_assert::no_check) || checks_ != nullptr) {
        if (checks_ != nullptr && posts_[to.member] > 0) checks_->consume_post(to.member, access_promised_);
        if (!take_post(to.member)) return false;
      }
      set_open(to, true);
      return true;
    case access_epoch::locked:
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
  const auto ready = [&] { return is_ready(to); };
  if (rules_.access() == access_epoch::started)
    return wait_for(call, "waits for its post", to.member, ready, told_by::signals);
  const std::int32_t holder = to.control == nullptr ? 0 : to.control->holder.load(std::memory_order_relaxed);
  const std::string held_by = holder == 0 ? std::string() : fmt::format(", which rank {} holds", holder - 1);
  wait_for(call, "waits for its lock" + held_by, to.member, ready, to.has_ticket ? told_by::lock : told_by::records);
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
  if (to.has_ticket) {
    to.ticket = to.control->lock.draw();
    static_cast<void>(has_lock(to));
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
    wait_for(call, "asks whether its lock is free", to.member, [&] { return to.answers.done(); });
    was_free = to.word != 0;
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
  if (of.member == member_) return;
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (of.control->owner_waits.load(std::memory_order_relaxed) != 0)
    origin_.send(of, {.act = static_cast<std::uint8_t>(window_act::wake)});
}

bool window_epochs::has_lock(window_peer& to) {
  if (to.lock == lock_kind::none) take_lock(to, lock_kind::shared);  // of lock_all
  if (to.granted || !to.has_ticket) return to.granted;
  to.granted = to.control->lock.try_enter(to.lock, to.ticket);
  if (to.granted && to.lock == lock_kind::shared) wake_owner(to);  // the next ticket may be another reader's
  if (to.granted && to.lock == lock_kind::exclusive) to.control->holder.store(member_ + 1, std::memory_order_relaxed);
  return to.granted;
}

void window_epochs::begin(std::string_view call, window_operation&& what, bool copies) {
  endpoint_.check_own_call(call);
  check_member(call, what.target);
  rules_.check_use(call, window_call::operation, what.target, whose());
  window_peer& to = origin_.peer(what.target);
  check_operation(call, to, what);
  rules_.operation_begins();
  use(what.target);
  direct_.all_open = rules_.access() == access_epoch::used_fenced && checks_ == nullptr;
  const bool waits_for_end = origin_.protocol() == window_protocol::send_recv && !to.is_mapped;
  if (waits_for_end || !is_ready(to)) {
    if (!to.is_mapped) return hold(to, std::move(what), copies);
    wait_until_ready(call, to);
  }
  if (checks_ != nullptr && to.member == member_ && what.writes()) {
    checks_->note_write(call, member_, rules_.access() == access_epoch::used_fenced, what.at, what.bytes(),
                        what.there.get(), 0);
  }
  if (!to.held.empty()) begin_held(to);
  carry_out(to, what);
  if (copies && !to.network.done()) wait_for(call, "waits for its operand", no_rank, [&] { return to.network.done(); });
  endpoint_.own_engine().pace(endpoint_);
}

void window_epochs::carry_out(window_peer& to, const window_operation& what) {
  origin_.carry_out(to, what);
  direct_.stored = true;
  direct_.unfinished |= to.unflushed || !window_origin::done(to);
  direct_.records_accumulate |= to.is_mapped && to.accumulates_in_records;
}

void window_epochs::hold(window_peer& to, window_operation&& what, bool copies) {
  if (copies) what.from = to.held_data.emplace_back(what.from.begin(), what.from.end());
  to.held.push_back(std::move(what));
  direct_.unfinished = true;
}

void window_epochs::begin_held(window_peer& to) {
  for (; !to.held.empty(); to.held.pop_front()) carry_out(to, to.held.front());
  if (to.network.done()) to.held_data.clear();  // else the network reads them
}

void window_epochs::begin_all_held(std::string_view call) {
  std::vector<window_peer*> left;
  std::ranges::copy_if(used_, std::back_inserter(left), [](const window_peer* each) { return !each->held.empty(); });
  while (!left.empty()) {
    wait_for(
        call, "waits for posts or locks", left.front()->member,
        [&] { return std::ranges::any_of(left, [this](window_peer* each) { return is_ready(*each); }); },
        told_by::lock);
    std::erase_if(left, [this](window_peer* each) {
      if (!is_ready(*each)) return false;
      begin_held(*each);
      return true;
    });
  }
}

void window_epochs::finish(std::string_view call, std::span<window_peer* const> all, bool flushes) {
  for (window_peer* const each : all) flushes ? origin_.begin_flush(*each) : origin_.begin_completion(*each);
  wait_for(call, "waits for operations", no_rank, [&] {
    return std::ranges::all_of(all, [](const window_peer* each) { return window_origin::done(*each); });
  });
  for (window_peer* const each : all) {
    if (each->held.empty()) each->held_data.clear();
    if (flushes) each->accumulates_in_records = false;
  }
}

void window_epochs::look_for_unfinished() {
  direct_.unfinished = std::ranges::any_of(used_, [](const window_peer* each) {
    return each->unflushed || !each->held.empty() || !window_origin::done(*each);
  });
  direct_.records_accumulate = std::ranges::any_of(
      used_, [](const window_peer* each) { return each->is_mapped && each->accumulates_in_records; });
}

void window_epochs::end_access() {
  for (window_peer* const each : used_) {
    each->listed = each->unflushed = each->accumulates_in_records = false;
    set_open(*each, false);
  }
  used_.clear();
  direct_.all_open = direct_.may_flush = direct_.unfinished = direct_.records_accumulate = false;
  access_promised_ = window_assert::none;
}

// Fences

void window_epochs::fence(window_assert promised) {
  constexpr std::string_view call = "window::fence";
  endpoint_.check_own_call(call);
  const bool opens = !has(promised, window_assert::no_succeed);
  if (checks_ != nullptr) checks_->begin_fence(call, promised, rules_.access() == access_epoch::used_fenced);
  rules_.on(call, opens ? window_call::fence : window_call::last_fence, whose());
  if (checks_ != nullptr) compare_promises(call, promised);
  if (!has(promised, window_assert::no_precede) && direct_.unfinished) {
    begin_all_held(call);
    std::vector<window_peer*> shared, others;
    std::ranges::partition_copy(used_, std::back_inserter(shared), std::back_inserter(others), has_other_paths);
    finish(call, others, false);
    finish(call, shared, true);
  }
  direct_.fence_stores();
  if (opens || !has(promised, window_assert::no_precede)) signals_ ? meet_at_barrier(call) : exchange_counts(call);
  end_access();
  origin_.count(opens && !signals_, target_.parity());
  if (checks_ != nullptr) checks_->end_fence(promised);
}

// All records have been carried out before it.
void window_epochs::meet_at_barrier(std::string_view call) {
  signals_->begin_barrier();
  wait_for(
      call, "waits for all members", no_rank, [this] { return signals_->try_end_barrier(); }, told_by::signals);
}

void window_epochs::compare_promises(std::string_view call, window_assert promised) {
  counts_.assign(static_cast<std::size_t>(members().size()), assertion_checks::ballot(promised));
  collectives_.start_reduce_scatter(counts_);
  wait_for(call, "waits for the promises of all members", no_rank,
           [&] { return collectives_.done() && service_.sent(); });
  checks_->check_ballots(call, collectives_.result(), members().size());
}

// A member that leaves this has carried out all that others have sent it. Records of its next epoch may reach members
// that have not left yet, and are refused there until they have. Loads and the network do not ask the owner: records
// for memory that these reach have been carried out before.
void window_epochs::exchange_counts(std::string_view call) {
  counts_.assign(static_cast<std::size_t>(members().size()), 0);
  for (window_peer* const each : used_)
    counts_[static_cast<std::size_t>(each->member)] = std::exchange(each->counted, 0);
  collectives_.start_reduce_scatter(counts_);
  wait_for(call, "waits for all members", no_rank, [&] {
    return collectives_.done() && service_.sent();  // else operations could use up the credits that parts wait for
  });
  const std::uint64_t expected = collectives_.result();
  wait_for(call, "waits for operations of others", no_rank, [&] { return target_.arrived() == expected; });
  target_.begin_epoch();
}

// Post, start, complete, wait

void window_epochs::start(std::span<const rank_t> targets, window_assert promised) {
  constexpr std::string_view call = "window::start";
  endpoint_.check_own_call(call);
  check_members(call, targets);
  if (checks_ != nullptr && has(promised, window_assert::no_check)) verify_posts(call, targets);
  rules_.start(call, targets, whose());
  origin_.count(false, target_.parity());
  access_promised_ = promised;
}

// Posts that have been called may still be on their way.
void window_epochs::verify_posts(std::string_view call, std::span<const rank_t> targets) {
  for (const rank_t each : targets) {
    window_peer& to = origin_.peer(each);
    origin_.ask_word(to, window_act::has_posted, lock_kind::none);
    wait_for(call, "asks whether it has called post", each, [&] { return to.answers.done(); });
    checks_->check_start(call, each, post_state{to.word});
  }
}

void window_epochs::complete() {
  constexpr std::string_view call = "window::complete";
  endpoint_.check_own_call(call);
  if (rules_.access() != access_epoch::started) rules_.on(call, window_call::complete, whose());
  for (const rank_t each : rules_.targets()) use(each);
  if (direct_.unfinished) {
    begin_all_held(call);
    finish(call, used_, signals_.has_value());  // signals overtake records
  }
  direct_.fence_stores();
  for (window_peer* const each : used_) wait_until_ready(call, *each);
  if (signals_) {
    signals_->complete(rules_.targets());
  } else {
    for (window_peer* const each : used_) origin_.send(*each, {.act = static_cast<std::uint8_t>(window_act::complete)});
  }
  rules_.on(call, window_call::complete, whose());
  end_access();
}

void window_epochs::post(std::span<const rank_t> origins, window_assert promised) {
  constexpr std::string_view call = "window::post";
  endpoint_.check_own_call(call);
  check_members(call, origins);
  if (checks_ != nullptr) checks_->check_stores(call, promised);
  rules_.on(call, window_call::post, whose());
  if (checks_ != nullptr) checks_->post(promised, origins);
  posted_to_ = origins.size();
  if (signals_ && !has(promised, window_assert::no_check)) return signals_->post(origins);
  std::atomic_thread_fence(std::memory_order_seq_cst);  // stores of the program come before operations of others
  const bool is_promised = has(promised, window_assert::no_check);
  if (is_promised && checks_ == nullptr) return;
  for (const rank_t each : origins) {
    origin_.send(origin_.peer(each), {.act = static_cast<std::uint8_t>(window_act::post),
                                      .op = static_cast<std::uint8_t>(is_promised ? 1 : 0)});
  }
}

void window_epochs::wait() {
  constexpr std::string_view call = "window::wait";
  endpoint_.check_own_call(call);
  if (rules_.exposure() != exposure_epoch::posted) rules_.on(call, window_call::wait, whose());
  wait_for(
      call, "waits for complete of others", no_rank, [this] { return all_have_completed(); }, told_by::signals);
  end_exposure();
  rules_.on(call, window_call::wait, whose());
  if (checks_ != nullptr) checks_->end_exposure();
}

bool window_epochs::all_have_completed() const noexcept {
  return (signals_ ? signals_->completed() : completed_) >= posted_to_;
}

void window_epochs::end_exposure() noexcept {
  const std::size_t completed = std::exchange(posted_to_, 0);
  signals_ ? signals_->take_completed(static_cast<std::uint32_t>(completed)) : void(completed_ -= completed);
}

bool window_epochs::test() {
  constexpr std::string_view call = "window::test";
  endpoint_.check_own_call(call);
  if (rules_.exposure() == exposure_epoch::posted && !all_have_completed()) {
    const bool any = endpoint_.progress();
    using poll_round = core::engine::poll_round;
    endpoint_.own_engine().polled(endpoint_, call, any ? poll_round::eventful : poll_round::idle);
    if (!all_have_completed()) return false;
  }
  rules_.on(call, window_call::wait, whose());
  end_exposure();
  if (checks_ != nullptr) checks_->end_exposure();
  return true;
}

// Locks

void window_epochs::lock(lock_kind kind, rank_t target, window_assert promised) {
  constexpr std::string_view call = "window::lock";
  endpoint_.check_own_call(call);
  check_member(call, target);
  if (kind == lock_kind::none)
    throw error(call, member_, fmt::format("{}: a lock of kind none", title_), "choose shared or exclusive");
  rules_.lock(call, kind, target, whose());
  origin_.count(false, target_.parity());
  access_promised_ = promised;
  direct_.may_flush = true;
  window_peer& to = use(target);
  try {
    take_lock(to, kind);
  } catch (...) {  // a promise is wrong
    rules_.unlock(call, target, whose());
    access_promised_ = window_assert::none;
    if (rules_.access() != access_epoch::locked) end_access();
    throw;
  }
  if (to.granted) set_open(to, true);
  if (target == member_) wait_until_ready(call, to);  // loads and stores of the program ask nothing
  access_promised_ = window_assert::none;
}

void window_epochs::unlock(rank_t target) {
  constexpr std::string_view call = "window::unlock";
  endpoint_.check_own_call(call);
  check_member(call, target);
  if (rules_.access() != access_epoch::locked || rules_.lock_of(target) == lock_kind::none)
    rules_.unlock(call, target, whose());
  window_peer& of = use(target);
  wait_until_ready(call, of);
  begin_held(of);
  window_peer* const one = &of;
  release(call, {&one, 1});
  of.listed = false;
  std::erase(used_, one);
  rules_.unlock(call, target, whose());
  look_for_unfinished();
  if (rules_.access() != access_epoch::locked) end_access();
}

void window_epochs::lock_all(window_assert promised) {
  constexpr std::string_view call = "window::lock_all";
  endpoint_.check_own_call(call);
  rules_.on(call, window_call::lock_all, whose());
  origin_.count(false, target_.parity());
  access_promised_ = promised;
  direct_.may_flush = true;
  try {
    wait_until_ready(call, use(member_));  // loads and stores of the program ask nothing
  } catch (...) {                          // a promise is wrong
    rules_.on(call, window_call::unlock_all, whose());
    end_access();
    throw;
  }
}

void window_epochs::unlock_all() {
  constexpr std::string_view call = "window::unlock_all";
  endpoint_.check_own_call(call);
  if (rules_.access() != access_epoch::locked_all) rules_.on(call, window_call::unlock_all, whose());
  begin_all_held(call);
  release(call, used_);
  rules_.on(call, window_call::unlock_all, whose());
  end_access();
}

// The record that unlocks stands behind the others. A lock that is left by a store waits until they have been carried
// out.
void window_epochs::release(std::string_view call, std::span<window_peer* const> all) {
  if (direct_.unfinished) {
    std::vector<window_peer*> others;
    std::ranges::copy_if(all, std::back_inserter(others), [](const window_peer* each) { return !each->asks_owner; });
    finish(call, others, true);
    wait_for(call, "waits for operations", no_rank,
             [&] { return std::ranges::all_of(all, [](const window_peer* each) { return each->network.done(); }); });
  }
  direct_.fence_stores();
  for (window_peer* const each : all) begin_release(*each);
  wait_for(call, "waits until operations have been carried out", no_rank, [&] {
    return std::ranges::all_of(all, [](const window_peer* each) { return window_origin::done(*each); });
  });
}

void window_epochs::begin_release(window_peer& of) {
  const lock_kind kind = std::exchange(of.lock, lock_kind::none);
  const bool has_ticket = std::exchange(of.has_ticket, false);
  of.granted = false;
  set_open(of, false);
  if (std::exchange(of.asks_owner, false)) return origin_.unlock(of, kind);
  if (!has_ticket) return;
  if (of.member == member_) {
    if (checks_ != nullptr) checks_->end_exposure();
    lock_.release(kind);
    lock_.serve_waiting();
    return;
  }
  if (kind == lock_kind::exclusive) of.control->holder.store(0, std::memory_order_relaxed);
  of.control->lock.leave(kind);
  wake_owner(of);
}

void window_epochs::flush(rank_t target) {
  constexpr std::string_view call = "window::flush";
  endpoint_.check_own_call(call);
  check_member(call, target);
  rules_.use(call, window_call::flush, target, whose());
  window_peer* const of = origin_.find(target);
  if (of != nullptr && of->listed) {
    if (!of->held.empty()) wait_until_ready(call, *of);
    begin_held(*of);
    finish(call, {&of, 1}, true);
    look_for_unfinished();
  }
  direct_.fence_stores();
}

void window_epochs::flush_all() {
  constexpr std::string_view call = "window::flush_all";
  endpoint_.check_own_call(call);
  rules_.on(call, window_call::flush, whose());
  begin_all_held(call);
  finish(call, used_, true);
  direct_.unfinished = direct_.records_accumulate = false;
  direct_.fence_stores();
}

void window_epochs::flush_local(rank_t target) {
  constexpr std::string_view call = "window::flush_local";
  endpoint_.check_own_call(call);
  check_member(call, target);
  rules_.use(call, window_call::flush, target, whose());
  window_peer* const of = origin_.find(target);
  if (of == nullptr || !of->listed) return;
  if (!of->held.empty()) wait_until_ready(call, *of);
  begin_held(*of);
  finish(call, {&of, 1}, false);
}

bool window_epochs::is_complete_here(const window_peer& of) const noexcept {
  return of.held.empty() && of.network.done() && of.answers.done();
}

bool window_epochs::test_local(rank_t target) {
  constexpr std::string_view call = "window_request::test";
  window_peer* const of = origin_.find(target);
  if (of == nullptr || is_complete_here(*of)) return true;
  endpoint_.check_own_call(call);
  if (!of->held.empty() && is_ready(*of)) begin_held(*of);
  origin_.begin_completion(*of);
  const bool any = endpoint_.progress();
  using poll_round = core::engine::poll_round;
  endpoint_.own_engine().polled(endpoint_, call, any ? poll_round::eventful : poll_round::idle);
  return is_complete_here(*of);
}

void window_epochs::wait_local(rank_t target) {
  constexpr std::string_view call = "window_request::wait";
  window_peer* const of = origin_.find(target);
  if (of == nullptr || is_complete_here(*of)) return;
  endpoint_.check_own_call(call);
  if (!of->held.empty()) wait_until_ready(call, *of);
  begin_held(*of);
  origin_.begin_completion(*of);
  wait_for(call, "waits for operations", no_rank, [&] { return is_complete_here(*of); });
}

void window_epochs::flush_local_all() {
  constexpr std::string_view call = "window::flush_local_all";
  endpoint_.check_own_call(call);
  rules_.on(call, window_call::flush, whose());
  begin_all_held(call);
  finish(call, used_, false);
}

}  // namespace amity::detail
