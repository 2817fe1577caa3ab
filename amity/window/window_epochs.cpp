#include "amity/window/window_epochs.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <exception>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "amity/base/error.hpp"
#include "amity/base/remote_fence.hpp"
#include "amity/core/rank_list.hpp"
#include "amity/window/window_creation.hpp"
#include "amity/window/window_error.hpp"

namespace amity::detail {
namespace {

core::group members_of(core::endpoint& in, const window_group* group) {
  if (group != nullptr) return {group->ranks, in.threads(), in.thread()};
  std::vector<rank_t> ranks;
  for (rank_t rank = 0; rank < in.size(); ++rank) ranks.push_back(in.job_rank(rank));
  return {core::rank_list(std::move(ranks)), in.threads(), in.thread()};
}

/// The sum of all is less than 2^64.
constexpr std::uint64_t guarantee_max = std::uint64_t{1} << 40;

/// Throws `error` before other members have been told anything.
am_options checked(const window_options& options, const core::group& members, rank_t own, std::string_view title) {
  const am_options& given = options.messages;
  const auto refuse = [&](const std::string& problem, std::string_view remedy) {
    throw window_error(window_fault::argument, "window", own, fmt::format("{}: {}", title, problem), remedy);
  };
  if (options.protocol > window_protocol::rma)
    refuse(fmt::format("{} is not a window_protocol", static_cast<int>(options.protocol)),
           "pass an enumerator, automatic to rma");
  if (!(given.pack_below <= 1))
    refuse(fmt::format("am_options::pack_below is {}", given.pack_below),
           "pass a number from 0 to 1, or a negative one for the setting");
  if (given.guarantees.data() == nullptr && !given.guarantees.empty())
    refuse(fmt::format("{} guarantees at a null pointer", given.guarantees.size()), "pass a span of guarantees");
  for (const am_guarantee& each : given.guarantees) {
    const auto names_it = [&](const am_guarantee& other) { return other.target == each.target; };
    if (each.target >= 0 && each.target < members.size() && each.bytes <= guarantee_max &&
        std::ranges::count_if(given.guarantees, names_it) == 1)
      continue;
    refuse(fmt::format("a guarantee of {} bytes for rank {}", each.bytes, each.target),
           fmt::format("name ranks from 0 to {}, each once, and at most {} bytes", members.size() - 1, guarantee_max));
  }
  if (given.messages_max == 0) refuse("at most 0 messages", "set am_options::messages_max to 1 or more");
  return given;
}

/// The call fails on all members in the same way.
void check_one_node(core::endpoint& in, rank_t own, const core::group& members, std::string_view title) {
  const auto node_of = [&](rank_t member) { return in.own_engine().transport().node_of(members.lane(member)); };
  constexpr std::size_t named_max = 8;
  std::vector<rank_t> others;
  for (rank_t member = 0; member < members.size(); ++member) {
    if (node_of(member) != node_of(0)) others.push_back(member);
  }
  if (others.empty()) return;
  const bool names_all = others.size() <= named_max;
  throw window_error(window_fault::sharing, "world::allocate_shared_window", own,
                     fmt::format("{}: not on the node of rank 0: rank {}{}", title,
                                 fmt::join(std::span(others).first(std::min(others.size(), named_max)), ", "),
                                 names_all ? "" : fmt::format(" and {} others", others.size() - named_max)),
                     "call it in a world whose ranks are on one node, or call allocate_window");
}

window_creation creation_of(const memory_of_window& memory, const am_options& messages, bool is_checked) {
  using function = window_creation::function;
  const bool has_handlers = messages.handlers != nullptr;
  return {.called = memory.attached != nullptr                     ? function::create_dynamic
                    : memory.own                                   ? function::create
                    : memory.where == shared_placement::contiguous ? function::allocate_contiguous
                    : memory.where == shared_placement::separate   ? function::allocate_separate
                                                                   : function::allocate,
          .is_checked = is_checked,
          .has_handlers = has_handlers,
          .handlers = has_handlers ? messages.handlers->fingerprint() : 0,
          .element_bytes = memory.element_bytes};
}

/// Reductions for a window that has no collectives yet.
void reduce_among(core::endpoint& in, const window_group* group, core::reduction operation,
                  std::span<std::uint64_t> words) {
  if (group != nullptr) return group->reduce(operation, words);
  for (std::uint64_t& word : words) word = in.reduce(operation, word);
}

/// What the members of a contiguous window ask for.
struct shared_request {
  static constexpr std::uint64_t bytes_max = std::uint64_t{1} << 46;

