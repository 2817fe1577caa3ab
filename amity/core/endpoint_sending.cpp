/// What an endpoint sends: requests, replies, fragments, lent buffers and packets filled in place.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "amity/base/assert.hpp"
#include "amity/base/error.hpp"
#include "amity/core/endpoint.hpp"

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
  if (fabric_.try_send(lane, header.word(), whole) != status::ok) return false;
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

// It is counted before it waits: it carries the colour that the rank has now.
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
  const bool whole = buffer.item_bytes <= packet_bytes_max_;
  while (!buffer.rest.empty() && (whole ? send_packet_of(lane, buffer) : send_fragment_of(lane, buffer))) {
  }
}

bool endpoint::send_packet_of(rank_t lane, lent_buffer& buffer) {
  const std::size_t bytes_max = packet_bytes_max_ - packet_bytes_max_ % buffer.item_bytes;
  const bytes_view packet = buffer.rest.first(std::min(bytes_max, buffer.rest.size()));
  if (fabric_.try_send(lane, header_for(buffer.handler, buffer.epoch).word(), packet) != status::ok) return false;
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
  check_own_call("endpoint::make_room");
  // Buffers that this rank itself holds open for `lane` are credits too.
  for (flushable* const holder : flushables_) holder->close_packet(lane);
  progress_or_sleep();
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
  if (fabric_.try_send(lane, header.word(), payload) == status::ok) {
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
  if (spill_.bytes() + out.spilled->memory_bytes() > spill_bytes_max_) {
    throw error(
        "sending from a handler", rank_,
        fmt::format("{} bytes of messages wait for credits, and one more, of type '{}' to rank {}, would exceed "
                    "AMITY_CORE_SPILL_BYTES_MAX={}; waiting: {}",
                    spill_.bytes(), registry_.at(header.handler()).name, rank_of(lane), spill_bytes_max_,
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
