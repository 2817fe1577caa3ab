/// What an endpoint sends: requests, replies, fragments, lent buffers and packets filled in place.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "amity/base/assert.hpp"
#include "amity/base/error.hpp"
#include "amity/core/endpoint.hpp"
#include "amity/core/sub_fabric.hpp"

namespace amity::core {
namespace {

// Sends between two turns of what has arrived.
constexpr std::uint32_t sends_per_pace = 16;

}  // namespace

// Requests

void request::reply_short(handler_id handler, std::span<const std::uint64_t> args) {
  reply("request::reply_short", handler, args, {});
}

void request::reply_medium(handler_id handler, bytes_view payload, std::span<const std::uint64_t> args) {
  reply("request::reply_medium", handler, args, payload);
}

void request::reply_long(const place& to, handler_id handler, bytes_view payload, std::span<const std::uint64_t> args,
                         event& source_free) {
  constexpr std::string_view call = "request::reply_long";
  check_reply(call);
  owner_.check_request(call, source(), handler, args.size());
  owner_.remote_for(call).reply_long(call, packet_.source, handler, args, payload, to, &source_free);
  replied_ = true;
}

remote_part& endpoint::remote_for(std::string_view call) const {
  if (remote_ != nullptr) [[likely]]
    return *remote_;
  throw error(call, rank_, "this rank has no remote_endpoint", "make a remote_endpoint on all ranks");
}

void request::reply(std::string_view call, handler_id handler, std::span<const std::uint64_t> args,
                    bytes_view payload) {
  check_reply(call);
  owner_.check_request(call, source(), handler, args.size());
  const packet_header header = owner_.header_for(handler, owner_.sending_epoch_).as_reply();
  owner_.send_parts(packet_.source, header, args, payload);
  replied_ = true;
}

void request::check_reply(std::string_view call) const {
  if (packet_.reply) {
    throw error(call, owner_.rank(), fmt::format("a reply of rank {} was replied to", source()),
                "answer requests alone; to go on talking, send a request from the handler of the reply");
  }
  if (replied_) {
    throw error(call, owner_.rank(), fmt::format("second reply to one request of rank {}", source()),
                "reply at most once; to send more, use endpoint::request_short or request_medium");
  }
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
  send_parts(lane_of(dest, home_), header_for(handler, sending_epoch_), args, payload);
}

void endpoint::throw_unregistered(std::string_view call, handler_id handler) const {
  throw error(call, rank_,
              fmt::format("{} is not the number of a handler (there are: {})", handler, registry_.describe()),
              "use what endpoint::add_handler returned");
}

void endpoint::throw_too_many_arguments(std::string_view call, std::size_t args) const {
  throw error(call, rank_, fmt::format("{} arguments are too many", args),
              fmt::format("use at most {} words of arguments, and the payload of a medium request for more", args_max));
}

void endpoint::check_outside_handler(std::string_view call) const {
  if (!in_handler()) [[likely]]
    return;
  throw error(call, rank_, "called in a handler", "let the handler return first; it may only send and reply");
}

void endpoint::check_own_call(std::string_view call) const {
  if (threads_ > 1) [[unlikely]]
    check_thread(call);
  check_outside_handler(call);
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
  if (on_own_thread()) [[likely]]
    return;
  throw error(
      call, rank_, fmt::format("called by another thread than thread {} of the rank", thread()),
      "send through message::on(thread), or on(self) in a handler; leave reductions, barriers and async to thread 0; "
      "at the core, call the endpoint that team::lane has for the thread, or request::owner in a handler; and use no "
      "threads of your own");
}

// Sending

// One part alone is sent from where it lies; both together are put next to each other first.
bool endpoint::try_send_parts(rank_t lane, packet_header header, std::span<const std::uint64_t> args,
                              bytes_view payload) {
  const bytes_view whole = args.empty() ? payload : std::as_bytes(args);
  if (whole.size() > packet_bytes_max_ || !(args.empty() || payload.empty())) return false;
  if (fabric_.try_send(lane, header.word(), whole, fabric::claim::ordinary) != status::ok) return false;
  ledger_.sent(header.handler(), lane, 1, in_epoch());
  ledger_.packet(header.handler(), whole.size());
  return true;
}

bool endpoint::try_send(rank_t lane, handler_id handler, bytes_view payload) {
  if (!try_send_parts(lane, header_for(handler, sending_epoch_), {}, payload)) return false;
  pace();
  return true;
}

void endpoint::send_parts(rank_t lane, packet_header header, std::span<const std::uint64_t> args, bytes_view payload) {
  header = header.with_args(args.size());
  if (!try_send_parts(lane, header, args, payload)) [[unlikely]]
    send_later(lane, header, args, payload);
  pace();
}

// It is counted before it waits: it carries the color that the rank has now.
void endpoint::send_later(rank_t lane, packet_header header, std::span<const std::uint64_t> args,
                          bytes_view payload) try {
  if (payload.size() > SIZE_MAX / 2) {
    throw error("sending a message", rank_, fmt::format("a payload of {} bytes", payload.size()),
                "no memory has so many: look at how the size was found, maybe as the result of a call that has failed");
  }
  ledger_.sent(header.handler(), lane, 1, in_epoch());
  if (args.size_bytes() + payload.size() > packet_bytes_max_) {
    send_fragments(lane, header, args, payload);
  } else {
    send_in_slot(lane, header, args, payload);
  }
} catch (...) {
  // What was counted as sent never will be: the job cannot go on, whatever the handler does.
  if (in_handler()) fail(std::current_exception());
  throw;
}

void endpoint::send_in_slot(rank_t lane, packet_header header, std::span<const std::uint64_t> args,
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
  header = header.with_kind(packet_kind::fragment);
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
  while (buffer.stream_left > 0 && send_stream_fragment_of(lane, buffer)) {
  }
  const bool whole = buffer.item_bytes <= packet_bytes_max_;
  while (!buffer.rest.empty() && (whole ? send_packet_of(lane, buffer) : send_fragment_of(lane, buffer))) {
  }
}

bool endpoint::send_packet_of(rank_t lane, lent_buffer& buffer) {
  const std::size_t bytes_max = packet_bytes_max_ - packet_bytes_max_ % buffer.item_bytes;
  const bytes_view packet = buffer.rest.first(std::min(bytes_max, buffer.rest.size()));
  if (fabric_.try_send(lane, header_for(buffer.handler, buffer.epoch).word(), packet, fabric::claim::ordinary) !=
      status::ok)
    return false;
  ledger_.sent(buffer.handler, lane, packet.size() / buffer.item_bytes, buffer.epoch != no_epoch);
  ledger_.packet(buffer.handler, packet.size());
  buffer.rest = buffer.rest.subspan(packet.size());
  return true;
}

// A part of one item that no packet can hold.
bool endpoint::send_fragment_of(rank_t lane, lent_buffer& buffer) {
  fabric::slot slot;
  if (fabric_.acquire(lane, slot, fabric::claim::ordinary) != status::ok) return false;
  const std::size_t left = buffer.rest.size() % buffer.item_bytes;
  if (left == 0) {
    buffer.fragmented = fragmented_++;
    // The rank may get another color before it sends the other fragments; the message keeps the one that it has now.
    buffer.header = header_for(buffer.handler, buffer.epoch).with_kind(packet_kind::fragment);
    ledger_.sent(buffer.handler, lane, 1, buffer.epoch != no_epoch);
  }
  const std::size_t offset = left == 0 ? 0 : buffer.item_bytes - left;
  const fragment_header head{.message = buffer.fragmented, .total = buffer.item_bytes, .offset = offset};
  const std::size_t content = std::min(packet_bytes_max_ - sizeof head, buffer.item_bytes - offset);
  std::memcpy(slot.data, &head, sizeof head);
  std::memcpy(slot.data + sizeof head, buffer.rest.data(), content);
  fabric_.commit(lane, buffer.header.word(), slot, sizeof head + content);
  ledger_.packet(buffer.handler, sizeof head + content);
  buffer.rest = buffer.rest.subspan(content);
  return true;
}

// The next part of a message that a stream produces.
bool endpoint::send_stream_fragment_of(rank_t lane, lent_buffer& buffer) {
  fabric::slot slot;
  if (fabric_.acquire(lane, slot, fabric::claim::ordinary) != status::ok) return false;
  waiter_.progressed();
  const fragment_header head{
      .message = buffer.fragmented, .total = buffer.item_bytes, .offset = buffer.item_bytes - buffer.stream_left};
  const std::size_t content = std::min<std::size_t>(packet_bytes_max_ - sizeof head, buffer.stream_left);
  try {
    const std::size_t produced = buffer.stream->produce({slot.data + sizeof head, content});
    if (produced != content) throw_wrong_size(buffer, produced, content);
  } catch (...) {
    // The message has been counted as sent, and never will be.
    fabric_.commit(lane, packet_header({.kind = packet_kind::wake}).word(), slot, 0);
    fail(std::current_exception());
    throw;
  }
  std::memcpy(slot.data, &head, sizeof head);
  fabric_.commit(lane, buffer.header.word(), slot, sizeof head + content);
  ledger_.packet(buffer.handler, sizeof head + content);
  buffer.stream_left -= content;
  return true;
}

void endpoint::throw_wrong_size(const lent_buffer& message, std::size_t produced, std::size_t expected) const {
  throw error("sending a message", rank_,
              fmt::format("a value of type '{}' produced {} of the next {} bytes of {}",
                          registry_.at(message.handler).name, produced, expected, message.item_bytes),
              "do not change the value from another thread while it is sent");
}

// Streams

/// Takes packets while no handler may run. Packets and events that would run one wait for the next round of progress.
class endpoint::without_handlers final : private fabric::sink {
 public:
  explicit without_handlers(endpoint& root) : root_(root) {
    for_each_world([&](endpoint& each) {
      each.defer_early(deferred_);
      deferred_ |= each.keeps_any();
    });
  }
  /// Call it when handlers may run again, and make progress afterwards.
  void finish() {
    for (const std::uint64_t context : done_) root_.on_done(context);
    for (const std::uint32_t bits : notified_) root_.on_notify(bits);
  }