  std::uint64_t all;        ///< bytes; more than `bytes_max`: too many
  std::uint64_t most = 0;   ///< of one member, if they are too many
  std::uint64_t whose = 0;  ///< the first such member
};

shared_request exchange_request(rank_t member, std::uint64_t bytes,
                                function_ref<void(core::reduction, std::span<std::uint64_t>)> reduce) {
  shared_request found{.all = std::min(bytes, shared_request::bytes_max + 1)};  // their sum does not overflow
  reduce(core::reduction::sum_u64, std::span(&found.all, 1));
  if (found.all <= shared_request::bytes_max) return found;
  found.most = bytes;
  reduce(core::reduction::max_u64, std::span(&found.most, 1));
  found.whose = bytes == found.most ? static_cast<std::uint64_t>(member) : UINT64_MAX;
  reduce(core::reduction::min_u64, std::span(&found.whose, 1));
  return found;
}

/// What this member allocates: in a contiguous window, member 0 allocates the memory of all.
std::size_t bytes_allocated(core::endpoint& in, rank_t member, const memory_of_window& memory, std::string_view title,
                            const window_group* group) {
  if (memory.where != shared_placement::contiguous) return memory.bytes;
  const shared_request found = exchange_request(
      member, memory.bytes,
      [&](core::reduction operation, std::span<std::uint64_t> words) { reduce_among(in, group, operation, words); });
  if (found.all > shared_request::bytes_max) {
    const std::string most = found.most == SIZE_MAX ? "2^64 bytes or more" : fmt::format("{} bytes", found.most);
    throw window_error(window_fault::memory, "world::allocate_shared_window", member,
                       fmt::format("{}: rank {} asks for {}, and all ranks together for more than {} bytes", title,
                                   found.whose, most, shared_request::bytes_max),
                       "allocate less");
  }
  return member == 0 ? static_cast<std::size_t>(found.all) : 0;
}

void check_own_memory(const memory_of_window& memory, rank_t member, std::string_view title) {
  if (!memory.own || memory.attached != nullptr || memory.own->empty()) return;
  const auto address = reinterpret_cast<std::uintptr_t>(memory.own->data());
  if (address != 0 && memory.own->size() <= SIZE_MAX - address) return;
  throw window_error(
      window_fault::memory, "world::create_window", member,
      fmt::format("{}: {} bytes at address {:#x} are not memory of this program", title, memory.own->size(), address),
      "pass a span of elements that exist");
}

/// 0: some members are on other nodes, or the window is dynamic, whose operations travel as records.
std::size_t bytes_of_signals(core::endpoint& in, const core::group& members, bool is_dynamic) {
  if (is_dynamic) return 0;
  for (rank_t member = 0; member < members.size(); ++member) {
    if (!in.own_engine().transport().same_node(members.lane(member))) return 0;
  }
  return node_signals::bytes(members.size());
}

core::endpoint& first_of(core::team& of) {
  of.lane(0).check_own_call("window");
  return of.lane(0);
}

/// In place of an identity: a member, added to it, has not been able to make its memory.
constexpr std::uint64_t failed_member = std::uint64_t{1} << 63;

/// Whether members map memory of others.
enum class mapping : std::uint64_t {
  none,
  with_forced_fences,  ///< an owner can force fences on all members
  with_fences,         ///< some system refuses that, so all members fence in accumulates
};

}  // namespace

// The reductions of `make_target`.
void decline_window(const window_group& group, const memory_of_window& memory) {
  std::uint64_t failed = failed_member + static_cast<std::uint64_t>(group.member);
  const bool is_contiguous = memory.where == shared_placement::contiguous;
  if (is_contiguous && exchange_request(group.member, 0, group.reduce).all > shared_request::bytes_max) return;
  group.reduce(core::reduction::max_u64, std::span(&failed, 1));
}

window_epochs::window_epochs(core::team& of, direct_access& direct, const memory_of_window& memory,
                             const window_options& options, const window_group* group)
    : team_(of),
      endpoint_(first_of(of)),
      direct_(direct),
      service_(window_service::of(endpoint_)),
      name_(options.name),
      title_(fmt::format("window '{}'", options.name)),
      is_of_world_(group == nullptr),
      member_(is_of_world_ ? endpoint_.rank() : group->member),
      members_(members_of(endpoint_, group)),
      target_thread_(options.checked ? endpoint_.thread() : endpoint_.home_thread()),
      where_(memory.where),
      messages_(checked(options, members_, member_, title_)),
      signal_bytes_(bytes_of_signals(endpoint_, members_, memory.attached != nullptr)),
      attached_(memory.attached),
      target_(make_target(memory, options.checked, group)),
      checks_(options.checked
                  ? std::make_unique<assertion_checks>(has_own_stores() ? target_.memory() : mutable_bytes(), whose())
                  : nullptr),
      origin_(endpoint_, service_, direct_, target_, identity_,
              options.checked ? window_protocol::buffered : options.protocol, attached_ != nullptr),
      peers_(endpoint_, service_, direct_, members_, target_thread_, target_, identity_, origin_),
      collectives_(member_, members_.size(),
                   std::min<std::size_t>(core::record_bytes_max(endpoint_.transport().caps().packet_bytes_max), 4096),
                   [this](rank_t member, bytes_view part) {
                     service_.send(members_.lane(member),
                                   {.owner = core::record_owner::windows,
                                    .act = static_cast<std::uint8_t>(window_act::collective),
                                    .bytes = static_cast<std::uint32_t>(part.size()),
                                    .at = static_cast<std::uint64_t>(identity_)},
                                   part);
                   }),
      waits_(endpoint_, target_, target_thread_, whose(), rules_) {
  if (checks_ != nullptr) target_.verify(*checks_);
  bool works = false;
  try {
    meet_members(memory, group);
    works = where_ == shared_placement::none || place_shared_memory();
    if (works) open_targets();
    if (works && messages_.handlers != nullptr) start_messages();
  } catch (...) {
    endpoint_.fail(std::current_exception());
    end(false);
    throw;
  }
  if (works) return;
  end(true);
  throw window_error(window_fault::sharing, "world::allocate_shared_window", member_,
                     fmt::format("{}: some ranks cannot map the memory of others", title_),
                     "choose a fabric that maps memory (AMITY_FABRIC=shm or threads), or call allocate_window");
}

void window_epochs::on_target_thread(function_ref<void()> work) {
  if (target_thread_ == endpoint_.thread()) return work();
  team_.run_on(target_thread_, work);
}

window_target& window_epochs::make_target(const memory_of_window& memory, bool is_checked, const window_group* group) {
  if (is_of_world_) check_same_creation(endpoint_, creation_of(memory, messages_, is_checked), title_);
  if (where_ != shared_placement::none) check_one_node(endpoint_, member_, members_, title_);
  const window_target::memory_request wanted{.own = memory.own,
                                             .around = memory.around,
                                             .bytes = memory.bytes,
                                             .allocated = bytes_allocated(endpoint_, member_, memory, title_, group),
                                             .signal_bytes = signal_bytes_,
                                             .attached = attached_};
  window_target* made = nullptr;
  std::exception_ptr failure;
  try {
    check_own_memory(memory, member_, title_);
    on_target_thread([&] {
      made = &window_target::make(team_.lane(target_thread_), members_.lane(member_), wanted, members_, whose());
    });
  } catch (...) {
    failure = std::current_exception();
  }
  agree_on_identity(made, group);
  if (failure) std::rethrow_exception(failure);
  return *made;
}

// Member 0 names the window. If a member has failed, no member knows the window, and each ends its own part.
void window_epochs::agree_on_identity(window_target* made, const window_group* group) {
  std::uint64_t agreed = 0;
  if (made == nullptr)
    agreed = failed_member + static_cast<std::uint64_t>(member_);
  else if (member_ == 0)
    agreed = static_cast<std::uint64_t>(made->identity_of_first());
  reduce_among(endpoint_, group, core::reduction::max_u64, std::span(&agreed, 1));
  identity_ = window_identity{agreed};
  if (agreed < failed_member || made == nullptr) return;
  on_target_thread([&] { made->release(); });
  throw window_error(window_fault::memory, "window", member_,
                     fmt::format("{}: rank {} has no memory for it", title_, agreed - failed_member),
                     "see the error of that rank");
}

// Another thread carries out nothing more for the window, whose memory may belong to the program: it has ended the
// target, or after a failure it has left. A window that ends on a wrong thread or in a handler cannot wait for that.
void window_epochs::end_target(bool works) noexcept {
  const auto end = [&] { works ? target_.release() : target_.abandon(); };
  if (target_thread_ == endpoint_.thread()) return end();
  if (!endpoint_.own_engine().on_own_thread() || endpoint_.in_handler()) return;
  team_.try_run([&](rank_t thread) {
    if (thread == target_thread_) end();
  });
}

bool window_epochs::has_neighbor() const {
  for (rank_t member = 0; member < members().size(); ++member) {
    if (member != member_ && is_neighbor(member)) return true;
  }
  return false;
}

bool window_epochs::is_mapped_by_all(const memory_of_window& memory) const {
  if (signal_bytes_ == 0 || !permits_direct(origin_.protocol())) return false;
  const bool is_attached = memory.own && !memory.own->empty() && !memory.around;
  const fabric::fabric& transport = endpoint_.own_engine().transport();
  for (rank_t member = 0; member < members().size(); ++member) {
    const fabric::remote_capabilities& can = transport.remote_to(members_.lane(member));
    if (member != member_ && (!can.mapped || (is_attached && !can.maps_attached))) return false;
  }
  return true;
}

// Members that have left the reduction introduce themselves to others, which know the window by then.
void window_epochs::meet_members(const memory_of_window& memory, const window_group* group) {
  on_target_thread([this] {
    target_.publish(identity_);
    if (messages_.handlers != nullptr) receive_messages();
  });
  service_.publish_member(identity_, *this);
  service_.enter(endpoint_);
  agree_on_mapping(memory, group);
  peers_.add_own(member_, target_.about(), &target_.control(), this->memory().data());
  if (map_others_) peers_.meet_node(target_.about());
}

void window_epochs::agree_on_mapping(const memory_of_window& memory, const window_group* group) {
  const mapping own = !has_neighbor()          ? mapping::none
                      : permit_remote_fences() ? mapping::with_forced_fences
                                               : mapping::with_fences;
  std::vector<std::uint64_t> most{static_cast<std::uint64_t>(own)};
  // On several nodes, no member can signal by stores.
  if (signal_bytes_ > 0) most.push_back(is_mapped_by_all(memory) ? 0 : 1);
  if (messages_.handlers != nullptr) most.push_back(messages_.guarantees.empty() ? 0 : 1);
  reduce_among(endpoint_, group, core::reduction::max_u64, most);
  map_others_ = mapping{most[0]} != mapping::none;
  accumulates_fence_ = mapping{most[0]} == mapping::with_fences;
  if (signal_bytes_ > 0 && most[1] != 0) signal_bytes_ = 0;
  has_guarantees_ = messages_.handlers != nullptr && most.back() != 0;
  using mode = direct_accumulates::mode;
  const bool has_threads = endpoint_.own_engine().lock() != nullptr;
  direct_.always_fences |= has_threads;
  direct_.accumulates.start(target_.control().accumulates, has_threads          ? mode::counts
                                                           : accumulates_fence_ ? mode::fences
                                                                                : mode::plain);
}

// Other members use the memory of this one after the reduction.
bool window_epochs::place_shared_memory() {
  const bool maps_all = peers_.use_neighbors();
  if (maps_all && where_ == shared_placement::contiguous) {
    const mutable_bytes own = peers_.place_consecutively(member_);
    on_target_thread([&] { target_.set_memory(own); });
  }
  direct_.always_fences = true;
  return reduce(core::reduction::min_u64, maps_all ? 1 : 0) != 0;
}

mutable_bytes window_epochs::mapped(rank_t member) {
  check_member("window::mapped", member);
  if (member == member_) return memory();
  if (where_ != shared_placement::none) {
    const window_peer& of = *peers_.find(member);
    return {of.base, of.bytes};
  }
  if (!is_neighbor(member)) return {};
  const inside entered(*this, "window::mapped");
  const window_peer& of = peers_.peer(member);
  return of.is_mapped && of.base != nullptr ? mutable_bytes(of.base, of.bytes) : mutable_bytes();
}

void window_epochs::open_targets() {
  for (window_peer* const each : peers_.used()) peers_.open_direct(*each);
  if (checks_ != nullptr) peers_.find(member_)->direct = nullptr;  // each operation is verified
  if (signal_bytes_ > 0) {
    signals_.emplace(
        member_, members().size(), [this](rank_t member) { return signals_of(member); },
        [this](rank_t member) { send_to_service(members_.lane(member), window_act::wake); });
  }
}

// If a member cannot signal, the others would wait for it until they report a stall.
std::byte* window_epochs::signals_of(rank_t member) {
  try {
    const window_peer& of = peers_.peer(member);
    if (of.control != nullptr && (of.is_mapped || of.bytes == 0)) return reinterpret_cast<std::byte*>(of.control + 1);
    throw error("window", member_, fmt::format("{}: the memory of rank {} cannot be mapped here", title_, member),
                "see the log of the system; with AMITY_WINDOW_PROTOCOL=buffered windows do without");
  } catch (...) {
    endpoint_.fail(std::current_exception());
    throw;
  }
}

std::uint64_t window_epochs::reduce(core::reduction operation, std::uint64_t value) {
  collectives_.start(operation, value);
  waits_.until("a collective call", "waits for all members", no_rank,
               [this] { return collectives_.done() && service_.sent(); });
  return collectives_.result();
}

// Never waits: signals are also sent by a thread that looks whether it may end a wait.
void window_epochs::send_to_service(rank_t lane, window_act act) {
  service_.send(lane,
                {.owner = core::record_owner::windows,
                 .act = static_cast<std::uint8_t>(act),
                 .at = static_cast<std::uint64_t>(identity_)},
                {});
}

window_epochs::~window_epochs() {
  if (is_abandoned_) {
    end(false);
    return;
  }
  // Another thread of the rank serves the window, whose memory may belong to the program. What it then found wrong
  // would pass for the cause.
  if (std::uncaught_exceptions() > 0 && endpoint_.own_engine().on_own_thread() && !endpoint_.in_handler())
    team_.threads().abandon();
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
      is_of_world_ ? endpoint_.barrier() : static_cast<void>(reduce(core::reduction::none, 0));
    } catch (...) {
      works = false;
      endpoint_.fail(std::current_exception());
    }
  }
  end(works);
}

