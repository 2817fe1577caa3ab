#include "amity/window/window_epochs.hpp"

#include <algorithm>
#include <cstring>
#include <exception>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "amity/base/copy_bytes.hpp"
#include "amity/base/error.hpp"
#include "amity/core/rank_list.hpp"

namespace amity::detail {
namespace {

core::group members_of(core::endpoint& in) {
  std::vector<rank_t> ranks;
  for (rank_t rank = 0; rank < in.size(); ++rank) ranks.push_back(in.job_rank(rank));
  return {core::rank_list(std::move(ranks)), in.threads(), in.thread()};
}

/// 0: some members are on other nodes, or the window is dynamic, whose operations travel as records.
std::size_t bytes_of_signals(core::endpoint& in, bool is_dynamic) {
  if (is_dynamic) return 0;
  const core::group members = members_of(in);
  for (rank_t member = 0; member < members.size(); ++member) {
    if (!in.own_engine().transport().same_node(members.lane(member))) return 0;
  }
  return node_signals::bytes(members.size());
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

/// Nothing announces that a peer has left the lock of a window that it maps.
constexpr std::uint64_t lock_rest_ns = 20'000;

/// Signals of other members, by a look at them.
class watched_signals final : public fabric::watched_memory {
 public:
  watched_signals(function_ref<bool()> look, node_signals& signals) : look_(look), signals_(signals) {}

  bool is_ready() const override { return look_(); }
  void announce() noexcept override { signals_.announce_sleep(); }
  void cancel() noexcept override { signals_.end_sleep(); }
  std::uint64_t sleep_ns_max() const noexcept override { return ~std::uint64_t{0}; }

 private:
  function_ref<bool()> look_;
  node_signals& signals_;
};

/// Locks that this rank maps. No member tells that it leaves one.
class watched_locks final : public fabric::watched_memory {
 public:
  explicit watched_locks(std::span<window_peer* const> wanted) : wanted_(wanted) {}

  bool is_ready() const override {
    return std::ranges::any_of(wanted_, [](const window_peer* each) {
      return each->has_ticket && each->control->lock.is_turn_of(each->lock, each->ticket);
    });
  }
  void announce() noexcept override {}
  void cancel() noexcept override {}
  std::uint64_t sleep_ns_max() const noexcept override { return lock_rest_ns; }

 private:
  std::span<window_peer* const> wanted_;
};

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
      signal_bytes_(bytes_of_signals(in, attached != nullptr)),
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
  signals_.emplace(member_, areas, [this](rank_t member) { send_wake(members().lane(member)); });
}

// Never waits: signals are also sent by a thread that looks whether it may end a wait.
void window_epochs::send_wake(rank_t lane) {
  service_.send(lane,
                {.owner = core::record_owner::windows,
                 .act = static_cast<std::uint8_t>(window_act::wake),
                 .at = static_cast<std::uint64_t>(identity_)},
                {});
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

void window_epochs::wait_for(std::string_view call, std::string_view what, rank_t target, function_ref<bool()> done,
                             fabric::watched_memory* stores) {
  if (done()) {
    // Stores alone may let a rank go through all its epochs, and others wait for it to make progress.
    if (stores != nullptr) endpoint_.own_engine().pace(endpoint_);
    return;
  }
  label_.assign(call).append(" of ").append(title_);
  if (target != no_rank) label_.append(", target ").append(std::to_string(target));
  label_.append(": ").append(what);
  endpoint_.own_engine().wait_until(
      endpoint_, label_, done, [] { return false; }, stores);
}

void window_epochs::wait_for_signals(std::string_view call, std::string_view what, rank_t target,
                                     function_ref<bool()> done, function_ref<bool()> look) {
  if (!signals_) return wait_for(call, what, target, done);
  watched_signals watched(look, *signals_);
  wait_for(call, what, target, done, &watched);
}

void window_epochs::wait_for_any(std::string_view call, std::string_view what, std::span<window_peer* const> all) {
  const auto ready = [&] { return std::ranges::any_of(all, [this](window_peer* each) { return is_ready(*each); }); };
  watched_locks watched(all);
  const bool has_tickets = std::ranges::any_of(all, [](const window_peer* each) { return each->has_ticket; });
  wait_for(call, what, all.front()->member, ready, has_tickets ? &watched : nullptr);
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

}  // namespace amity::detail
