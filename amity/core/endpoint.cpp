#include "amity/core/endpoint.hpp"

#include <algorithm>
#include <cstring>
#include <ranges>
#include <utility>

#include <fmt/format.h>

#include "amity/base/assert.hpp"
#include "amity/base/error.hpp"
#include "amity/core/counter_table.hpp"
#include "amity/core/crew.hpp"
#include "amity/core/sub_fabric.hpp"

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

// A waiting rank looks around this often even if nobody wakes it: for an aborted job, and for its stall report. Under
// virtual time it waits for ever: the fabric sees a job in which every rank does.
constexpr std::uint64_t wait_slice_ns = 100'000'000;

std::uint64_t stall_ns(const settings& config) {
  return static_cast<std::uint64_t>(config.integer("AMITY_CORE_STALL_SECONDS")) * 1'000'000'000;
}

}  // namespace

// While it lives, sends go to the outbox where they would otherwise wait, as in a handler, and belong to the open
// epoch.
class endpoint::no_waiting {
 public:
  explicit no_waiting(endpoint& owner)
      : owner_(owner),
        running_(std::exchange(owner.worlds_->running, &owner)),
        epoch_(std::exchange(owner.sending_epoch_, owner.open_epoch_)) {}
  ~no_waiting() {
    owner_.worlds_->running = running_;
    owner_.sending_epoch_ = epoch_;
  }
  no_waiting(const no_waiting&) = delete;
  no_waiting& operator=(const no_waiting&) = delete;

 private:
  endpoint& owner_;
  const endpoint* running_;
  epoch_tag epoch_;
};

// During its lifetime the rank waits with this label, possibly without end.
class endpoint::known_place {
 public:
  known_place(endpoint& owner, std::string_view where) : owner_(owner) {
    owner.waits_where_ = where;
    owner.fabric_.set_whereabouts(&owner);
  }
  ~known_place() { owner_.fabric_.set_whereabouts(nullptr); }
  known_place(const known_place&) = delete;
  known_place& operator=(const known_place&) = delete;

 private:
  endpoint& owner_;
};

endpoint::endpoint(fabric::fabric& transport, const settings& config, rank_t threads)
    : fabric_(transport),
      lane_(transport.rank()),
      lanes_(transport.size()),
      own_worlds_(static_cast<std::size_t>(config.integer("AMITY_CORE_SPILL_BYTES_MAX")),
                  transport.caps().packet_bytes_max),
      waiter_(transport),
      virtual_time_(transport.caps().virtual_time),
      attention_(config.integer("AMITY_CORE_ATTENTIVENESS") != 0),
      ledger_(lanes_),
      collectives_(
          lane_ / threads, lanes_ / threads,
          [this](rank_t dest, bytes_view bytes) {
            send_control(lane_of(dest, thread()), packet_kind::collective, bytes);
          },
          [this](rank_t dest) { tell_handlers(lane_of(dest, thread())); }),
      threads_(threads),
      rank_(lane_ / threads),
      size_(lanes_ / threads),
      home_(config.integer("AMITY_PROGRESS_THREAD") != 0 ? threads - 1 : 0),
      packet_bytes_max_(transport.caps().packet_bytes_max),
      // In any case so low that handlers have room left.
      leaving_bytes_high_water_(std::min(static_cast<std::size_t>(config.integer("AMITY_CORE_SPILL_BYTES_HIGH_WATER")),
                                         own_worlds_.memory.bytes_max() / 2)),
      stall_clock_(stall_ns(config)),
      busy_wait_(stall_ns(config)) {
  AMITY_ASSERT(threads >= 1 && lanes_ % threads == 0, threads, lanes_);
}

endpoint::endpoint(sub_fabric& transport, const settings& config)
    : endpoint(static_cast<fabric::fabric&>(transport), config, transport.root()->threads()) {
  road_ = &transport;
  number_ = transport.number();
  worlds_ = transport.root()->worlds_;
  counter_table_ = transport.root()->counter_table_;
  worlds_->add(*transport.root(), *this, transport);
}

endpoint::~endpoint() {
  leave_counter_table();
  if (road_ != nullptr) {
    if (road_->root() != nullptr) worlds_->not_due.release(job_fabric(), number_);
    worlds_->unsent.drop(number_);
    worlds_->remove(number_);
    return;
  }
  release_kept();
  // A world that outlives the job's own has nobody to send to any more.
  worlds_->for_each([&](const rank_worlds::member& each) {
    if (each.road == nullptr) return;
    each.owner->leave_counter_table();
    each.owner->own_worlds_.memory = worlds_->memory;  // what the world still has is subtracted later
    each.owner->worlds_ = &each.owner->own_worlds_;
    each.road->lose_root();
  });
}