void window_epochs::end(bool works) noexcept {
  end_target(works);
  service_.leave(endpoint_);
  service_.remove_member(identity_);
}

void window_epochs::check_end(std::string_view call) {
  const inside entered(*this, call);
  rules_.on(call, window_call::free, whose());
}

void window_epochs::check_permitted(std::string_view call, window_call what, rank_t target) {
  const inside entered(*this, call);
  check_member(call, target);
  rules_.check_use(call, what, target, whose());
}

void window_epochs::attach(const void* base, std::size_t bytes) {
  constexpr std::string_view call = "window::attach";
  const inside entered(*this, call);
  check_dynamic(call);
  const auto begin = reinterpret_cast<std::uintptr_t>(base);
  if (bytes == 0 || begin == 0 || bytes > std::numeric_limits<std::uintptr_t>::max() - begin) {
    throw window_error(window_fault::attachment, call, member_,
                       fmt::format("{}: {} bytes at address {:#x} cannot be attached", title_, bytes, begin),
                       "pass memory of at least one byte");
  }
  attached_->attach(begin, begin + bytes);
}

void window_epochs::detach(const void* base) {
  constexpr std::string_view call = "window::detach";
  const inside entered(*this, call);
  check_dynamic(call);
  const auto begin = reinterpret_cast<std::uintptr_t>(base);
  if (attached_->detach(begin)) return;
  throw window_error(window_fault::attachment, call, member_,
                     fmt::format("{}: no attached memory begins at address {:#x}; {}", title_, begin,
                                 attached_->describe_nearest(begin)),
                     "pass the address that attach was called with, once for each call");
}

