#include "amity/core/endpoint.hpp"

#include <algorithm>
#include <cstring>
#include <ranges>
#include <utility>

#include <fmt/format.h>

#include "amity/base/assert.hpp"
#include "amity/base/error.hpp"
#include "amity/core/counter_table.hpp"
#include "amity/core/memory_service.hpp"
#include "amity/core/sub_fabric.hpp"

namespace amity::core {

// While it lives, sends go to the outbox where they would otherwise wait, as in a handler, and belong to the open
// epoch.
class endpoint::no_waiting : private immovable {
 public:
  explicit no_waiting(endpoint& owner)
      : owner_(owner),
        running_(owner.engine_->running().set_world(&owner)),
        epoch_(std::exchange(owner.sending_epoch_, owner.open_epoch_)) {}
  ~no_waiting() {
    owner_.engine_->running().set_world(running_);
    owner_.sending_epoch_ = epoch_;
  }

 private:
  endpoint& owner_;
  const endpoint* running_;
  epoch_tag epoch_;
};

endpoint::endpoint(fabric::fabric& transport, const settings& config, rank_t threads, engine::threading how)
    : endpoint(std::make_shared<engine>(transport, config, threads, how), nullptr, config) {}

endpoint::endpoint(endpoint& other, world_number number, const rank_list& members, const settings& config)
    : endpoint(other.engine_, std::make_unique<sub_fabric>(*other.engine_, number, members), config) {
  counter_table_ = engine_->find(0)->counter_table_;
}

endpoint::endpoint(std::shared_ptr<engine> on, std::unique_ptr<sub_fabric> part, const settings& config)
    : engine_(std::move(on)),
      sub_fabric_(std::move(part)),
      fabric_(sub_fabric_ == nullptr ? engine_->transport() : *sub_fabric_),
      lane_(fabric_.rank()),
      checks_threads_(engine_->checks_threads()),
      number_(sub_fabric_ == nullptr ? world_number{0} : sub_fabric_->number()),
      ledger_(fabric_.size()),
      collectives_(
          lane_ / engine_->threads(), fabric_.size() / engine_->threads(),
          [this](rank_t dest, bytes_view bytes) {
            send_control(lane_of(dest, thread()), packet_kind::collective, bytes);
          },
          [this](rank_t dest) { tell_handlers(lane_of(dest, thread())); }),
      threads_(engine_->threads()),
      rank_(lane_ / threads_),
      size_(fabric_.size() / threads_),
      home_(config.integer("AMITY_PROGRESS_THREAD") != 0 ? threads_ - 1 : 0),
      packet_bytes_max_(fabric_.caps().packet_bytes_max) {
  AMITY_ASSERT(threads_ >= 1 && fabric_.size() % threads_ == 0, threads_, fabric_.size());
  if (number_ != 0) check_thread("making a world");
  engine_->attach(*this);
}

endpoint::~endpoint() {
  leave_counter_table();
  engine_->detach(*this);
}

void endpoint::leave_counter_table() noexcept {
  if (counter_table_ == nullptr) return;
  counter_table_->remove(ledger_);
  counter_table_ = nullptr;
}

rank_t endpoint::job_rank(rank_t rank) const noexcept {
  return sub_fabric_ == nullptr ? rank : sub_fabric_->job_rank(rank);
}

core::memory& endpoint::memory() { return engine_->served().memory().face; }

rank_t endpoint::lane_in_part(rank_t lane) const noexcept { return sub_fabric_->find_job_lane(lane); }

bool endpoint::remote_quiet() const noexcept {
  const memory_service* const used = engine_->served().memory_if_used();
  return used == nullptr || used->sent();
}

rank_t endpoint::job_lane_of_part(rank_t lane) const noexcept { return sub_fabric_->job_lane(lane); }

// Handlers

handler_id endpoint::add_handler(std::string_view name, std::function<void(request&)> handler) {
  auto stored = std::make_unique<request_handler>(*this, std::move(handler));
  const deliver_function call = [](void* context, const inbound& packet) -> std::uint64_t {
    const auto& target = *static_cast<request_handler*>(context);
    if (packet.args * sizeof(std::uint64_t) > packet.payload.size()) [[unlikely]] {
      throw target.owner.invalid_packet(packet.source,
                                        fmt::format("{} arguments in {} bytes", packet.args, packet.payload.size()));
    }
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
  engine_->unsent().drop_buffers(number_, handler);
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
  if (in_every_round) engine_->attach(holder);
}

void endpoint::remove_flushable(flushable& holder) {
  std::erase(flushables_, &holder);
  engine_->detach(holder);
}

bool endpoint::holds_uncounted() const noexcept {
  return std::ranges::any_of(flushables_, [](const flushable* holder) { return holder->holds_uncounted(); });
}

bool endpoint::flush() {
  if (flushables_.empty()) return false;
  const no_waiting sends_never_wait(*this);
  bool any = false;
  // One that was added later may send through an earlier one.
  for (flushable* const holder : flushables_ | std::views::reverse) any |= holder->flush_all();
  return any;
}

void endpoint::send_control(rank_t lane, packet_kind kind, bytes_view payload) noexcept {
  const packet_header header({.kind = kind, .epoch = kind == packet_kind::detector ? open_epoch_ : no_epoch});
  engine_->send_control(job_lane(lane), number_, header, payload);
}

void endpoint::tell_handlers(rank_t lane) {
  tables_.tell(lane, registry_, [&](bytes_view packet) { send_control(lane, packet_kind::collective, packet); });
}

// Collectives

void endpoint::barrier() { static_cast<void>(reduce(reduction::none, 0)); }

std::uint64_t endpoint::reduce(reduction operation, std::uint64_t value) {
  check_thread("collective");
  if (in_handler()) {
    throw error("collective", rank_, "a handler called a barrier or reduction, which would wait inside the handler",
                "call collectives outside handlers");
  }
  if (operation > reduction::max_f64) {
    throw error("collective", rank_, fmt::format("{} is not a reduction of one word", static_cast<unsigned>(operation)),
                "pass an enumerator of core::reduction, none to max_f64");
  }
  engine_->failure().rethrow();
  if (!collectives_.done()) throw job_aborted("amity: the collective before this one was left by an exception");
  engine_->flush_all();
  // Whoever leaves after the collective must not take a Long with it that waits to be sent.
  core::flush(*this);
  try {
    collectives_.start(operation, value, registry_.fingerprint());
  } catch (const error&) {
    fail(std::current_exception());  // it is half begun
    throw;
  }
  const engine::attentive_wait attentive(*engine_);
  wait_until(
      operation == reduction::ending ? "the ends of the other ranks' programs" : "a barrier or reduction",
      [this] { return collectives_.done() && control_sent(); }, [this] { return ask_rank_ahead(); });
  return collectives_.result();
}

// Most often the other rank has only heard of the end of the collective earlier. Under virtual time a wait ends only
// with news.
bool endpoint::ask_rank_ahead() {
  constexpr std::uint64_t wait_ns = 2'000'000;
  if (!collectives_.may_ask_rank_ahead()) return false;
  if (engine_->idle_rounds() == 0 && !fabric_.caps().virtual_time) {
    engine_->wait_in_fabric(wait_ns, wait_ns);
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
  engine_->not_due().epoch_begins(number_);
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
  AMITY_ASSERT(open_epoch_ != no_epoch && !engine_->not_due().holds_due(number_));
  collectives_.close_epoch();
  open_epoch_ = body_epoch_ = sending_epoch_ = no_epoch;
}

}  // namespace amity::core