void endpoint::release_kept() noexcept {
  if (road_ == nullptr) worlds_->not_due.release(fabric_);
}

void endpoint::leave_counter_table() noexcept {
  if (counter_table_ == nullptr) return;
  counter_table_->remove(ledger_);
  counter_table_ = nullptr;
}

endpoint& endpoint::root() noexcept { return road_ == nullptr ? *this : *road_->root(); }

rank_t endpoint::root_rank(rank_t rank) const noexcept { return road_ == nullptr ? rank : road_->root_rank(rank); }

// Handlers

handler_id endpoint::add_handler(std::string_view name, std::function<void(request&)> handler) {
  auto stored = std::make_unique<request_handler>(*this, std::move(handler));
  const deliver_function call = [](void* context, const inbound& packet) -> std::uint64_t {
    const auto& target = *static_cast<request_handler*>(context);
    request message(target.owner, packet);
    target.call(message);
    return 1;
  };
  const handler_id id = add_handler(name, call, stored.get());
  request_handlers_[id] = std::move(stored);
  return id;
}

handler_id endpoint::add_handler(std::string_view name, deliver_function call, void* context,
                                 std::string_view definition) {
  check_own_call("endpoint::add_handler");
  const handler_id id = registry_.add(name, call, context, definition);
  if (counter_table_ != nullptr) {
    counter_table_->add(name, ledger_, id);
  } else {
    ledger_.add_handler(id);
  }
  if (request_handlers_.size() <= id) request_handlers_.resize(id + 1u);
  return id;
}

void endpoint::remove_handler(handler_id handler) {
  check_outside_handler("endpoint::remove_handler");  // of another thread, too, when that has gone as the job ends
  check_handler("endpoint::remove_handler", handler);
  registry_.remove(handler);
  if (counter_table_ != nullptr) counter_table_->remove(ledger_, handler);
  worlds_->unsent.drop_buffers(number_, handler);
  streams_.drop(handler);
  request_handlers_[handler].reset();
  if (priorities_differ_) compare_priorities();
}

void endpoint::set_priority(handler_id handler, int priority) {
  check_own_call("endpoint::set_priority");
  check_handler("endpoint::set_priority", handler);
  registry_.set_priority(handler, priority);
  compare_priorities();
}

void endpoint::compare_priorities() {
  int least = 0;
  priority_max_ = 0;  // that of requests of the runtime's own
  for (std::size_t id = 0; id < registry_.capacity(); ++id) {
    const auto handler = static_cast<handler_id>(id);
    if (!registry_.contains(handler)) continue;
    least = std::min(least, registry_.at(handler).priority);
    priority_max_ = std::max(priority_max_, registry_.at(handler).priority);
  }
  priorities_differ_ = least < priority_max_;
}

void endpoint::add_flushable(flushable& holder, bool in_every_round) {
  flushables_.push_back(&holder);
  if (in_every_round) in_every_round_.push_back(&holder);
}

void endpoint::remove_flushable(flushable& holder) {
  std::erase(flushables_, &holder);
  std::erase(in_every_round_, &holder);
}

// Turns of what has arrived, and what is held

void endpoint::give_way() {
  if (in_handler()) return;
  take_as_sent();
  await_low_water();
}

// What waits to leave must not grow without bound.
void endpoint::await_low_water() {
  const auto is_low = [this] { return worlds_->memory.leaving_bytes() <= leaving_bytes_high_water_; };
  if (!is_low()) wait_until(wait_for_credit, is_low);
}

// As many packets as have been sent since the last time, by handlers too. A rank that took more would keep its peers
// waiting: they use up their credits meanwhile, and then have nothing to handle, because this rank does not send. One
// that took fewer would do the same with its credits.
void endpoint::take_as_sent() {
  sends_since_poll_ = 0;
  const std::uint64_t sent = packets_left();
  const auto since = static_cast<std::size_t>(sent - std::exchange(packets_sent_before_, sent));
  advance(std::clamp(since, priorities_differ_ ? packets_per_choice : 1, packets_per_progress));
  pass_busy_time(turn_weight);
}

// Callers send off what is collected, and look whether the job has ended, once there is nothing else to do. A rank for
// which that never comes must not sit on it for ever.
void endpoint::pass_busy_time(std::uint64_t weight) {
  const auto rounds_max = std::max<std::uint64_t>(busy_rounds_max, 4 * static_cast<std::uint64_t>(lanes_));
  busy_weight_ += weight;
  if (busy_weight_ < rounds_max * round_weight) return;
  flush_all();
  check_job();
}