  /// Whether something waits for its handler. Other ranks may wait for that, or for the credits of such packets.
  bool deferred() const noexcept { return deferred_; }

  bool advance() {
    bool any = false;
    for_each_world([&](endpoint& each) { any |= each.send_waiting(); });
    any |= root_.fabric_.poll(*this, packets_max) > 0;
    root_.rethrow_failure();
    return any;
  }

 private:
  static constexpr std::size_t packets_max = 64;

  fabric::disposition on_packet(const fabric::packet& arrived) noexcept override {
    const world_number number = world_of(arrived.header);
    if (number == 0) return root_.defer_handlers(arrived, deferred_);
    const rank_worlds::member* const other = root_.worlds_->find(number);
    if (other == nullptr) return root_.on_packet(arrived);
    return other->owner->defer_handlers(other->road->translate(arrived), deferred_);
  }
  void on_done(std::uint64_t context) noexcept override {
    done_.push_back(context);
    deferred_ = true;
  }
  void on_notify(std::uint32_t bits) noexcept override {
    notified_.push_back(bits);
    deferred_ = true;
  }
  template <class Visit>
  void for_each_world(Visit&& visit) {
    if (root_.worlds_->alone()) return visit(root_);
    root_.worlds_->for_each([&](const rank_worlds::member& each) { visit(*each.owner); });
  }

