#include "amity/core/engine.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <optional>
#include <ranges>

#include <fmt/format.h>

#include "amity/base/assert.hpp"
#include "amity/base/error.hpp"
#include "amity/core/crew.hpp"
#include "amity/core/endpoint.hpp"
#include "amity/core/engine_lock.hpp"
#include "amity/core/invalid_packet.hpp"
#include "amity/core/memory_service.hpp"

namespace amity::core {
namespace {

// Packets handed over in one go: enough to amortise the poll, few enough that sends get their turn.
constexpr std::size_t packets_per_progress = 64;
// The most urgent packet is found among several.
constexpr std::size_t packets_per_choice = 8;

// Rounds of progress without a pause after which collected messages are sent off all the same; more with many ranks, so
// that even one flush to each of them is rare. A turn between sends weighs less than such a round: a rank that sends
// goes on filling packets, and the caches of policies, which should serve many times before they are emptied.
constexpr std::uint64_t busy_rounds_max = 256;
constexpr std::uint64_t round_weight = 16, turn_weight = 1;
// A world without an event in so many rounds is flushed, whatever happens in others.
constexpr std::uint32_t quiet_rounds_max = 8;

// The thread that waits for the fabric does so for the threads on seats, and wakes them.
constexpr std::uint64_t seat_slice_ns = 10'000'000'000;

/// A waiting rank looks around this often even if it is not woken: for an aborted job, and for its stall report. Under
/// virtual time it waits without a limit: the fabric sees a job in which every rank does.
constexpr std::uint64_t wait_slice_ns = 100'000'000;

std::uint64_t stall_ns(const settings& config) {
  return static_cast<std::uint64_t>(config.integer("AMITY_CORE_STALL_SECONDS")) * 1'000'000'000;
}

}  // namespace

bool send_collected(endpoint& in) { return in.flush(); }

// During its lifetime the thread waits with this label, possibly without end.
class engine::known_place : private immovable {
 public:
  known_place(engine& owner, const endpoint& in, std::string_view where) : owner_(owner) {
    owner.waits_in_ = &in;
    owner.waits_where_ = where;
    owner.transport_.set_whereabouts(&owner);
  }
  ~known_place() { owner_.transport_.set_whereabouts(nullptr); }