void window_epochs::take_over_accumulates() {
  constexpr std::string_view call = "window::take_over_accumulates";
  const inside entered(*this, call);
  if (owns_accumulates_) return;
  announce_owner(call);
  wait_for_accumulates(call);
  on_target_thread([this] { owns_accumulates_.store(true, std::memory_order_release); });
}

void window_epochs::announce_owner(std::string_view call) {
  for (rank_t member = 0; map_others_ && member < members().size(); ++member) {
    if (is_neighbor(member)) peers_.peer(member);
  }
  target_.control().accumulates.by_owner.store(1, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_seq_cst);  // pairs with the fence of an accumulate
  if (!map_others_ || accumulates_fence_ || force_remote_fences()) return;
  target_.control().accumulates.by_owner.store(0, std::memory_order_relaxed);
  throw error(call, member_, fmt::format("{}: the system refuses a memory fence (membarrier)", title_),
              "permit this system call, or forbid it from the start of the program");
}

// Some accumulates may have begun before their origins could see the word.
void window_epochs::wait_for_accumulates(std::string_view call) {
  std::vector<window_peer*> origins;
  for (rank_t member = 0; member < members().size(); ++member) {
    window_peer* const each = peers_.find(member);
    if (each != nullptr && each->control != nullptr) origins.push_back(each);
  }
  waits_.for_accumulates(call, std::move(origins));
}