  endpoint& root_;
  bool deferred_ = false;
  std::vector<std::uint64_t> done_;
  std::vector<std::uint32_t> notified_;
};

// It is counted before it waits: it carries the color that the rank has now.
lent_buffer endpoint::begin_stream(rank_t lane, handler_id handler, outgoing_stream& from, std::uint64_t bytes,
                                   stream_target target) {
  lent_buffer message;
  message.handler = handler;
  message.epoch = sending_epoch_;
  message.item_bytes = bytes;
  message.fragmented = fragmented_++ | (target == stream_target::pieces ? incoming_streams::mark : 0);
  message.header = header_for(handler, sending_epoch_).with_kind(packet_kind::fragment);
  message.stream = &from;
  message.stream_left = bytes;
  ledger_.sent(handler, lane, 1, in_epoch());
  return message;
}

void endpoint::send_stream(rank_t lane, handler_id handler, outgoing_stream& from, std::uint64_t bytes,
                           stream_target target) {
  lent_buffer message = begin_stream(lane, handler, from, bytes, target);
  send_some(lane, message);
  if (!message.done()) {
    if (in_handler()) {
      keep_rest(lane, std::move(message));
    } else {
      wait_without_handlers(lane, std::move(message));
    }
  }
  pace();
}

void endpoint::send_owned_stream(rank_t lane, handler_id handler, std::unique_ptr<outgoing_stream> from,
                                 std::uint64_t bytes) {
  lent_buffer message = begin_stream(lane, handler, *from, bytes, stream_target::pieces);
  message.token = std::move(from);
  send_some(lane, message);
  if (in_handler()) {
    if (!message.done()) lent_.push_newest_first(lane, std::move(message));
    return;
  }
  try {
    for (; !message.done(); send_some(lane, message)) make_room(lane);
  } catch (...) {
    fail(std::current_exception());
    throw;
  }
  pace();
}

// Until the message has left, or other ranks may wait for handlers of this one while there is no credit: two ranks that
// send to each other must not deadlock.
void endpoint::wait_without_handlers(rank_t lane, lent_buffer message) try {
  constexpr std::uint64_t patience_ns = 10'000'000;
  without_handlers arrivals(root());
  std::uint64_t refused_ns = 0;  // when the last credit was used up; 0: not checked yet
  while (!message.done()) {
    for (flushable* const holder : flushables_) holder->close_packet(lane);
    const bool any = arrivals.advance();
    const std::uint64_t left = message.stream_left;
    send_some(lane, message);
    if (message.stream_left < left) {
      refused_ns = 0;
      continue;
    }
    if (any || flush_all()) continue;
    if (!arrivals.deferred()) {
      sleep("a send that waits for a credit");
      continue;
    }
    const std::uint64_t now_ns = fabric_.now_ns();
    if (refused_ns == 0) refused_ns = now_ns;
    if (now_ns - refused_ns >= patience_ns) break;
    wait_in_fabric(patience_ns - (now_ns - refused_ns));
  }
  // One copy for each send that waits: handlers may send then, and the bound of their copies does not count it.
  if (!message.done()) copy_rest(message);
  arrivals.finish();
  for (; !message.done(); send_some(lane, message)) make_room(lane);
  progress();
  await_low_water();
} catch (...) {
  // What has left in part never arrives whole.
  fail(std::current_exception());
  throw;
}

// Copies what the stream has not produced.
void endpoint::copy_rest(lent_buffer& message) {
  const auto left = static_cast<std::size_t>(message.stream_left);
  auto storage = std::make_unique_for_overwrite<std::byte[]>(left);
  const std::size_t produced = message.stream->produce({storage.get(), left});
  if (produced != left) throw_wrong_size(message, produced, left);
  const bytes_view bytes(storage.get(), left);
  auto copy = std::make_unique<memory_stream>(bytes, std::move(storage));
  message.stream = copy.get();
  message.token = std::move(copy);
}

// Copies and queues the rest of a message that a handler has sent.
void endpoint::keep_rest(rank_t lane, lent_buffer message) try {
  const auto left = static_cast<std::size_t>(message.stream_left);
  const std::size_t waiting = own_waiting_bytes();
  if (left > spill_bytes_max_ || waiting > spill_bytes_max_ - left) {
    throw error(
        "sending a large message", rank_,
        fmt::format("{} bytes of messages wait for credits, and {} more bytes, of type '{}' to rank {}, would exceed "
                    "AMITY_CORE_SPILL_BYTES_MAX={}; waiting: {}",
                    waiting, left, registry_.at(message.handler).name, rank_of(lane), spill_bytes_max_,
                    describe_spill()),
        "move the value into the send, send less from handlers, or increase AMITY_CORE_SPILL_BYTES_MAX");
  }
  copy_rest(message);
  message.copied_bytes = left;
  lent_.push_newest_first(lane, std::move(message));
} catch (...) {
  fail(std::current_exception());
  throw;
}

bool endpoint::try_open(rank_t lane, std::size_t capacity, outgoing& out) {
  AMITY_DEBUG_ASSERT(out.data == nullptr && capacity <= packet_bytes_max_, capacity, packet_bytes_max_);
  if (fabric_.acquire(lane, out.slot, fabric::claim::ordinary) == status::ok) {
    waiter_.progressed();  // each credit is progress, though nothing arrives
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
  check_own_call("endpoint::make_room");
  // Buffers that this rank itself holds open for `lane` are credits too.
  for (flushable* const holder : flushables_) holder->close_packet(lane);
  wait_once(wait_for_credit);
}

void endpoint::close(rank_t lane, handler_id handler, outgoing& out, std::size_t bytes, std::uint64_t messages) try {
  // Messages that are collected belong to the epoch that the rank is in, whichever handler happens to close the packet.
  commit(lane, header_for(handler, open_epoch_), out, bytes);
  ledger_.sent(handler, lane, messages, open_epoch_ != no_epoch);
} catch (...) {
  out = {};
  lose_collected();
}

void endpoint::send_collected(rank_t lane, handler_id handler, bytes_view payload, std::uint64_t messages) try {
  const packet_header header = header_for(handler, open_epoch_);
  if (fabric_.try_send(lane, header.word(), payload, fabric::claim::ordinary) == status::ok) {
    ledger_.packet(handler, payload.size());
  } else {
    outgoing waiting;
    waiting.spilled = std::make_unique<spilled_packet>(payload.size());
    std::memcpy(waiting.spilled->data(), payload.data(), payload.size());
    push_spill(lane, header, waiting, payload.size());
  }
  ledger_.sent(handler, lane, messages, open_epoch_ != no_epoch);
} catch (...) {
  lose_collected();
}

// What was collected is lost with its packet: the job cannot go on, whatever the handler does.
void endpoint::lose_collected() {
  fail(std::current_exception());
  throw;
}

void endpoint::commit(rank_t lane, packet_header header, outgoing& out, std::size_t bytes) {
  AMITY_DEBUG_ASSERT(bytes <= out.capacity, bytes, out.capacity);
  if (out.spilled) return push_spill(lane, header, out, bytes);
  out.data = nullptr;
  fabric_.commit(lane, header.word(), out.slot, bytes);
  ledger_.packet(header.handler(), bytes);
}

// Where there is no room, it throws and has changed nothing.
void endpoint::push_spill(rank_t lane, packet_header header, outgoing& out, std::size_t bytes) {
  if (own_waiting_bytes() + out.spilled->memory_bytes() > spill_bytes_max_) {
    throw error(
        "sending from a handler", rank_,
        fmt::format("{} bytes of messages wait for credits, and one more, of type '{}' to rank {}, would exceed "
                    "AMITY_CORE_SPILL_BYTES_MAX={}; waiting: {}",
                    own_waiting_bytes(), registry_.at(header.handler()).name, rank_of(lane), spill_bytes_max_,
                    describe_spill()),
        "send less from handlers, or raise AMITY_CORE_SPILL_BYTES_MAX");
  }
  out.spilled->header = header;
  out.spilled->bytes = bytes;
  out.data = nullptr;
  spill_.push(lane, std::move(out.spilled));
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

}  // namespace amity::core