 private:
  engine& owner_;
};

engine::engine(fabric::fabric& transport, const settings& config, rank_t threads, threading how)
    : transport_(transport),
      lock_(how == threading::serialized ? std::make_unique<engine_lock>(transport) : nullptr),
      owner_{.thread = how == threading::owned ? &thread_mark : nullptr,
             .process = process_mark(!transport.caps().virtual_time)},
      threads_(threads),
      unsent_(bound_, transport.caps().packet_bytes_max),
      bound_(static_cast<std::size_t>(config.integer("AMITY_CORE_SPILL_BYTES_MAX"))),
      waiter_(transport),
      attention_(config.integer("AMITY_CORE_ATTENTIVENESS") != 0),
      attentive_(transport.attention()),
      // In any case so low that handlers have room left.
      leaving_bytes_high_water_(std::min(static_cast<std::size_t>(config.integer("AMITY_CORE_SPILL_BYTES_HIGH_WATER")),
                                         bound_.bytes_max() / 2)),
      stall_clock_(stall_ns(config)),
      busy_wait_(stall_ns(config)),
      services_(*this, config) {
  AMITY_ASSERT(how == threading::owned || threads == 1, threads);
}

engine::~engine() = default;

// Threads

bool engine::is_inside() const noexcept { return lock_ == nullptr || lock_->is_inside(); }

void engine::enter() noexcept { lock_->enter(); }

bool engine::try_enter() noexcept { return lock_->try_enter(); }

void engine::leave() noexcept {
  try {
    if (lock_->hands_over() && !has_left_) transport_.publish();
  } catch (...) {
    failure_.set(std::current_exception());
  }
  lock_->leave();
}

void engine::wake_seats(bool has_polled) noexcept {
  if (lock_->take_found() || has_polled) lock_->wake_seats();
}

void engine::throw_wrong_thread(std::string_view call, rank_t rank) const {
  if (!owner_.process.is_own()) {
    const error mistake(call, rank, "called in a child process of the rank, which fork has made",
                        "call it in the process of the rank itself; let the child start another program");
    std::fprintf(stderr, "%s\n", mistake.what());
    ::_exit(1);
  }
  if (crew_ != nullptr && crew_->runs_handler_here()) {
    throw error(call, rank, "called by a handler on another thread of the rank, such as the progress thread",
                "send messages in handlers, and leave calls that wait, and windows, to the program");
  }
  if (lock_ != nullptr) {
    throw error(call, rank, "called by a thread that is not inside the engine of the rank",
                "make a core::engine::entry on each thread before its calls, and keep it during them");
  }
  throw error(
      call, rank, fmt::format("called by another thread than thread {} of the rank", transport_.rank() % threads_),
      "send through message::on(thread), or on(self) in a handler; leave reductions, barriers and async to thread 0; "
      "at the core, call the endpoint that team::lane has for the thread, or request::owner in a handler; and use no "
      "threads of your own");
}

// Worlds

void engine::attach(endpoint& world) {
  const std::size_t number = world.number();
  if (worlds_.size() <= number) worlds_.resize(number + 1);
  AMITY_ASSERT(worlds_[number].owner == nullptr, number);
  worlds_[number] = {.owner = &world};
  ++worlds_count_;
  if (number == 0) job_world_ = &world;
}

void engine::detach(endpoint& world) noexcept {
  const world_number number = world.number();
  // The job's own world may end on a thread that is not inside.
  std::optional<entry> alone;
  if (lock_ != nullptr) alone.emplace(*this);
  if (number == 0) {
    leave_fabric();
  } else if (job_world_ != nullptr) {
    if (memory_service* const used = services_.memory_if_used()) used->drop(world);
    not_due_.release(transport_, number);
  }
  unsent_.drop(number);
  worlds_[number] = {};
  --worlds_count_;
  if (number != 0) return;
  job_world_ = nullptr;
  for (const member& each : worlds_) {
    if (each.owner != nullptr) each.owner->leave_counter_table();
  }
}

engine::world_set engine::numbers_used() const noexcept {
  world_set set{};
  for (std::size_t number = 0; number < worlds_.size(); ++number) {
    if (worlds_[number].owner != nullptr) set[number / 64] |= std::uint64_t{1} << number % 64;
  }
  return set;
}

bool engine::has_room(std::size_t bytes) noexcept {
  if (bound_.has_room(bytes)) [[likely]]
    return true;
  if (memory_service* const used = services_.memory_if_used()) used->release_unused();
  return bound_.has_room(bytes);
}

void engine::leave_fabric() noexcept {
  has_left_ = true;
  services_.end();
  not_due_.release(transport_);
}

error engine::invalid_packet(rank_t lane, std::string_view content) const {
  return core::invalid_packet(rank(), lane / threads_, content);
}

// Events

// After a failure no event is reported.
void engine::on_done(std::uint64_t context) noexcept {
  if (services_.memory_if_used() != nullptr && !failure_.exists()) awaited::of(context).reached();
}

void engine::on_notify(std::uint32_t bits) noexcept {
  memory_service* const used = services_.memory_if_used();
  if (used != nullptr && !failure_.exists()) used->receiver.on_notify(bits);
}

bool engine::handle_due() {
  for (const inbox::arrival& each : not_due_.take_due()) {
    if (packet_header(each.packet.header).kind() == packet_kind::service) {
      if (on_other_packet(each.packet) == fabric::disposition::release && each.copy == nullptr)
        transport_.release(each.packet.token);
      continue;
    }
    endpoint* const owner = find(world_of(each.packet.header));
    const bool copied = each.copy != nullptr;
    if (owner != nullptr && owner->on_due(each.packet, copied) == fabric::disposition::keep) continue;
    if (!copied) transport_.release(each.packet.token);
  }
  return true;
}

// After a poll that has handed over so many events. Returns how many were handed over or handled in all.
std::size_t engine::handle_behind(std::size_t events, std::size_t events_max) {
  // A poll that finds less than it may has found everything: nothing more urgent has arrived.
  while (not_due_.has_behind() && events < events_max) {
    const fabric::packet best = not_due_.take_most_urgent();
    if (endpoint* const owner = find(world_of(best.header))) owner->deliver(best);
    transport_.release(best.token);
    events += 1 + transport_.poll(*this, events_max);
  }
  return events;
}

// Progress

inline bool engine::advance(std::size_t events_max) {
  if (attention_.on()) [[unlikely]]
    attention_.begin(transport_.now_ns());
  bool any = send_waiting();
  if (not_due_.has_due()) any |= handle_due();
  // One that ends its rounds leaves its place to the next, which may be the only one with something to do.
  for (std::size_t i = 0; i < every_round_.size();) {
    progress_client* const each = every_round_[i];
    any |= each->on_progress();
    if (i < every_round_.size() && every_round_[i] == each) ++i;
  }
  std::size_t events = transport_.poll(*this, events_max);
  if (not_due_.has_behind()) [[unlikely]]
    events = handle_behind(events, events_max);
  if (has_questions_) [[unlikely]]
    events -= std::min(events, take_questions());
  const bool news = events > 0;
  attention_.polled(news);
  if (attention_.on()) [[unlikely]]
    attention_.end(transport_.now_ns());
  any |= news;
  failure_.rethrow();
  wake_waiting_threads();
  if (any) waiter_.progressed();
  if (lock_ != nullptr) [[unlikely]]
    wake_seats(any);
  return any;
}

bool engine::progress() {
  if (!advance(packets_per_progress)) return false;
  pass_busy_time(round_weight);
  if (worlds_count_ > 1 || !every_round_.empty()) flush_quiet_worlds();
  return true;
}

bool engine::send_waiting() try { return !unsent_.empty() && unsent_.drain(transport_); } catch (...) {
  // A stream has failed, and its message never arrives whole.
  failure_.set(std::current_exception());
  throw;
}

void engine::give_way(endpoint& in) {
  if (running_.world() != nullptr) return;
  take_as_sent();
  // What waits to leave must not grow without bound.
  const auto is_low = [this] { return bound_.leaving_bytes() <= leaving_bytes_high_water_; };
  if (!is_low()) wait_until(in, wait_for_credit, is_low, [] { return false; });
}

// As many packets as have been sent since the last time, by handlers too. A rank that took more would keep its peers
// waiting: they use up their credits meanwhile, and then have nothing to handle, because this rank does not send. One
// that took fewer would do the same with its credits.
void engine::take_as_sent() {
  sends_since_poll_ = 0;
  std::uint64_t sent = 0;
  bool chooses = false;
  for (const member& each : worlds_) {
    if (each.owner == nullptr) continue;
    sent += each.owner->counts().total().packets_sent - unsent_.of_world(each.owner->number()).packets;
    chooses |= each.owner->priorities_differ();
  }
  const auto since = static_cast<std::int64_t>(sent - std::exchange(packets_sent_before_, sent));
  advance(std::clamp(since > 0 ? static_cast<std::size_t>(since) : 0, chooses ? packets_per_choice : 1,
                     packets_per_progress));
  pass_busy_time(turn_weight);
}

// Callers send off what is collected, and look whether the job has ended, once there is nothing else to do. A rank for
// which that never comes must not sit on it for ever.
void engine::pass_busy_time(std::uint64_t weight) {
  const auto rounds_max = std::max<std::uint64_t>(busy_rounds_max, 4 * static_cast<std::uint64_t>(transport_.size()));
  busy_weight_ += weight;
  if (busy_weight_ < rounds_max * round_weight) return;
  flush_all();
  check_job();
}

bool engine::flush_all() {
  busy_weight_ = 0;
  bool any = false;
  for (member& each : worlds_) {
    if (each.owner != nullptr) any |= each.owner->flush();
  }
  return any;
}

void engine::flush_quiet_worlds() {
  for (member& each : worlds_) {
    if (each.owner == nullptr) continue;
    const std::uint64_t now = each.owner->activity();
    if (std::exchange(each.activity, now) != now) each.quiet_rounds = 0;
    if (++each.quiet_rounds % quiet_rounds_max == 0) each.owner->flush();
  }
}

void engine::tell_crew() { crew_->tell_waiting(transport_.rank() % threads_, running_.count()); }

// Waits

engine::round engine::advance_for(endpoint& in, std::string_view where, const fabric::watched_memory* stores) {
  const std::uint64_t before = in.activity();
  if (!progress()) return flush_all() ? round::eventful : round::idle;
  if (busy_wait_.round()) [[unlikely]]
    report_busy_wait(in, where);
  if (stores != nullptr) waiter_.pass_busy_round(lock_.get(), *stores);
  // With one world, and without memory and the like, what happens is of that world: most rounds need not look.
  if (worlds_count_ == 1 && every_round_.empty()) return round::eventful;
  return in.activity() != before ? round::eventful : round::eventful_elsewhere;
}

void engine::sleep(endpoint& in, std::string_view where, fabric::watched_memory* stores) {
  // A short wait is the common one: it never looks at the clock.
  if (waiter_.rounds() > 0 && !where.empty()) {
    if (waiter_.rounds() == 1) stall_clock_.restart();
    look_for_stall(in, where, false);
  }
  attentive_.announce();
  if (transport_.caps().virtual_time) {
    const known_place here(*this, in, where);
    wait_in_fabric(~std::uint64_t{0}, ~std::uint64_t{0}, stores);
  } else {
    const std::uint64_t rest_ns = stores == nullptr ? wait_slice_ns : std::min(wait_slice_ns, stores->sleep_ns_max());
    wait_in_fabric(rest_ns, seat_slice_ns, stores);
  }
  if (attention_.on()) attention_.end(transport_.now_ns());
}

void engine::attentive_wait::poll() noexcept {
  if (of_->failure_.exists()) return;
  try {
    while (of_->transport_.poll(*of_, packets_per_progress) == packets_per_progress) continue;
  } catch (...) {
    of_->failure_.set(std::current_exception());
  }
}

void engine::wait_in_fabric(std::uint64_t timeout_ns, std::uint64_t seat_ns, fabric::watched_memory* stores) {
  try {
    if (lock_ == nullptr) [[likely]] {
      waiter_.wait(timeout_ns, nullptr, stores);
      return;
    }
    lock_->wait(waiter_, timeout_ns, seat_ns, stores);
  } catch (...) {
    failure_.set(std::current_exception());
    throw;
  }
}

void engine::check_job() {
  try {
    transport_.check();
  } catch (...) {
    failure_.set(std::current_exception());
    throw;
  }
}

void engine::polled(endpoint& in, std::string_view where, poll_round how) {
  if (how == poll_round::eventful) {
    if (busy_wait_.round()) [[unlikely]]
      report_busy_wait(in, where);
    return;
  }
  busy_wait_.restart();
  if (how == poll_round::last) return;
  constexpr std::uint32_t polls_per_look = 1024;
  // A simulated program that polls for nothing may take long for little virtual time.
  constexpr std::uint32_t polls_of_stall = std::uint32_t{1} << 22;
  check_job();
  waiter_.rest_between_polls(lock_.get());
  const std::uint32_t polls = waiter_.polls();
  if (polls % polls_per_look != 0) return;
  if (polls == polls_per_look) stall_clock_.restart();
  look_for_stall(in, where, transport_.caps().virtual_time && polls % polls_of_stall == 0);
}

/// Takes packets while no handler may run. Packets and events that would run one wait for the next round of progress.
class engine::without_handlers final : private fabric::sink {
 public:
  explicit without_handlers(engine& own) : own_(own), deferred_(own.not_due_.has_behind()) {
    for (const inbox::arrival& each : own.not_due_.take_due()) {
      if (on_packet(each.packet) == fabric::disposition::release && each.copy == nullptr)
        own.transport_.release(each.packet.token);
    }
  }
  /// Call it when handlers may run again, and make progress afterwards.
  void finish() {
    for (const std::uint64_t context : done_) own_.on_done(context);
    for (const std::uint32_t bits : notified_) own_.on_notify(bits);
  }