bool endpoint::holds_uncounted() const noexcept {
  return std::ranges::any_of(in_every_round_, [](const flushable* holder) { return holder->holds_uncounted(); });
}

bool endpoint::flush_all() {
  if (worlds_->alone()) return flush_own();
  bool any = false;
  worlds_->for_each([&](const rank_worlds::member& each) { any |= each.owner->flush_own(); });
  return any;
}

bool endpoint::flush_own() {
  busy_weight_ = 0;
  if (flushables_.empty()) return false;
  const no_waiting sends_never_wait(*this);
  bool any = false;
  // One that was added later may send through an earlier one.
  for (flushable* const holder : flushables_ | std::views::reverse) any |= holder->flush_all();
  return any;
}

void endpoint::send_control(rank_t lane, packet_kind kind, bytes_view payload) {
  AMITY_ASSERT(payload.size() <= control_bytes_max, payload.size());
  packet_header header({.kind = kind, .epoch = kind == packet_kind::detector ? open_epoch_ : no_epoch});
  if (kind == packet_kind::remote) header = header.as_reply();  // an acknowledgement
  outbox& unsent = worlds_->unsent;
  const rank_t peer = job_lane(lane);
  if ((unsent.empty() || !unsent.holds(peer, header)) &&
      fabric_.try_send(lane, header.word(), payload, claim_of(header)) == status::ok)
    return;
  unsent.push_control(peer, number_, header, payload);
}

void endpoint::tell_handlers(rank_t lane) {
  tables_.tell(lane, registry_, [&](bytes_view packet) { send_control(lane, packet_kind::collective, packet); });
}

// Progress

bool endpoint::progress() {
  check_own_call("endpoint::progress");
  if (!advance(packets_per_progress)) return false;
  pass_busy_time(round_weight);
  return true;
}

bool endpoint::advance(std::size_t packets_max) {
  if (attention_.on()) [[unlikely]]
    attention_.begin(fabric_.now_ns());
  bool any = send_waiting();
  if (worlds_->not_due.has_due()) any |= handle_due();
  for (flushable* const holder : in_every_round_) any |= holder->on_progress();
  std::size_t events = fabric_.poll(*this, packets_max);
  if (worlds_->not_due.has_behind()) [[unlikely]]
    events = handle_behind(events, packets_max);
  if (worlds_->questions > 0) [[unlikely]]
    events -= std::min(events, std::exchange(worlds_->questions, 0));
  const bool news = events > 0;
  attention_.polled(news);
  if (attention_.on()) [[unlikely]]
    attention_.end(fabric_.now_ns());
  any |= news;
  if (!worlds_->alone()) any |= advance_others();
  rethrow_failure();
  tell_waiting();
  if (any) waiter_.progressed();
  return any;
}

void endpoint::tell_threads() { worlds_->threads->tell_waiting(thread(), worlds_->handlers_run); }

// What waits in other worlds of this rank must not wait for this one to end.
bool endpoint::advance_others() {
  bool any = false;
  worlds_->for_each([&](const rank_worlds::member& each) {
    if (each.owner == this) return;
    for (flushable* const holder : each.owner->in_every_round_) any |= holder->on_progress();
  });
  return any;
}

bool endpoint::send_waiting() try {
  return !worlds_->unsent.empty() && worlds_->unsent.drain(job_fabric());
} catch (...) {
  // A stream has failed, and its message never arrives whole.
  fail(std::current_exception());
  throw;
}

bool endpoint::handle_due() {
  fabric::fabric& transport = job_fabric();
  for (const inbox::arrival& each : worlds_->not_due.take_due()) {
    endpoint* const owner = owner_of(each.packet);
    if (owner != nullptr && owner->priorities_differ_ && each.copy == nullptr &&
        owner->keep_for_later(each.packet, packet_header(each.packet.header)))
      continue;
    if (owner != nullptr) owner->deliver(each.packet);
    if (each.copy == nullptr) transport.release(each.packet.token);
  }
  return true;
}

void endpoint::begin_wait() noexcept {
  waiter_.progressed();
  busy_wait_.restart();
}

void endpoint::wait_once(std::string_view where) {
  if (!progress() && !flush_all()) sleep(where);
}