// Another thread that is inside makes the progress.
void window_epochs::make_progress() {
  const core::engine::entry entered(endpoint_.own_engine(), std::try_to_lock);
  if (!entered.entered() || endpoint_.in_handler() || endpoint_.progress()) return;
  if (++idle_rounds_ % idle_rounds_per_check == 0) endpoint_.own_engine().check_job();
}

void window_epochs::poll(std::string_view call) {
  const inside entered(*this, call);
  using poll_round = core::engine::poll_round;
  endpoint_.own_engine().polled(endpoint_, call, endpoint_.progress() ? poll_round::eventful : poll_round::idle);
}

// Records of members

bool window_epochs::execute(rank_t lane, const core::record& what, bytes_view content, core::answers& to) {
  const window_act act = act_of(what);
  const rank_t member = members().find(lane);
  const auto invalid = [&] {
    return endpoint_.own_engine().invalid_packet(
        lane, fmt::format("operation {} with {} on {}", static_cast<int>(act), what.op, title_));
  };
  if (member == no_rank) throw invalid();
  switch (act) {
    case window_act::collective:
      collectives_.on_packet(member, content);
      return true;
    case window_act::post:
      ++posts_[member];
      if (checks_ != nullptr) checks_->note_post(member, what.op != 0);
      return true;
    case window_act::granted: {
      window_peer* const from = peers_.find(member);
      if (from == nullptr || from->lock == lock_kind::none || from->granted) throw invalid();
      from->granted = true;
      from->fences = target_.fences();
      return true;
    }
    case window_act::introduce:
      if (!peers_.note_introduction(member, content)) throw invalid();
      return true;
    case window_act::wake:
      return true;
    case window_act::am_granted:
    case window_act::am_credited:
    case window_act::am_listed:
    case window_act::am_refused: {
      const window_peer* const from = peers_.find(member);
      if (from == nullptr || from->messages == nullptr) throw invalid();
      am_queue& queue = *from->messages;
      am_origin& messages = *origin_.messages();
      const bool is_valid = act == window_act::am_granted    ? messages.on_granted(queue, content)
                            : act == window_act::am_credited ? messages.on_credited(queue, content)
                            : act == window_act::am_listed   ? messages.on_listed(queue, content)
                                                             : messages.on_refused(queue, content);
      if (!is_valid) throw invalid();
      watch_messages(*from);
      return true;
    }
    case window_act::has_posted: {
      const post_state state = checks_ == nullptr ? post_state::promised : checks_->post_for(member);
      std::byte* const place = to.try_write(what.question, 0, sizeof state);
      if (place != nullptr) std::memcpy(place, &state, sizeof state);
      return place != nullptr;
    }
    default:
      throw invalid();
  }
}

}  // namespace amity::detail