  /// Whether something waits for its handler. Other ranks may wait for that, or for the credits of such packets.
  bool deferred() const noexcept { return deferred_; }

  bool advance() {
    bool any = own_.send_waiting();
    any |= own_.transport_.poll(*this, packets_per_progress) > 0;
    if (own_.has_questions_) [[unlikely]]
      own_.take_questions();
    own_.failure_.rethrow();
    if (own_.lock_ != nullptr) own_.wake_seats(any);
    return any;
  }

 private:
  fabric::disposition on_packet(const fabric::packet& arrived) noexcept override {
    const packet_header header(arrived.header);
    if (header.kind() == packet_kind::service) {
      // Which may bring the last part of a Long message.
      if (header.handler() == static_cast<handler_id>(service::wake)) return own_.on_other_packet(arrived);
      deferred_ = true;
      return own_.not_due_.keep_due(arrived);
    }
    endpoint* const owner = own_.find(world_of(arrived.header));
    return owner == nullptr ? own_.on_other_packet(arrived) : owner->defer_handlers(arrived, deferred_);
  }
  void on_done(std::uint64_t context) noexcept override {
    done_.push_back(context);
    deferred_ = true;
  }
  void on_notify(std::uint32_t bits) noexcept override {
    notified_.push_back(bits);
    deferred_ = true;
  }

  engine& own_;
  bool deferred_;
  std::vector<std::uint64_t> done_;
  std::vector<std::uint32_t> notified_;
};

// Two ranks that send to each other must not deadlock.
void engine::wait_without_handlers(endpoint& in, function_ref<bool()> attempt, function_ref<bool()> done,
                                   function_ref<void()> before_handlers) {
  constexpr std::uint64_t wait_ns_max = 10'000'000;
  without_handlers arrivals(*this);
  std::uint64_t refused_ns = 0;  // when the last credit was used up; 0: not checked yet
  while (!done()) {
    const bool any = arrivals.advance();
    if (attempt()) {
      refused_ns = 0;
      continue;
    }
    if (any || flush_all()) continue;
    if (!arrivals.deferred()) {
      sleep(in, wait_for_credit, nullptr);
      continue;
    }
    const std::uint64_t now_ns = transport_.now_ns();
    if (refused_ns == 0) refused_ns = now_ns;
    if (now_ns - refused_ns >= wait_ns_max) break;
    const std::uint64_t left_ns = wait_ns_max - (now_ns - refused_ns);
    wait_in_fabric(left_ns, left_ns);
  }
  before_handlers();
  arrivals.finish();
}

}  // namespace amity::core