void endpoint::sleep(std::string_view where) {
  // A short wait is the common one: it never looks at the clock.
  if (waiter_.rounds() > 0 && !where.empty()) {
    if (waiter_.rounds() == 1) stall_clock_.restart();
    look_for_stall(where, false);
  }
  if (virtual_time_) {
    const known_place here(*this, where);
    wait_in_fabric(~std::uint64_t{0});
  } else {
    wait_in_fabric(wait_slice_ns);
  }
  if (attention_.on()) attention_.end(fabric_.now_ns());
}

void endpoint::wait_in_fabric(std::uint64_t timeout_ns) {
  try {
    waiter_.wait(timeout_ns);
  } catch (...) {
    fail(std::current_exception());
    throw;
  }
}

void endpoint::check_job() {
  try {
    fabric_.check();
  } catch (...) {
    fail(std::current_exception());
    throw;
  }
}

void endpoint::rest_between_polls(std::string_view where) {
  constexpr std::uint32_t polls_per_look = 1024;
  // A simulated program that polls for nothing may take long for little virtual time.
  constexpr std::uint32_t polls_of_stall = std::uint32_t{1} << 22;
  check_job();
  waiter_.rest_between_polls();
  const std::uint32_t polls = waiter_.polls();
  if (polls % polls_per_look != 0) return;
  if (polls == polls_per_look) stall_clock_.restart();
  look_for_stall(where, virtual_time_ && polls % polls_of_stall == 0);
}

void endpoint::rethrow_failure() {
  if (worlds_->failure) [[unlikely]]
    std::rethrow_exception(worlds_->failure);
}

// Collectives

void endpoint::barrier() { static_cast<void>(reduce(reduction::none, 0)); }

std::uint64_t endpoint::reduce(reduction operation, std::uint64_t value) {
  if (threads_ > 1) check_thread("collective");
  if (in_handler()) {
    throw error("collective", rank_, "a handler called a barrier or reduction, which would wait inside the handler",
                "call collectives outside handlers");
  }
  rethrow_failure();
  if (!collectives_.done()) throw job_aborted("amity: the collective before this one was left by an exception");
  flush_all();
  // Whoever leaves after the collective must not take a Long with it that waits to be sent.
  if (!remote_quiet()) wait_until("Longs and puts before a collective", [this] { return remote_quiet(); });
  try {
    collectives_.start(operation, value, registry_.fingerprint());
  } catch (const error&) {
    fail(std::current_exception());  // it is half begun
    throw;
  }
  wait_until(
      operation == reduction::ending ? "the ends of the other ranks' programs" : "a barrier or reduction",
      [this] { return collectives_.done() && control_sent(); }, [this] { return ask_rank_ahead(); });
  return collectives_.result();
}

// Most often the other rank has only heard of the end of the collective earlier. Under virtual time a wait ends only
// with news.
bool endpoint::ask_rank_ahead() {
  constexpr std::uint64_t patience_ns = 2'000'000;
  if (!collectives_.may_ask_rank_ahead()) return false;
  if (waiter_.rounds() == 0 && !virtual_time_) {
    wait_in_fabric(patience_ns);
  } else {
    collectives_.ask_rank_ahead();
  }
  return true;
}

// Epochs

void endpoint::open_epoch(epoch_tag tag, int depth) {
  AMITY_ASSERT(open_epoch_ == no_epoch && tag != no_epoch);
  open_epoch_ = body_epoch_ = sending_epoch_ = tag;
  depth_ = depth;
  ++epochs_opened_;
  worlds_->not_due.epoch_begins(number_);
}

void endpoint::begin_call() {
  if (thread() > 0) return collectives_.follow_epoch();
  try {
    collectives_.begin_epoch();
  } catch (const error&) {
    fail(std::current_exception());
    throw;
  }
}

void endpoint::await_end_call() {
  if (thread() > 0) return;
  try {
    collectives_.await_epoch_end();
  } catch (const error&) {
    fail(std::current_exception());
    throw;
  }
}

void endpoint::compare(const end_call& others) {
  if (thread() == 0) collectives_.compare(others);
}

void endpoint::forward_rank_ahead() {
  collectives_.forward_rank_ahead(
      [this](rank_t dest, bytes_view bytes) { send_control(lane_of(dest, 0), packet_kind::collective, bytes); });
}

void endpoint::end_epoch_body() noexcept {
  collectives_.end_epoch_body();
  body_epoch_ = sending_epoch_ = no_epoch;
}

void endpoint::close_epoch() {
  // What waits to be sent now was sent by handlers of messages that belong to no epoch.
  AMITY_ASSERT(open_epoch_ != no_epoch && !has_ready_packets());
  collectives_.close_epoch();
  open_epoch_ = body_epoch_ = sending_epoch_ = no_epoch;
}

}  // namespace amity::core
