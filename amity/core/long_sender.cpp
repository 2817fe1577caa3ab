#include "amity/core/long_sender.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "amity/base/copy_bytes.hpp"
#include "amity/base/error.hpp"
#include "amity/core/endpoint.hpp"
#include "amity/core/memory_service.hpp"
#include "amity/core/prepared.hpp"

namespace amity::core {
namespace {

// Where the fabric has no memory, records are what a put is made of.
fabric::remote_capabilities usable(const fabric::remote_capabilities& of_fabric) {
  return of_fabric.available ? of_fabric : segment_records::caps();
}

long_choice choice_on_node(std::string_view protocol, const engine& on) {
  const fabric::fabric& transport = on.transport();
  return {protocol, on.rank(), usable(transport.remote_to(transport.rank())), transport.caps()};
}

long_choice choice_across(std::string_view protocol, const engine& on) {
  return {protocol, on.rank(), usable(on.transport().caps().remote), on.transport().caps()};
}

}  // namespace

long_sender::long_sender(engine& on, memory_service& own, const long_options& options)
    : engine_(on),
      service_(own),
      on_node_(choice_on_node(options.protocol, on)),
      across_(choice_across(options.protocol, on)),
      synchronous_(options.protocol == "put_sync_send") {}

void long_sender::choose(std::string_view protocol) {
  const long_choice on_node = choice_on_node(protocol, engine_);
  across_ = choice_across(protocol, engine_);
  on_node_ = on_node;
  synchronous_ = protocol == "put_sync_send";
}

// The lane in the world of the thread that owns the segment.
rank_t long_sender::lane_for(std::string_view call, const endpoint& world, const remote_address& to,
                             std::size_t bytes) const {
  service_.check_address(call, to, bytes);
  const rank_t lane = world.lane_in_world(to.segment.lane);
  if (lane != no_rank) [[likely]]
    return lane;
  throw error(call, world.rank(),
              fmt::format("the segment is of rank {} of the job, which is not in this world",
                          to.segment.lane / world.threads()),
              "send the message in a world of both ranks, or put without a message");
}

void long_sender::request(std::string_view call, endpoint& world, const remote_address& to, handler_id handler,
                          bytes_view payload, std::span<const std::uint64_t> args, event& source_free) {
  const rank_t lane = lane_for(call, world, to, payload.size());
  send(world, lane, to, world.header_for_request(call, lane, handler, args.size()), args, payload, &source_free);
  engine_.pace(world);
}

void long_sender::reply(std::string_view call, endpoint& world, rank_t source, const remote_address& to,
                        handler_id handler, bytes_view payload, std::span<const std::uint64_t> args,
                        event& source_free) {
  const rank_t lane = lane_for(call, world, to, payload.size());
  check_reply_place(call, world, source, lane);
  send(world, lane, to, world.header_for_request(call, lane, handler, args.size()).as_reply(), args, payload,
       &source_free);
}

prepared_long long_sender::prepare(std::string_view call, endpoint& world, const remote_address& to,
                                   core::request* answers, rank_t source, std::size_t bytes_min, std::size_t bytes_max,
                                   std::size_t args) {
  const rank_t lane = lane_for(call, world, to, bytes_min);
  if (answers != nullptr) check_reply_place(call, world, source, lane);
  return {call, world, lane, to, answers, bytes_min, bytes_max, args};
}

void long_sender::check_reply_place(std::string_view call, const endpoint& world, rank_t source, rank_t lane) const {
  if (world.rank_of(lane) == world.rank_of(source)) return;
  throw error(call, world.rank(),
              fmt::format("the place is on rank {}, but rank {} has sent the request", world.rank_of(lane),
                          world.rank_of(source)),
              "reply to a segment of the rank that has sent the request");
}

void long_sender::send_landed(endpoint& world, rank_t lane, const remote_address& to, packet_header header,
                              std::span<const std::uint64_t> args, std::size_t bytes) {
  header = header.with_kind(packet_kind::envelope);
  world.own_counts().sent(header.handler(), lane, 1, world.in_epoch());
  remote_operation wanted;
  wanted.plan = only_envelope;
  wanted.to = to;
  wanted.world = &world;
  wanted.bytes = bytes;
  wanted.header = header;
  wanted.args.assign(args);
  service_.operations.begin(std::move(wanted));
}

void long_sender::send(endpoint& world, rank_t lane, const remote_address& to, packet_header header,
                       std::span<const std::uint64_t> args, bytes_view payload, event* source_free) {
  header = header.with_kind(packet_kind::envelope).with_args(args.size());
  const long_protocol protocol = to.segment.handle.direct != nullptr && on_node_.packs(payload.size())
                                     ? long_protocol::packed
                                     : protocol_for(to.segment, payload);
  world.own_counts().sent(header.handler(), lane, 1, world.in_epoch());
  bool is_put = false;
  if (to.segment.handle.direct != nullptr && protocol <= long_protocol::ordered) {
    const at_once done = send_at_once(world, protocol, to, header, args, payload);
    if (done == at_once::all) return;
    is_put = done == at_once::put;
  }
  remote_operation wanted;
  wanted.plan = is_put ? only_envelope : steps_of(protocol);
  wanted.to = to;
  wanted.world = &world;
  wanted.from = payload;
  wanted.bytes = payload.size();
  wanted.header = header;
  wanted.args.assign(args);
  if (!is_put && source_free != nullptr) {
    source_free->expect();
    wanted.source_free = source_free;
  }
  if (protocol == long_protocol::rendezvous) wanted.holder = service_.segments.holder_of(payload);
  if (!synchronous_ || engine_.running().exists()) return service_.operations.begin(std::move(wanted));
  event ended;
  ended.expect();
  wanted.ended = &ended;
  service_.operations.begin(std::move(wanted));
  service_.face.wait(ended);
}

long_protocol long_sender::protocol_for(const remote_segment& to, bytes_view payload) const noexcept {
  const auto is_offered = [&] { return service_.segments.holder_of(payload) != nullptr; };
  if (to.handle.direct != nullptr) return on_node_.of(payload.size(), true, is_offered);
  const fabric::fabric& transport = engine_.transport();
  const long_choice& choice = transport.same_node(to.lane) ? on_node_ : across_;
  if (segment_records::reach(to.handle) && transport.remote_to(to.lane).available)
    return choice.over_packets(payload.size());
  return choice.of(payload.size(), false, is_offered);
}

// The short way of shared memory: a store and a line of the ring, or the line alone.
long_sender::at_once long_sender::send_at_once(endpoint& world, long_protocol protocol, const remote_address& to,
                                               packet_header header, std::span<const std::uint64_t> args,
                                               bytes_view payload) {
  std::byte* const there = to.segment.handle.direct;
  const bool packed = protocol == long_protocol::packed;
  constexpr std::size_t room = 256;
  const std::size_t bytes = sizeof(envelope) + args.size_bytes() + (packed ? payload.size() : 0);
  if (bytes > room) return at_once::nothing;
  const envelope about{.offset = to.offset, .bytes = payload.size(), .segment = to.segment.number, .slot = no_slot};
  std::array<std::byte, room> packet;
  std::byte* end = packet.data();
  std::memcpy(end, &about, sizeof about);
  end += sizeof about;
  if (!args.empty()) std::memcpy(end, args.data(), args.size_bytes());
  end += args.size_bytes();
  copy_bytes(packed ? end : there + to.offset, payload.data(), payload.size());
  if (engine_.transport().try_send(to.segment.lane, with_world(header.word(), world.number()), {packet.data(), bytes},
                                   claim_of(header)) != status::ok)
    return packed ? at_once::nothing : at_once::put;
  world.own_counts().packet(header.handler(), bytes);
  return at_once::all;
}

bounce_buffer& long_sender::take_bounce(std::string_view call, std::size_t bytes_min) {
  memory_bound& bound = engine_.bound();
  const std::size_t more = bounce_.growth(bytes_min);
  if (more > 0 && engine_.running().exists() && !engine_.has_room(more)) {
    throw error(call, engine_.rank(),
                fmt::format("there are {} bytes for prepared messages and for others that wait, and {} more in a "
                            "handler would exceed AMITY_CORE_SPILL_BYTES_MAX={}",
                            bound.bytes(), more, bound.bytes_max()),
                "prepare less in handlers, or raise AMITY_CORE_SPILL_BYTES_MAX");
  }
  const std::size_t before = bounce_.bytes();
  bounce_buffer& taken = bounce_.take(bytes_min);
  bound.add_held(bounce_.bytes() - before);
  return taken;
}

void long_sender::release_unused() noexcept { engine_.bound().subtract_held(bounce_.release_free()); }

// Calls of an endpoint and of a request

void endpoint::request_long(const remote_address& to, handler_id handler, bytes_view payload, arguments args,
                            event& source_free) {
  own_engine().served().memory().sender.request("endpoint::request_long", *this, to, handler, payload, args,
                                                source_free);
}

void endpoint::request_long(const remote_address& to, handler_id handler, bytes_view payload, arguments args) {
  constexpr std::string_view call = "endpoint::request_long";
  if (in_handler()) {
    throw error(call, rank_, "the call would wait, which handlers must not do",
                "give the call an event, and wait for it outside handlers");
  }
  event source_free;
  request_long(to, handler, payload, args, source_free);
  memory().wait(source_free);
}

prepared_long endpoint::prepare_long(const remote_address& to, std::size_t bytes_min, std::size_t bytes_max,
                                     std::size_t args) {
  return own_engine().served().memory().sender.prepare("endpoint::prepare_long", *this, to, nullptr, no_rank, bytes_min,
                                                       bytes_max, args);
}

void request::reply_long(const remote_address& to, handler_id handler, bytes_view payload, arguments args,
                         event& source_free) {
  constexpr std::string_view call = "request::reply_long";
  check_reply(call);
  owner_.own_engine().served().memory().sender.reply(call, owner_, packet_.source, to, handler, payload, args,
                                                     source_free);
  replied_ = true;
}

prepared_long request::prepare_reply_long(const remote_address& to, std::size_t bytes_min, std::size_t bytes_max,
                                          std::size_t args) {
  constexpr std::string_view call = "request::prepare_reply_long";
  check_reply(call);
  return owner_.own_engine().served().memory().sender.prepare(call, owner_, to, this, packet_.source, bytes_min,
                                                              bytes_max, args);
}

// Prepared messages

prepared_long::prepared_long(std::string_view call, endpoint& world, rank_t lane, const remote_address& to,
                             request* answers, std::size_t bytes_min, std::size_t bytes_max, std::size_t args)
    : prepared(world, lane, answers, args), to_(to) {
  const std::size_t room = to.segment.bytes() - to.offset;
  check_sizes(call, owner_, bytes_min, bytes_max, args, room);
  std::byte* const there = to.segment.handle.direct;
  if (there != nullptr) {
    payload_ = {there + to.offset, std::min(bytes_max, room)};
    return;
  }
  bounce_ = &owner_.own_engine().served().memory().sender.take_bounce(call, bytes_min);
  payload_ = {bounce_->data.get(), std::min({bytes_max, room, bounce_->bytes})};
}

void prepared_long::commit(handler_id handler, std::size_t bytes, arguments words) {
  const std::span<const std::uint64_t> args = words;
  const packet_header header = check_commit("prepared_long::commit", handler, bytes, args.size());
  const bytes_view payload = payload_.first(bytes);
  end();
  long_sender& sender = owner_.own_engine().served().memory().sender;
  if (bounce_ == nullptr) {
    sender.send_landed(owner_, lane_, to_, header, args, bytes);
  } else {
    bounce_->open = false;
    sender.send(owner_, lane_, to_, header, args, payload, &bounce_->source_free);
  }
  owner_.own_engine().pace(owner_);
}

prepared_long::~prepared_long() {
  if (open_ && bounce_ != nullptr) bounce_->open = false;
}

}  // namespace amity::core
