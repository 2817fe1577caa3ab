#include "amity/core/endpoint.hpp"

#include <algorithm>
#include <cstring>
#include <ranges>
#include <utility>

#include <fmt/format.h>

#include "amity/base/assert.hpp"
#include "amity/base/error.hpp"
#include "amity/base/log.hpp"
#include "amity/core/sub_fabric.hpp"

namespace amity::core {
namespace {

// Packets handed over in one go: enough to amortise the poll, few enough that sends get their turn.
constexpr std::size_t packets_per_progress = 64;
constexpr std::uint32_t sends_per_pace = 16;
// The most urgent packet is found among several.
constexpr std::size_t packets_per_choice = 8;

// Rounds of progress without a pause after which collected messages are sent off all the same; more with many ranks, so
// that even one flush to each of them is rare.
constexpr std::uint64_t busy_rounds_max = 256;

// A waiting rank looks around this often even if nobody wakes it: for an aborted job, and for its stall report. Under
// virtual time it waits for ever: the fabric sees a job in which every rank does.
constexpr std::uint64_t wait_slice_ns = 100'000'000;

}  // namespace

// While it lives, sends go to the spill where they would otherwise wait, as in a handler, and belong to the open epoch.
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

endpoint::endpoint(fabric::fabric& transport, const settings& config, rank_t threads)
    : fabric_(transport),
      lane_(transport.rank()),
      lanes_(transport.size()),
      wait_ns_max_(transport.caps().virtual_time ? ~std::uint64_t{0} : wait_slice_ns),
      ledger_(lanes_),
      collectives_(
          lane_ / threads, lanes_ / threads,
          [this](rank_t dest, bytes_view bytes) { send_control(lane_of(dest, 0), packet_kind::collective, bytes); }),
      threads_(threads),
      rank_(lane_ / threads),
      size_(lanes_ / threads),
      home_(config.integer("AMITY_PROGRESS_THREAD") != 0 ? threads - 1 : 0),
      packet_bytes_max_(transport.caps().packet_bytes_max),
      spill_bytes_max_(static_cast<std::size_t>(config.integer("AMITY_CORE_SPILL_BYTES_MAX"))),
      spill_bytes_high_water_(static_cast<std::size_t>(config.integer("AMITY_CORE_SPILL_BYTES_HIGH_WATER"))),
      stall_ns_(static_cast<std::uint64_t>(config.integer("AMITY_CORE_STALL_SECONDS")) * 1'000'000'000) {
  AMITY_ASSERT(threads >= 1 && lanes_ % threads == 0, threads, lanes_);
}

endpoint::endpoint(sub_fabric& transport, const settings& config)
    : endpoint(static_cast<fabric::fabric&>(transport), config, transport.root()->threads()) {
  road_ = &transport;
  worlds_ = transport.root()->worlds_;
  worlds_->add(*transport.root(), *this, transport);
}

endpoint::~endpoint() {
  release_own();
  if (road_ != nullptr) {
    worlds_->remove(road_->number());
    return;
  }
  // A world that outlives the job's own has nobody to send to any more.
  worlds_->for_each([&](const rank_worlds::member& each) {
    if (each.road == nullptr) return;
    each.owner->worlds_ = &each.owner->own_worlds_;
    each.road->lose_root();
  });
}

void endpoint::release_kept() noexcept {
  release_own();
  worlds_->for_each([](const rank_worlds::member& each) { each.owner->release_own(); });
}

void endpoint::release_own() noexcept {
  for (auto* list : {&early_, &early_ready_}) {
    for (const fabric::packet& kept : *list) fabric_.release(kept.token);
    list->clear();
  }
  while (keeps_any()) fabric_.release(kept_->take().token);
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

handler_id endpoint::add_handler(std::string_view name, deliver_function call, void* context) {
  check_outside_handler("endpoint::add_handler");
  const handler_id id = registry_.add(name, call, context);
  ledger_.add_handler(id);
  if (request_handlers_.size() <= id) request_handlers_.resize(id + 1u);
  return id;
}

void endpoint::remove_handler(handler_id handler) {
  check_outside_handler("endpoint::remove_handler");
  registry_.remove(handler);
  lent_.drop(handler);
  request_handlers_[handler].reset();
  if (kept_) compare_priorities();
}

void endpoint::set_priority(handler_id handler, int priority) {
  check_outside_handler("endpoint::set_priority");
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
  if (least < priority_max_ && !kept_) kept_.emplace(lanes_, fabric_.caps());
  if (least == priority_max_ && !keeps_any()) kept_.reset();
}

void endpoint::add_flushable(flushable& holder, bool in_every_round) {
  flushables_.push_back(&holder);
  if (in_every_round) in_every_round_.push_back(&holder);
}

void endpoint::remove_flushable(flushable& holder) {
  std::erase(flushables_, &holder);
  std::erase(in_every_round_, &holder);
}

// Requests

void request::reply_short(handler_id handler, std::span<const std::uint64_t> args) {
  reply("request::reply_short", handler, args, {});
}

void request::reply_medium(handler_id handler, bytes_view payload, std::span<const std::uint64_t> args) {
  reply("request::reply_medium", handler, args, payload);
}

void request::reply(std::string_view call, handler_id handler, std::span<const std::uint64_t> args,
                    bytes_view payload) {
  if (replied_) {
    throw error(call, owner_.rank(), fmt::format("second reply to one request of rank {}", source()),
                "reply at most once; to send more, use endpoint::request_short or request_medium");
  }
  owner_.check_request(call, source(), handler, args.size());
  owner_.send_parts(packet_.source, handler, args, payload);
  replied_ = true;
}

void endpoint::request_short(rank_t dest, handler_id handler, std::span<const std::uint64_t> args) {
  send_request("endpoint::request_short", dest, handler, args, {});
}

void endpoint::request_medium(rank_t dest, handler_id handler, bytes_view payload,
                              std::span<const std::uint64_t> args) {
  send_request("endpoint::request_medium", dest, handler, args, payload);
}

void endpoint::send_request(std::string_view call, rank_t dest, handler_id handler, std::span<const std::uint64_t> args,
                            bytes_view payload) {
  check_request(call, dest, handler, args.size());
  send_parts(lane_of(dest, 0), handler, args, payload);
}

void endpoint::check_request(std::string_view call, rank_t dest, handler_id handler, std::size_t args) const {
  if (dest < 0 || dest >= size_) throw_wrong_rank(call, dest);
  if (!registry_.contains(handler)) {
    throw error(call, rank_,
                fmt::format("{} is not the number of a handler (there are: {})", handler, registry_.describe()),
                "use what endpoint::add_handler returned");
  }
  if (at_depth_) throw_outside_epoch(call);
  if (args > args_max) {
    throw error(
        call, rank_, fmt::format("{} arguments are too many", args),
        fmt::format("use at most {} words of arguments, and the payload of a medium request for more", args_max));
  }
}

void endpoint::check_outside_handler(std::string_view call) const {
  if (!in_handler()) [[likely]]
    return;
  throw error(call, rank_, "called in a handler", "let the handler return first; it may only send and reply");
}

void endpoint::throw_wrong_rank(std::string_view call, rank_t dest) const {
  throw error(call, rank_,
              fmt::format("destination {} is not a rank of this {}", dest, road_ == nullptr ? "job" : "world"),
              fmt::format("use 0 to {}", size_ - 1));
}

void endpoint::throw_outside_epoch(std::string_view call) const {
  if (at_depth_) {
    throw error(call, rank_,
                fmt::format("a handler sent a message, which makes messages deeper than the depth {} that was declared",
                            depth_),
                "request a greater depth with world::request_depth, or amity::any_depth");
  }
  if (epoch_open() && !in_handler()) {
    throw error(call, rank_, "a message was sent after the end of its epoch had been asked for",
                "send before the first try_end, or from a handler");
  }
  if (in_handler() && worlds_->running != this) {
    throw error(call, rank_,
                epoch_open() ? "a handler of another world sent a message in an epoch whose body has ended here"
                             : "a handler of another world sent a message outside an epoch of this one",
                "send it while this rank is in the body of an epoch of the message's own world");
  }
  throw error(call, rank_, "a message was sent outside an epoch", "send inside world::epoch, or from a handler");
}

void endpoint::check_thread(std::string_view call) const {
  if (std::this_thread::get_id() == own_thread_) [[likely]]
    return;
  throw error(call, rank_, fmt::format("called by another thread than thread {} of the rank", thread()),
              "send through message::on(thread), or on(self) in a handler, and use no threads of your own");
}

// Sending

packet_header endpoint::header_for(handler_id handler, epoch_tag epoch) const noexcept {
  return {.handler = handler,
          .check = registry_.at(handler).check,
          .kind = packet_kind::message,
          .epoch = epoch,
          .colour = colour_,
          .args = 0};
}

// One part alone is sent from where it lies; both together are put next to each other first.
bool endpoint::try_send_parts(rank_t lane, handler_id handler, std::span<const std::uint64_t> args,
                              bytes_view payload) {
  const bytes_view whole = args.empty() ? payload : std::as_bytes(args);
  if (whole.size() > packet_bytes_max_ || !(args.empty() || payload.empty())) return false;
  packet_header header = header_for(handler, sending_epoch_);
  header.args = static_cast<std::uint8_t>(args.size());
  if (fabric_.try_send(lane, header.pack(), whole) != status::ok) return false;
  ledger_.sent(handler, lane, 1, in_epoch());
  ledger_.packet(handler, whole.size());
  return true;
}

bool endpoint::try_send(rank_t lane, handler_id handler, bytes_view payload) {
  if (!try_send_parts(lane, handler, {}, payload)) return false;
  pace();
  return true;
}

void endpoint::send_parts(rank_t lane, handler_id handler, std::span<const std::uint64_t> args, bytes_view payload) {
  if (!try_send_parts(lane, handler, args, payload)) {
    packet_header header = header_for(handler, sending_epoch_);
    header.args = static_cast<std::uint8_t>(args.size());
    ledger_.sent(handler, lane, 1, in_epoch());
    if (args.size_bytes() + payload.size() > packet_bytes_max_) {
      send_fragments(lane, header, args, payload);
    } else {
      send_in_slot(lane, header, args, payload);
    }
  }
  pace();
}

void endpoint::send_in_slot(rank_t lane, const packet_header& header, std::span<const std::uint64_t> args,
                            bytes_view payload) {
  const std::size_t bytes = args.size_bytes() + payload.size();
  outgoing out;
  open_or_wait(lane, bytes, out);
  if (!args.empty()) std::memcpy(out.data, args.data(), args.size_bytes());
  if (!payload.empty()) std::memcpy(out.data + args.size_bytes(), payload.data(), payload.size());
  commit(lane, header, out, bytes);
}

void endpoint::send_fragments(rank_t lane, packet_header header, std::span<const std::uint64_t> args,
                              bytes_view payload) {
  header.kind = packet_kind::fragment;
  const std::uint64_t message = fragmented_++;
  const std::uint64_t total = args.size_bytes() + payload.size();
  const std::size_t content_max = packet_bytes_max_ - sizeof(fragment_header);
  for (std::uint64_t offset = 0; offset < total;) {
    outgoing out;
    open_or_wait(lane, packet_bytes_max_, out);
    const fragment_header head{.message = message, .total = total, .offset = offset};
    std::memcpy(out.data, &head, sizeof head);
    std::byte* to = out.data + sizeof head;
    static_assert(args_max * sizeof(std::uint64_t) + sizeof(fragment_header) < fabric::packet_bytes_guaranteed / 2,
                  "all arguments are in the first fragment");
    const std::size_t args_bytes = offset == 0 ? args.size_bytes() : 0;
    if (args_bytes > 0) std::memcpy(to, args.data(), args_bytes);
    const std::size_t content = std::min<std::size_t>(content_max, total - offset);
    const std::size_t from = offset == 0 ? 0 : offset - args.size_bytes();
    std::memcpy(to + args_bytes, payload.data() + from, content - args_bytes);
    commit(lane, header, out, sizeof head + content);
    offset += content;
  }
}

void endpoint::send_lent(rank_t lane, handler_id handler, lent_buffer buffer) {
  buffer.handler = handler;
  buffer.epoch = sending_epoch_;
  if (!lent_.waits_for(lane)) send_some(lane, buffer);
  if (!buffer.rest.empty()) lent_.push(lane, std::move(buffer));
  if (in_handler() || ++sends_since_poll_ < sends_per_pace) return;
  take_as_sent();
}

void endpoint::send_some(rank_t lane, lent_buffer& buffer) {
  const bool whole = buffer.item_bytes <= packet_bytes_max_;
  while (!buffer.rest.empty() && (whole ? send_packet_of(lane, buffer) : send_fragment_of(lane, buffer))) {
  }
}

bool endpoint::send_packet_of(rank_t lane, lent_buffer& buffer) {
  const std::size_t bytes_max = packet_bytes_max_ - packet_bytes_max_ % buffer.item_bytes;
  const bytes_view packet = buffer.rest.first(std::min(bytes_max, buffer.rest.size()));
  if (fabric_.try_send(lane, header_for(buffer.handler, buffer.epoch).pack(), packet) != status::ok) return false;
  ledger_.sent(buffer.handler, lane, packet.size() / buffer.item_bytes, buffer.epoch != no_epoch);
  ledger_.packet(buffer.handler, packet.size());
  buffer.rest = buffer.rest.subspan(packet.size());
  return true;
}

// A part of one item that no packet can hold.
bool endpoint::send_fragment_of(rank_t lane, lent_buffer& buffer) {
  fabric::slot slot;
  if (fabric_.acquire(lane, slot) != status::ok) return false;
  const std::size_t left = buffer.rest.size() % buffer.item_bytes;
  if (left == 0) {
    buffer.fragmented = fragmented_++;
    ledger_.sent(buffer.handler, lane, 1, buffer.epoch != no_epoch);
  }
  const std::size_t offset = left == 0 ? 0 : buffer.item_bytes - left;
  const fragment_header head{.message = buffer.fragmented, .total = buffer.item_bytes, .offset = offset};
  const std::size_t content = std::min(packet_bytes_max_ - sizeof head, buffer.item_bytes - offset);
  std::memcpy(slot.data, &head, sizeof head);
  std::memcpy(slot.data + sizeof head, buffer.rest.data(), content);
  packet_header header = header_for(buffer.handler, buffer.epoch);
  header.kind = packet_kind::fragment;
  fabric_.commit(lane, header.pack(), slot, sizeof head + content);
  ledger_.packet(buffer.handler, sizeof head + content);
  buffer.rest = buffer.rest.subspan(content);
  return true;
}

bool endpoint::try_open(rank_t lane, std::size_t capacity, outgoing& out) {
  AMITY_DEBUG_ASSERT(out.data == nullptr && capacity <= packet_bytes_max_, capacity, packet_bytes_max_);
  if (fabric_.acquire(lane, out.slot) == status::ok) {
    idle_rounds_ = 0;  // a rank that waits for one credit after the other gets on, though nothing arrives
    out.data = out.slot.data;
    out.capacity = out.slot.capacity;
    return true;
  }
  if (!in_handler()) return false;
  out.spilled = std::make_unique<spilled_packet>(capacity);
  out.data = out.spilled->data();
  out.capacity = static_cast<std::uint32_t>(capacity);
  return true;
}

void endpoint::open_or_wait(rank_t lane, std::size_t capacity, outgoing& out) {
  while (!try_open(lane, capacity, out)) make_room(lane);
}

void endpoint::make_room(rank_t lane) {
  check_outside_handler("endpoint::make_room");
  // Buffers that this rank itself holds open for `lane` are credits too.
  for (flushable* const holder : flushables_) holder->close_packet(lane);
  progress_or_sleep();
}

void endpoint::close(rank_t lane, handler_id handler, outgoing& out, std::size_t bytes, std::uint64_t messages) {
  // Messages that are collected belong to the epoch that the rank is in, whichever handler happens to close the packet.
  ledger_.sent(handler, lane, messages, open_epoch_ != no_epoch);
  commit(lane, header_for(handler, open_epoch_), out, bytes);
}

void endpoint::commit(rank_t lane, const packet_header& header, outgoing& out, std::size_t bytes) {
  AMITY_DEBUG_ASSERT(bytes <= out.capacity, bytes, out.capacity);
  out.data = nullptr;
  if (out.spilled) {
    push_spill(lane, header, std::move(out.spilled), bytes);
    return;
  }
  fabric_.commit(lane, header.pack(), out.slot, bytes);
  ledger_.packet(header.handler, bytes);
}

void endpoint::push_spill(rank_t lane, const packet_header& header, std::unique_ptr<spilled_packet> packet,
                          std::size_t bytes) {
  packet->header = header;
  packet->bytes = bytes;
  spill_.push(lane, std::move(packet));
  if (spill_.bytes() <= spill_bytes_max_) return;
  throw error(
      "sending from a handler", rank_,
      fmt::format("{} bytes of messages wait for credits, more than AMITY_CORE_SPILL_BYTES_MAX={}; the last one "
                  "is of type '{}' to rank {}; waiting: {}",
                  spill_.bytes(), spill_bytes_max_, registry_.at(header.handler).name, rank_of(lane), describe_spill()),
      "send less from handlers, or raise AMITY_CORE_SPILL_BYTES_MAX");
}

std::string endpoint::describe_spill() const {
  constexpr int peers_shown = 8;
  std::string text;
  int shown = 0;
  spill_.for_each_peer([&](rank_t lane, std::size_t packets) {
    if (shown++ < peers_shown)
      text += fmt::format("{}{} packets to rank {}", text.empty() ? "" : ", ", packets, rank_of(lane));
  });
  if (shown > peers_shown) text += fmt::format(", and to {} more ranks", shown - peers_shown);
  return text.empty() ? "none" : text;
}

void endpoint::pace() {
  if (in_handler() || ++sends_since_poll_ < sends_per_pace) return;
  give_way();
}

void endpoint::give_way() {
  if (in_handler()) return;
  take_as_sent();
  while (spilled_bytes() > spill_bytes_high_water_) progress_or_sleep();
}

// As many packets as have been sent since the last time, by handlers too. A rank that took more would keep its peers
// waiting: they use up their credits meanwhile, and then have nothing to handle, because this rank does not send. One
// that took fewer would do the same with its credits.
void endpoint::take_as_sent() {
  sends_since_poll_ = 0;
  const std::uint64_t sent = ledger_.total().packets_sent;
  const auto since = static_cast<std::size_t>(sent - std::exchange(packets_sent_before_, sent));
  advance(std::clamp(since, kept_ ? packets_per_choice : 1, packets_per_progress));
}

std::size_t endpoint::spilled_bytes() const noexcept {
  if (worlds_->alone()) return spill_.bytes();
  std::size_t bytes = 0;
  worlds_->for_each([&](const rank_worlds::member& each) { bytes += each.owner->spill_.bytes(); });
  return bytes;
}

bool endpoint::flush_all() {
  if (worlds_->alone()) return flush_own();
  bool any = false;
  worlds_->for_each([&](const rank_worlds::member& each) { any |= each.owner->flush_own(); });
  return any;
}

bool endpoint::flush_own() {
  busy_rounds_ = 0;
  if (flushables_.empty()) return false;
  const no_waiting sends_never_wait(*this);
  bool any = false;
  // One that was added later may send through an earlier one.
  for (flushable* const holder : flushables_ | std::views::reverse) any |= holder->flush_all();
  return any;
}

void endpoint::send_control(rank_t lane, packet_kind kind, bytes_view payload) {
  AMITY_ASSERT(payload.size() <= control_bytes_max, payload.size());
  const packet_header header{.kind = kind, .epoch = kind == packet_kind::detector ? open_epoch_ : no_epoch};
  if (waiting_control_.empty() && fabric_.try_send(lane, header.pack(), payload) == status::ok) return;
  waiting_control waiting{.lane = lane, .header = header, .payload = {}, .bytes = payload.size()};
  if (!payload.empty()) std::memcpy(waiting.payload.data(), payload.data(), payload.size());
  waiting_control_.push_back(waiting);
}

// Arrivals

fabric::disposition endpoint::on_packet(const fabric::packet& arrived) noexcept {
  if (world_of(arrived.header) != 0) [[unlikely]]
    return hand_over(arrived);
  const packet_header header = packet_header::unpack(arrived.header);
  if (header.epoch != no_epoch && header.epoch != open_epoch_) {
    early_.push_back(arrived);
    return fabric::disposition::keep;
  }
  if (kept_ && keep_for_later(arrived, header)) return fabric::disposition::keep;
  deliver(arrived);
  return fabric::disposition::release;
}

int endpoint::priority_of(const packet_header& header) const noexcept {
  return registry_.contains(header.handler) ? registry_.at(header.handler).priority : 0;
}

bool endpoint::keep_for_later(const fabric::packet& arrived, const packet_header& header) {
  if (header.kind != packet_kind::message && header.kind != packet_kind::fragment) return false;
  const int priority = priority_of(header);
  if (priority == priority_max_ || !kept_->may_keep(arrived.source)) return false;
  kept_->keep(arrived, priority);
  return true;
}

std::size_t endpoint::poll_by_priority(std::size_t packets_max) {
  for (std::size_t handled = 0;; ++handled) {
    const std::size_t found = fabric_.poll(*this, packets_max);
    handled += found;
    // A poll that finds less than it may has found everything: nothing more urgent has arrived.
    if (found == packets_max || handled >= packets_max || !keeps_any()) return handled;
    const fabric::packet best = kept_->take();
    deliver(best);
    fabric_.release(best.token);
  }
}

fabric::disposition endpoint::hand_over(const fabric::packet& arrived) noexcept {
  const world_number number = world_of(arrived.header);
  if (const rank_worlds::member* const other = worlds_->find(number)) {
    return other->owner->on_packet(other->road->translate(arrived));
  }
  fail(std::make_exception_ptr(
      error("message arrival", rank_,
            fmt::format("rank {} sent a message in world {}, which this rank has destroyed, or never made",
                        rank_of(arrived.source), number),
            "destroy a world on all its ranks, after the last message that was sent in it has been handled")));
  return fabric::disposition::release;
}

void endpoint::deliver(const fabric::packet& arrived) noexcept {
  if (worlds_->failure) return;  // the job is lost; packets are only cleared away
  try {
    const packet_header header = packet_header::unpack(arrived.header);
    const inbound packet{.source = arrived.source, .args = header.args, .payload = arrived.payload};
    switch (header.kind) {
      case packet_kind::message:
        deliver_message(header, packet);
        return;
      case packet_kind::fragment:
        deliver_fragment(header, packet);
        return;
      case packet_kind::collective:
        collectives_.on_packet(rank_of(packet.source), packet.payload);
        return;
      case packet_kind::detector:
        control_->on_control(packet.source, packet.payload);
        return;
      case packet_kind::wake:
        return;
    }
    AMITY_ASSERT(false, static_cast<int>(header.kind), arrived.source);
  } catch (...) {
    worlds_->failure = std::current_exception();
  }
}

void endpoint::note_colour(const packet_header& header) {
  // Its sender has recorded at most twice more often than this rank, or less often by any number: colours are modulo
  // 256, and a message may be under way for many waves.
  const auto ahead = static_cast<wave_colour>(header.colour - colour_);
  if (header.epoch == no_epoch || depth_ != any_depth || ahead == 0 || ahead > 2) return;
  control_->on_newer_colour(header.colour);
}

void endpoint::deliver_message(const packet_header& header, const inbound& packet) {
  note_colour(header);
  run_handler(header, packet);
}

void endpoint::deliver_fragment(const packet_header& header, const inbound& packet) {
  note_colour(header);
  if (const auto whole = reassembly_.add(packet.source, packet.payload)) {
    run_handler(header, {.source = packet.source, .args = packet.args, .payload = whole->bytes});
  }
}

void endpoint::run_handler(const packet_header& header, const inbound& packet) {
  const registry::entry* const target = registry_.find(header.handler, header.check);
  if (target == nullptr) [[unlikely]]
    throw_unknown_handler(header, packet.source);
  std::uint64_t handled = 0;
  try {
    enter_handler(header.epoch, header.colour);
    handled = target->deliver(target->context, packet);
  } catch (...) {
    leave_handler();
    throw;
  }
  leave_handler();
  ledger_.handled(header.handler, packet.source, handled, header.epoch != no_epoch);
}

void endpoint::enter_handler(epoch_tag epoch, wave_colour colour) {
  worlds_->running = this;
  sending_epoch_ = epoch;
  if (depth_ != any_depth && epoch != no_epoch) enter_generation(colour);
}

void endpoint::enter_generation(wave_colour generation) {
  control_->on_generation(generation);
  if (generation < depth_) return;
  at_depth_ = true;
  sending_epoch_ = no_epoch;
}

void endpoint::leave_handler() noexcept {
  worlds_->running = nullptr;
  at_depth_ = false;
  sending_epoch_ = body_epoch_;
}

void endpoint::throw_unknown_handler(const packet_header& header, rank_t source) const {
  if (registry_.contains(header.handler)) {
    throw error("message arrival", rank_,
                fmt::format("rank {} sent a message for handler #{}, which is of another type there than '{}' here",
                            rank_of(source), header.handler, registry_.at(header.handler).name),
                "make the same message types in the same order on all ranks");
  }
  throw error("message arrival", rank_,
              fmt::format("rank {} sent a message for handler #{}, which does not exist here (there are: {})",
                          rank_of(source), header.handler, registry_.describe()),
              "make the same message types in the same order on all ranks");
}

// Progress

bool endpoint::progress() {
  check_outside_handler("endpoint::progress");
  if (!advance(packets_per_progress)) return false;
  // The callers send off what is collected once there is nothing else to do. A rank for which that never comes must not
  // sit on it for ever.
  const auto rounds_max = std::max<std::uint64_t>(busy_rounds_max, 4 * static_cast<std::uint64_t>(lanes_));
  if (++busy_rounds_ >= rounds_max) flush_all();
  return true;
}

bool endpoint::advance(std::size_t packets_max) {
  bool any = send_waiting();
  if (!early_ready_.empty()) any |= handle_early();
  for (flushable* const holder : in_every_round_) any |= holder->on_progress();
  any |= (kept_ ? poll_by_priority(packets_max) : fabric_.poll(*this, packets_max)) > 0;
  if (!worlds_->alone()) any |= advance_others();
  rethrow_failure();
  if (any) idle_rounds_ = 0;
  return any;
}

// What waits in other worlds of this rank must not wait for this one to end.
bool endpoint::advance_others() {
  bool any = false;
  worlds_->for_each([&](const rank_worlds::member& each) {
    if (each.owner == this) return;
    any |= each.owner->send_waiting();
    if (!each.owner->early_ready_.empty()) any |= each.owner->handle_early();
    for (flushable* const holder : each.owner->in_every_round_) any |= holder->on_progress();
    any |= each.owner->handle_kept();
  });
  return any;
}

bool endpoint::handle_kept() {
  bool any = false;
  for (; keeps_any(); any = true) {
    const fabric::packet best = kept_->take();
    deliver(best);
    fabric_.release(best.token);
  }
  return any;
}

bool endpoint::send_waiting() {
  bool any = false;
  if (!waiting_control_.empty()) {
    const auto sent = [this](const waiting_control& each) {
      return fabric_.try_send(each.lane, each.header.pack(), {each.payload.data(), each.bytes}) == status::ok;
    };
    // In order, so that no rank's control packets overtake each other.
    const auto first_left = std::ranges::find_if_not(waiting_control_, sent);
    any = first_left != waiting_control_.begin();
    waiting_control_.erase(waiting_control_.begin(), first_left);
  }
  if (!spill_.empty()) {
    any |= spill_.drain([this](rank_t dest, const spilled_packet& packet) {
      if (fabric_.try_send(dest, packet.header.pack(), {packet.data(), packet.bytes}) != status::ok) return false;
      ledger_.packet(packet.header.handler, packet.bytes);
      return true;
    }) > 0;
  }
  if (!lent_.empty()) {
    any |= lent_.drain([this](rank_t lane, lent_buffer& buffer) { send_some(lane, buffer); });
  }
  return any;
}

bool endpoint::handle_early() {
  std::vector<fabric::packet> ready;
  ready.swap(early_ready_);
  for (const fabric::packet& kept : ready) {
    if (kept_ && keep_for_later(kept, packet_header::unpack(kept.header))) continue;
    deliver(kept);
    fabric_.release(kept.token);
  }
  return !ready.empty();
}

void endpoint::progress_or_sleep() {
  if (progress() || flush_all()) return;
  sleep("a send that waits for a credit");
}

void endpoint::sleep(std::string_view where) {
  // A short wait is the common one: it never looks at the clock.
  if (++idle_rounds_ > 1 && !where.empty()) {
    const std::uint64_t now = fabric_.now_ns();
    if (idle_rounds_ == 2) idle_since_ns_ = stall_reported_ns_ = now;
    if (stall_ns_ > 0 && now - stall_reported_ns_ >= stall_ns_) {
      stall_reported_ns_ = now;
      log_warning(rank_, stall_report(where, static_cast<double>(now - idle_since_ns_) * 1e-9));
    }
  }
  fabric_.wait(wait_ns_max_);
}

void endpoint::rethrow_failure() {
  if (worlds_->failure) [[unlikely]]
    std::rethrow_exception(worlds_->failure);
}

// Collectives

void endpoint::barrier() { static_cast<void>(reduce(reduction::none, 0)); }

std::uint64_t endpoint::reduce(reduction operation, std::uint64_t value) {
  if (in_handler()) {
    throw error("collective", rank_, "a handler called a barrier or reduction, which would wait inside the handler",
                "call collectives outside handlers");
  }
  rethrow_failure();
  if (!collectives_.done()) throw job_aborted("amity: the collective before this one was left by an exception");
  flush_all();
  collectives_.start(operation, value);
  wait_until("a barrier or reduction", [this] { return collectives_.done() && control_sent(); });
  return collectives_.result();
}

// Epochs

void endpoint::open_epoch(epoch_tag tag, int depth) {
  AMITY_ASSERT(open_epoch_ == no_epoch && tag != no_epoch);
  open_epoch_ = body_epoch_ = sending_epoch_ = tag;
  depth_ = depth;
  ++epochs_opened_;
  early_ready_.swap(early_);
  for (const fabric::packet& kept : early_ready_) {
    AMITY_ASSERT(packet_header::unpack(kept.header).epoch == tag, kept.source);
  }
}

void endpoint::end_epoch_body() noexcept { body_epoch_ = sending_epoch_ = no_epoch; }

void endpoint::close_epoch() {
  // What waits in the spill now was sent by handlers of messages that belong to no epoch.
  AMITY_ASSERT(open_epoch_ != no_epoch && early_ready_.empty());
  open_epoch_ = body_epoch_ = sending_epoch_ = no_epoch;
}

std::string endpoint::stall_report(std::string_view where, double seconds) const {
  std::string text = fmt::format("no progress for {:.0f} s in {}", seconds, where);
  if (!worlds_->alone()) text += fmt::format("; world {}", road_ == nullptr ? 0 : road_->number());
  text += fmt::format("; epoch {}; messages of epochs: {} sent, {} handled here", static_cast<int>(open_epoch_),
                      ledger_.epochs().sent, ledger_.epochs().handled);
  if (!lent_.empty()) text += fmt::format("; buffers that wait to be sent: {}", lent_.count());
  text += fmt::format("; spilled: {}; held back for the next epoch: {} packets; incomplete large messages: {}",
                      describe_spill(), early_.size(), reassembly_.incomplete());
  if (const std::string trouble = fabric_.trouble(); !trouble.empty()) text += fmt::format("; network: {}", trouble);
  constexpr rank_t peers_shown = 16;
  for (std::size_t id = 0; id < registry_.capacity(); ++id) {
    const auto handler = static_cast<handler_id>(id);
    if (!registry_.contains(handler)) continue;
    text += fmt::format("\n  #{} {}: sent/handled by peer:", id, registry_.at(handler).name);
    for (rank_t peer = 0; peer < std::min(lanes_, peers_shown); ++peer) {
      const message_counts counts = ledger_.of(handler, peer);
      text += threads_ == 1 ? fmt::format(" {}", peer) : fmt::format(" {}.{}", peer / threads_, peer % threads_);
      text += fmt::format(":{}/{}", counts.sent, counts.handled);
    }
    if (lanes_ > peers_shown) text += " ...";
  }
  return text;
}

}  // namespace amity::core
