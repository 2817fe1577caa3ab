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

/// The arguments and the payload of a message that no packet can hold.
class parts_stream final : public outgoing_stream {
 public:
  parts_stream(bytes_view args, bytes_view payload) : args_(args), payload_(payload) {}

  std::size_t produce(mutable_bytes to) override {
    const std::size_t from_args = args_.produce(to);
    return from_args + payload_.produce(to.subspan(from_args));
  }

 private:
  memory_stream args_;
  memory_stream payload_;
};

}  // namespace

// Requests

void request::reply_short(handler_id handler, arguments args) { reply("request::reply_short", handler, args, {}); }

void request::reply_medium(handler_id handler, bytes_view payload, arguments args) {
  reply("request::reply_medium", handler, args, payload);
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

void endpoint::request_short(rank_t dest, handler_id handler, arguments args) {
  send_request("endpoint::request_short", dest, handler, args, {});
}

void endpoint::request_medium(rank_t dest, handler_id handler, bytes_view payload, arguments args) {
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

void throw_too_many_arguments(std::string_view call, rank_t rank, std::size_t args) {
  throw error(call, rank, fmt::format("{} arguments are too many", args),
              fmt::format("use at most {} words of arguments, and the payload of a medium request for more", args_max));
}

void endpoint::check_outside_handler(std::string_view call) const {
  if (!in_handler()) [[likely]]
    return;
  throw error(call, rank_, "called in a handler", "let the handler return first; it may only send and reply");
}

void endpoint::throw_wrong_rank(std::string_view call, rank_t dest) const {
  throw error(call, rank_, fmt::format("destination {} is not a rank of this {}", dest, number_ == 0 ? "job" : "world"),
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
  if (in_handler() && engine_->running().world() != this) {
    throw error(call, rank_,
                epoch_open() ? "a handler of another world sent a message in an epoch whose body has ended here"
                             : "a handler of another world sent a message outside an epoch of this one",
                "send it while this rank is in the body of an epoch of the message's own world");
  }
  throw error(call, rank_, "a message was sent outside an epoch", "send inside world::epoch, or from a handler");
}

// Sending

// One part alone is sent from where it lies; both together are put next to each other first.
bool endpoint::try_send_parts(rank_t lane, packet_header header, std::span<const std::uint64_t> args,
                              bytes_view payload) {
  const bytes_view whole = args.empty() ? payload : std::as_bytes(args);
  if (whole.size() > packet_bytes_max_ || !(args.empty() || payload.empty())) return false;
  if (fabric_.try_send(lane, header.word(), whole, claim_of_messages(header)) != status::ok) return false;
  ledger_.sent(header.handler(), lane, 1, in_epoch());
  ledger_.packet(header.handler(), whole.size());
  return true;
}

bool endpoint::try_send(rank_t lane, handler_id handler, bytes_view payload) {
  if (!try_send_parts(lane, header_for(handler, sending_epoch_), {}, payload)) return false;
  engine_->pace(*this);
  return true;
}

void endpoint::send_parts(rank_t lane, packet_header header, std::span<const std::uint64_t> args, bytes_view payload) {
  header = header.with_args(args.size());
  if (!try_send_parts(lane, header, args, payload)) [[unlikely]]
    send_later(lane, header, args, payload);
  engine_->pace(*this);
}

// Outside handlers it is counted before it waits: it carries the color that the rank has now. In a handler there is
// room for all of it before any of it leaves.
void endpoint::send_later(rank_t lane, packet_header header, std::span<const std::uint64_t> args, bytes_view payload) {
  if (payload.size() > SIZE_MAX / 2) {
    throw error("sending a message", rank_, fmt::format("a payload of {} bytes", payload.size()),
                "the size is larger than any address space; check how it was computed (a failed call may have returned "
                "-1)");
  }
  const std::size_t bytes = args.size_bytes() + payload.size();
  if (bytes <= packet_bytes_max_) return send_in_slot(lane, header, args, payload);
  if (in_handler()) check_room(lane, lent_buffer::overhead_bytes + bytes, registry_.at(header.handler()).name);
  parts_stream parts(std::as_bytes(args), payload);
  lent_buffer message = begin_stream(lane, header, parts, bytes, stream_target::whole);
  if (in_handler()) return keep_rest(lane, std::move(message));
  send_all(lane, message);
}

void endpoint::send_in_slot(rank_t lane, packet_header header, std::span<const std::uint64_t> args,
                            bytes_view payload) {
  const std::size_t bytes = args.size_bytes() + payload.size();
  const bool may_wait = !in_handler();
  if (may_wait) ledger_.sent(header.handler(), lane, 1, in_epoch());
  outgoing out;
  open_or_wait(lane, bytes, registry_.at(header.handler()).name, out, claim_of(header));
  if (!may_wait) ledger_.sent(header.handler(), lane, 1, in_epoch());
  if (!args.empty()) std::memcpy(out.data, args.data(), args.size_bytes());
  if (!payload.empty()) std::memcpy(out.data + args.size_bytes(), payload.data(), payload.size());
  commit(lane, header, out, bytes);
}

// Counts all of it before any of it leaves, because its packets carry the color that the rank has now.
void endpoint::send_lent(rank_t lane, handler_id handler, lent_buffer buffer) {
  if (buffer.rest.data() == nullptr)
    throw error("message::send_buffer", rank_, fmt::format("{} bytes at a null pointer", buffer.rest.size()),
                "pass a span of values");
  if (in_handler()) check_room(lane, lent_buffer::overhead_bytes, registry_.at(handler).name);
  buffer.header = header_for(handler, sending_epoch_);
  buffer.handlers = &registry_;
  buffer.world = number_;
  if (buffer.item_bytes > packet_bytes_max_) {
    buffer.header = buffer.header.with_kind(packet_kind::fragment);
    buffer.fragmented = fragmented_;
    fragmented_ += buffer.rest.size() / buffer.item_bytes;
  }
  ledger_.sent(handler, lane, buffer.rest.size() / buffer.item_bytes, in_epoch());
  const lent_buffer::packets all = buffer.left(packet_bytes_max_);
  ledger_.packets(handler, all.count, all.bytes);
  outbox& unsent = engine_->unsent();
  if (unsent.empty() || !unsent.holds(job_lane(lane), buffer.header)) send_some(lane, buffer);
  if (!buffer.done()) unsent.push(job_lane(lane), std::move(buffer));
  engine_->pace(*this);
}

bool endpoint::send_some(rank_t lane, lent_buffer& buffer) {
  if (buffer.send_some(engine_->transport(), job_lane(lane)) == 0) return false;
  engine_->sent();
  return true;
}

// Streams

// Counts all of the message before any of it leaves, because its packets carry the color that the rank has now, and
// sends what finds credits.
lent_buffer endpoint::begin_stream(rank_t lane, packet_header header, outgoing_stream& from, std::uint64_t bytes,
                                   stream_target target) {
  lent_buffer message;
  message.header = header.with_kind(packet_kind::fragment);
  message.world = number_;
  message.item_bytes = bytes;
  message.fragmented = fragmented_++ | (target == stream_target::pieces ? incoming_streams::mark : 0);
  message.stream = &from;
  message.stream_left = bytes;
  message.handlers = &registry_;
  const lent_buffer::packets all = message.left(packet_bytes_max_);
  ledger_.sent(header.handler(), lane, 1, in_epoch());
  ledger_.packets(header.handler(), all.count, all.bytes);
  try {
    send_some(lane, message);
  } catch (...) {
    fail(std::current_exception());  // the message has been counted as sent
    throw;
  }
  return message;
}

void endpoint::send_stream(rank_t lane, handler_id handler, outgoing_stream& from, std::uint64_t bytes,
                           stream_target target) {
  if (in_handler()) check_room(lane, lent_buffer::overhead_bytes + bytes, registry_.at(handler).name);
  lent_buffer message = begin_stream(lane, header_for(handler, sending_epoch_), from, bytes, target);
  if (in_handler()) return keep_rest(lane, std::move(message));
  if (!message.done()) wait_without_handlers(lane, std::move(message));
  engine_->pace(*this);
}

void endpoint::send_owned_stream(rank_t lane, handler_id handler, std::unique_ptr<outgoing_stream> from,
                                 std::uint64_t bytes) {
  if (in_handler()) check_room(lane, lent_buffer::overhead_bytes, registry_.at(handler).name);
  lent_buffer message = begin_stream(lane, header_for(handler, sending_epoch_), *from, bytes, stream_target::pieces);
  message.token = std::move(from);
  if (in_handler()) {
    if (!message.done()) engine_->unsent().push_newest_first(job_lane(lane), std::move(message));
    return;
  }
  send_all(lane, message);
  engine_->pace(*this);
}

// Handlers run while it waits. The message has been counted as sent: if it fails, the job cannot go on.
void endpoint::send_all(rank_t lane, lent_buffer& message) try {
  for (; !message.done(); send_some(lane, message)) make_room(lane);
} catch (...) {
  fail(std::current_exception());
  throw;
}

void endpoint::wait_without_handlers(rank_t lane, lent_buffer message) try {
  engine_->wait_without_handlers(
      *this,
      [&] {
        for (flushable* const holder : flushables_) holder->close_packet(lane);
        return send_some(lane, message);
      },
      [&] { return message.done(); },
      [&] {
        // One copy for each send that waits: handlers may send then, and the bound of their copies does not count it.
        if (!message.done()) copy_rest(message);
      });
  send_all(lane, message);
  progress();
  engine_->give_way(*this);
} catch (...) {
  // What has left in part never arrives whole.
  fail(std::current_exception());
  throw;
}

// Copies what the stream has not produced.
void endpoint::copy_rest(lent_buffer& message) const {
  const auto left = static_cast<std::size_t>(message.stream_left);
  auto storage = std::make_unique_for_overwrite<std::byte[]>(left);
  message.fill({storage.get(), left});
  message.stream_left = left;
  auto copy = std::make_unique<memory_stream>(bytes_view(storage.get(), left), std::move(storage));
  message.stream = copy.get();
  message.token = std::move(copy);
}

// Copies and queues the rest of a message that a handler has sent.
void endpoint::keep_rest(rank_t lane, lent_buffer message) try {
  if (message.done()) return;
  copy_rest(message);
  message.copied_bytes = static_cast<std::size_t>(message.stream_left);
  engine_->unsent().push_newest_first(job_lane(lane), std::move(message));
} catch (...) {
  fail(std::current_exception());
  throw;
}

// Throws if there is no room, and nothing has been done.
void endpoint::check_room(rank_t lane, std::size_t bytes, std::string_view type) {
  if (engine_->has_room(bytes)) [[likely]]
    return;
  const memory_bound& memory = engine_->bound();
  throw error("sending from a handler", rank_,
              fmt::format("{} bytes wait to be sent, and {} more, of type '{}' to rank {}, would exceed "
                          "AMITY_CORE_SPILL_BYTES_MAX={}; waiting: {}",
                          memory.bytes(), bytes, type, rank_of(lane), memory.bytes_max(), engine_->describe_unsent()),
              "send less from handlers, move large values into their sends, or raise AMITY_CORE_SPILL_BYTES_MAX");
}

bool endpoint::try_open(rank_t lane, std::size_t capacity, std::string_view type, outgoing& out, fabric::claim of) {
  AMITY_DEBUG_ASSERT(out.data == nullptr && capacity <= packet_bytes_max_, capacity, packet_bytes_max_);
  if (fabric_.acquire(lane, out.slot, of) == status::ok) {
    engine_->sent();
    out.data = out.slot.data;
    out.capacity = out.slot.capacity;
    return true;
  }
  if (!in_handler()) return false;
  check_room(lane, owned_packet::memory_for(capacity), type);
  out.owned = engine_->unsent().open_packet(capacity);
  out.data = out.owned->data();
  out.capacity = static_cast<std::uint32_t>(capacity);
  return true;
}

void endpoint::open_or_wait(rank_t lane, std::size_t capacity, std::string_view type, outgoing& out, fabric::claim of) {
  while (!try_open(lane, capacity, type, out, of)) make_room(lane);
}

void endpoint::make_room(rank_t lane) {
  check_own_call("endpoint::make_room");
  // Buffers that this rank itself holds open for `lane` are credits too.
  for (flushable* const holder : flushables_) holder->close_packet(lane);
  engine_->wait_once(*this, wait_for_credit);
}

void endpoint::close(rank_t lane, handler_id handler, outgoing& out, std::size_t bytes, std::uint64_t messages) {
  // Messages that are collected belong to the epoch that the rank is in, whichever handler happens to close the packet.
  commit(lane, header_for(handler, open_epoch_), out, bytes);
  ledger_.sent(handler, lane, messages, open_epoch_ != no_epoch);
}

void endpoint::send_collected(rank_t lane, handler_id handler, bytes_view payload, std::uint64_t messages) try {
  const packet_header header = header_for(handler, open_epoch_);
  if (fabric_.try_send(lane, header.word(), payload, claim_of_messages(header)) == status::ok) {
    ledger_.packet(handler, payload.size());
  } else {
    check_room(lane, owned_packet::memory_for(payload.size()), registry_.at(handler).name);
    outgoing waiting;
    waiting.owned = engine_->unsent().open_packet(payload.size());
    waiting.capacity = static_cast<std::uint32_t>(payload.size());
    std::memcpy(waiting.owned->data(), payload.data(), payload.size());
    commit(lane, header, waiting, payload.size());
  }
  ledger_.sent(handler, lane, messages, open_epoch_ != no_epoch);
} catch (...) {
  // What was collected is lost with its packet: the job cannot go on, whatever the handler does.
  fail(std::current_exception());
  throw;
}

void endpoint::commit(rank_t lane, packet_header header, outgoing& out, std::size_t bytes) {
  AMITY_DEBUG_ASSERT(bytes <= out.capacity, bytes, out.capacity);
  out.data = nullptr;
  ledger_.packet(header.handler(), bytes);
  if (out.owned == nullptr) [[likely]]
    return fabric_.commit(lane, header.word(), out.slot, bytes);
  engine_->unsent().push(job_lane(lane), number_, header, std::move(out.owned), bytes);
}

}  // namespace amity::core
