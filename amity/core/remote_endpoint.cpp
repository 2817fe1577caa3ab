#include "amity/core/remote_endpoint.hpp"

#include <cstdint>
#include <cstring>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "amity/base/copy_bytes.hpp"
#include "amity/base/error.hpp"

namespace amity::core {
namespace {

struct named {
  std::uint64_t round;
  segment_name name;
};

// Where the fabric has no memory of its own, peers of the node may still map it: packets reach the others.
fabric::remote_memory& memory_for(fabric::fabric& transport, packet_memory& packets) {
  if (transport.remote() != nullptr) return *transport.remote();
  if (transport.node_memory() != nullptr) return *transport.node_memory();
  return packets;
}

fabric::remote_capabilities caps_for(fabric::fabric& transport) {
  if (transport.remote() != nullptr) return transport.caps().remote;
  fabric::remote_capabilities found = packet_memory::caps();
  found.mapped = transport.node_memory() != nullptr;
  return found;
}

fabric::remote_segment handle_of(rank_t lane, const segment_name& name, fabric::fabric& transport,
                                 fabric::remote_memory& memory, packet_memory& packets) {
  if (packet_memory::has_made(name.key)) return packets.open(lane, name.key);
  if (transport.remote() != nullptr || transport.same_node(lane)) {
    const fabric::remote_segment handle = memory.open(lane, name.key);
    if (handle.bytes > 0) return handle;
  }
  return packet_memory::segment_of(lane, name.number, name.bytes);
}

}  // namespace

remote_endpoint::remote_endpoint(endpoint& owner, const settings& config)
    : owner_(owner),
      world_(owner.number()),
      packets_(owner, [this](rank_t lane, std::uint32_t bits) { arrivals_.on_notify_from(lane, bits); }),
      memory_(memory_for(owner.transport(), packets_)),
      caps_(caps_for(owner.transport())),
      choice_(config.text("AMITY_LONG_PROTOCOL"), owner.rank(), caps_, owner.transport().caps()),
      synchronous_(config.text("AMITY_LONG_PROTOCOL") == "put_sync_send"),
      operations_(owner, memory_, packets_, static_cast<std::size_t>(config.integer("AMITY_LONG_PENDING"))),
      arrivals_(owner, memory_, static_cast<std::uint32_t>(config.integer("AMITY_LONG_SLOTS"))) {
  if (owner.remote_ != nullptr) {
    throw error("remote_endpoint", owner.rank(), "this endpoint has one already", "share it");
  }
  take_name_ = owner_.add_handler("amity segment", [this](request& r) {
    named given;
    std::memcpy(&given, r.payload().data(), sizeof given);
    names_[given.round].emplace_back(r.source(), given.name);
  });
  owner_.add_flushable(*this, true);
  owner_.remote_ = this;
  owner_.engine_->attach(static_cast<remote_part&>(*this));
}

remote_endpoint::~remote_endpoint() {
  if (!abandoned_ && owner_.engine_->closed()) abandon();  // its world has outlived the job's own
  if (abandoned_) return;
  for (const auto& [id, left] : opened_) memory_.close(left);
  arrivals_.for_each_segment([this](const own_segment& left) { destroy(left); });
  owner_.engine_->memory().subtract_held(bounce_.bytes());
  owner_.remote_ = nullptr;
  owner_.engine_->detach(static_cast<remote_part&>(*this));
  owner_.remove_flushable(*this);
  if (!owner_.in_handler()) owner_.remove_handler(take_name_);
}

void remote_endpoint::abandon() noexcept {
  abandoned_ = true;
  opened_.clear();
  arrivals_.abandon();
  owner_.remote_ = nullptr;
  owner_.engine_->detach(static_cast<remote_part&>(*this));
  owner_.remove_flushable(*this);
}

// Segments

own_segment remote_endpoint::allocate(std::size_t bytes) {
  constexpr std::string_view call = "remote_endpoint::allocate";
  check_setup(call);
  check_number_free(call);
  return add(memory_.create(bytes), true);
}

own_segment remote_endpoint::attach(mutable_bytes memory) {
  constexpr std::string_view call = "remote_endpoint::attach";
  check_setup(call);
  check_number_free(call);
  if (memory.empty() || memory.size() > SIZE_MAX / 2 ||
      reinterpret_cast<std::uintptr_t>(memory.data()) % sizeof(std::uint64_t) != 0) {
    throw error(
        call, owner_.rank(), fmt::format("{} bytes at {}", memory.size(), static_cast<const void*>(memory.data())),
        fmt::format("attach at least 1 byte, and at most {}, of memory that is aligned to 8 bytes", SIZE_MAX / 2));
  }
  if (&memory_ == &packets_) return add(packets_.adopt(memory), true);
  if (const std::optional<fabric::segment> made = memory_.attach(memory)) return add(*made, false);
  return add(packets_.adopt(memory), false);
}

// Packets reach it by its number, too: from other nodes, and for atomics that the memory does not have.
own_segment remote_endpoint::add(const fabric::segment& made, bool readable) {
  const own_segment added = arrivals_.add(made, readable);
  if (!packet_memory::has_made(made.key)) {
    try {
      packets_.adopt({made.data, made.bytes}, added.name.number);
    } catch (...) {
      arrivals_.remove(added);
      memory_.destroy(made);
      throw;
    }
  }
  return added;
}

void remote_endpoint::destroy(const own_segment& own) noexcept {
  const fabric::segment gone{.data = own.data, .bytes = own.bytes, .key = own.name.key};
  if (packet_memory::has_made(own.name.key)) {
    packets_.destroy(gone);
  } else {
    memory_.destroy(gone);
  }
}

void remote_endpoint::release(const own_segment& own) {
  constexpr std::string_view call = "remote_endpoint::release";
  check_setup(call);
  check_own(call, own);
  arrivals_.remove(own);
  destroy(own);
  if (!packet_memory::has_made(own.name.key)) packets_.forget(own.name.number);
}

peer_segment remote_endpoint::open(rank_t rank, const segment_name& name) {
  constexpr std::string_view call = "remote_endpoint::open";
  check_setup(call);
  if (rank < 0 || rank >= owner_.size()) owner_.throw_wrong_rank(call, rank);
  if (name.thread >= static_cast<std::uint32_t>(owner_.threads())) {
    throw error(call, owner_.rank(), fmt::format("the segment is named as one of thread {}", name.thread),
                "hand the name of a segment, as it is, from its owner to those who open it");
  }
  if (name.world != world_) {
    throw error(call, owner_.rank(),
                fmt::format("the segment is of world {}, but this is world {}", name.world, world_),
                "open a segment in the world that it was made in");
  }
  const rank_t lane = owner_.lane_of(rank, static_cast<rank_t>(name.thread));
  const fabric::remote_segment handle = handle_of(lane, name, owner_.transport(), memory_, packets_);
  // The fabric checks its own keys in `open`, which is not called for segments that packets reach on another node.
  if (name.lane != lane && packet_memory::has_made(handle)) {
    throw error(call, owner_.rank(), fmt::format("the name is not of a segment of rank {}", rank),
                "hand the name of a segment, as it is, from its owner to those who open it");
  }
  if (!packet_memory::has_made(handle)) opened_.emplace(handle.id, handle);
  return {.lane = lane,
          .number = name.number,
          .thread = static_cast<std::uint16_t>(owner_.thread()),
          .world = world_,
          .handle = handle};
}

void remote_endpoint::close(peer_segment& opened) {
  constexpr std::string_view call = "remote_endpoint::close";
  check_setup(call);
  check_open(call, opened);
  if (!packet_memory::has_made(opened.handle)) {
    const auto mine = opened_.find(opened.handle.id);
    if (mine == opened_.end())
      throw error(call, owner_.rank(), "the segment was closed before, by a copy of this", "close each segment once");
    memory_.close(mine->second);
    opened_.erase(mine);
  }
  opened = {};
}

std::vector<peer_segment> remote_endpoint::exchange(const own_segment& own) {
  constexpr std::string_view call = "remote_endpoint::exchange";
  check_setup(call);
  check_own(call, own);
  std::vector<peer_segment> all;
  try {
    for (const segment_name& name : exchange_names(own.name))
      all.push_back(open(static_cast<rank_t>(all.size()), name));
  } catch (...) {
    for (peer_segment& each : all) close(each);
    throw;
  }
  return all;
}

std::vector<segment_name> remote_endpoint::exchange_names(const segment_name& own) {
  constexpr std::string_view call = "remote_endpoint::exchange";
  check_setup(call);
  if (owner_.epoch_open())
    throw error(call, owner_.rank(), "called inside an epoch", "exchange segments before it begins, or after its end");
  const named mine{.round = rounds_++, .name = own};
  owner_.reduce(reduction::exchange, 0);  // everybody has a remote_endpoint now
  for (rank_t rank = 0; rank < owner_.size(); ++rank) {
    owner_.send(owner_.same_threads().lane(rank), take_name_, std::as_bytes(std::span(&mine, 1)));
  }
  auto& names = names_[mine.round];
  owner_.wait_until("an exchange of segments", [&] { return names.size() == static_cast<std::size_t>(owner_.size()); });
  std::vector<segment_name> all(names.size());
  for (const auto& [rank, name] : names) all[static_cast<std::size_t>(rank)] = name;
  names_.erase(mine.round);
  return all;
}

void remote_endpoint::check_own(std::string_view call, const own_segment& own) const {
  if (arrivals_.has(own)) return;
  if (own.data != nullptr && own.name.thread != static_cast<std::uint32_t>(owner_.thread())) {
    throw error(call, owner_.rank(),
                fmt::format("thread {} uses a segment that thread {} has made", owner_.thread(), own.name.thread),
                "use a segment on the thread that has made it");
  }
  throw error(call, owner_.rank(), "the segment is none of this rank's",
              "use what remote_endpoint::allocate or attach returned, before its release");
}

// Operations

void remote_endpoint::check_open(std::string_view call, const peer_segment& opened) const {
  if (opened.lane == no_rank) [[unlikely]]
    throw error(call, owner_.rank(), "the segment is not open", "open one, or use what exchange returned");
  if (opened.world != world_) [[unlikely]] {
    throw error(
        call, owner_.rank(),
        fmt::format("the segment was opened in another world, as that of its rank {}", opened.lane / owner_.threads()),
        "open segments in each world, by a remote_endpoint of its own");
  }
  if (owner_.threads_ > 1) [[unlikely]]
    check_threads(call, opened);
}

void remote_endpoint::check_place(std::string_view call, const place& at, std::size_t bytes) const {
  check_open(call, at.segment);
  if (at.offset <= at.segment.bytes() && bytes <= at.segment.bytes() - at.offset) [[likely]]
    return;
  throw error(call, owner_.rank(),
              fmt::format("{} bytes at offset {} do not fit the segment of rank {}, which has {} bytes", bytes,
                          at.offset, owner_.rank_of(at.segment.lane), at.segment.bytes()),
              "name a place that lies in the segment, or allocate a larger one");
}

// The handle of a segment is of use to the fabric of one thread alone.
void remote_endpoint::check_threads(std::string_view call, const peer_segment& opened) const {
  check_thread(call);
  if (opened.thread == owner_.thread()) return;
  throw error(call, owner_.rank(),
              fmt::format("thread {} uses what thread {} has opened, a segment of rank {}", owner_.thread(),
                          opened.thread, owner_.rank_of(opened.lane)),
              "open segments on each thread, by a remote_endpoint of its own");
}

void remote_endpoint::check_setup(std::string_view call) const {
  check_thread(call);
  owner_.check_outside_handler(call);
}

void remote_endpoint::check_number_free(std::string_view call) const {
  if (!arrivals_.full()) return;
  throw error(call, owner_.rank(), "this rank has as many segments as it can number", "release some before");
}

void remote_endpoint::check_thread(std::string_view call) const {
  if (owner_.engine_->on_own_thread()) [[likely]]
    return;
  throw error(call, owner_.rank(), fmt::format("called by another thread than thread {} of the rank", owner_.thread()),
              "make an endpoint and a remote_endpoint on each thread that sends");
}

void remote_endpoint::check_may_wait(std::string_view call) const {
  if (!owner_.in_handler()) [[likely]]
    return;
  throw error(call, owner_.rank(), "a handler would wait", "give the call an event, and wait for it outside handlers");
}

void remote_endpoint::put(const place& to, bytes_view from, const put_events& told) {
  check_place("remote_endpoint::put", to, from.size());
  remote_operation wanted;
  wanted.plan = only_put;
  wanted.to = to;
  wanted.from = from;
  wanted.source_free = told.source_free;
  wanted.complete = told.complete;
  operations_.begin(std::move(wanted));
}

void remote_endpoint::put(const place& to, bytes_view from) {
  check_may_wait("remote_endpoint::put");
  event complete;
  put(to, from, {.complete = &complete});
  wait(complete);
}

void remote_endpoint::get(const place& from, mutable_bytes to, event& complete) {
  check_place("remote_endpoint::get", from, to.size());
  remote_operation wanted;
  wanted.plan = only_get;
  wanted.to = from;
  wanted.into = to.data();
  wanted.bytes = to.size();
  wanted.complete = &complete;
  operations_.begin(std::move(wanted));
}

void remote_endpoint::get(const place& from, mutable_bytes to) {
  check_may_wait("remote_endpoint::get");
  event complete;
  get(from, to, complete);
  wait(complete);
}

void remote_endpoint::atomic(const place& at, const fabric::atomic_request& what, std::uint64_t* previous,
                             event& complete) {
  constexpr std::string_view call = "remote_endpoint::atomic";
  check_place(call, at, what.bytes);
  if ((what.bytes != 4 && what.bytes != 8) || at.offset % what.bytes != 0) {
    throw error(call, owner_.rank(), fmt::format("a word of {} bytes at offset {}", what.bytes, at.offset),
                "use words of 4 or 8 bytes, aligned to their size");
  }
  remote_operation wanted;
  wanted.plan = only_atomic;
  wanted.to = at;
  const fabric::remote_segment& handle = at.segment.handle;
  if (handle.direct == nullptr && !(caps_.atomics && handle.atomics))
    wanted.to.segment.handle = packet_memory::segment_of(at.segment.lane, at.segment.number, at.segment.bytes());
  wanted.what = what;
  wanted.previous = previous;
  wanted.complete = &complete;
  operations_.begin(std::move(wanted));
}

std::uint64_t remote_endpoint::atomic(const place& at, const fabric::atomic_request& what) {
  check_may_wait("remote_endpoint::atomic");
  std::uint64_t previous = 0;
  event complete;
  atomic(at, what, &previous, complete);
  wait(complete);
  return previous;
}

void remote_endpoint::wait(const event& told) {
  owner_.check_outside_handler("remote_endpoint::wait");
  if (told.done()) return;
  owner_.wait_until("an operation on memory of a peer", [&] { return told.done(); });
}

// Long messages

void remote_endpoint::request_long(const place& to, handler_id handler, bytes_view payload,
                                   std::span<const std::uint64_t> args, event& source_free) {
  constexpr std::string_view call = "remote_endpoint::request_long";
  check_place(call, to, payload.size());
  owner_.check_request(call, owner_.rank_of(to.segment.lane), handler, args.size());
  send_long(to, owner_.header_for(handler, owner_.sending_epoch_), args, payload, &source_free);
  owner_.engine_->pace(owner_);
}

void remote_endpoint::request_long(const place& to, handler_id handler, bytes_view payload,
                                   std::span<const std::uint64_t> args) {
  check_may_wait("remote_endpoint::request_long");
  event source_free;
  request_long(to, handler, payload, args, source_free);
  wait(source_free);
}

void remote_endpoint::reply_long(std::string_view call, rank_t lane, handler_id handler,
                                 std::span<const std::uint64_t> args, bytes_view payload, const place& to,
                                 event* source_free) {
  check_reply_place(call, lane, to, payload.size());
  send_long(to, owner_.header_for(handler, owner_.sending_epoch_).as_reply(), args, payload, source_free);
}

void remote_endpoint::check_reply_place(std::string_view call, rank_t lane, const place& to, std::size_t bytes) const {
  check_place(call, to, bytes);
  if (owner_.rank_of(to.segment.lane) == owner_.rank_of(lane)) return;
  throw error(call, owner_.rank(),
              fmt::format("the place is on rank {}, but rank {} has sent the request", owner_.rank_of(to.segment.lane),
                          owner_.rank_of(lane)),
              "reply to a segment of the rank that has asked");
}

// The payload is in its place: what is sent from now on comes after it.
void remote_endpoint::send_landed(const place& to, packet_header header, std::span<const std::uint64_t> args,
                                  std::size_t bytes) {
  header = header.with_kind(packet_kind::envelope);
  owner_.ledger_.sent(header.handler(), to.segment.lane, 1, owner_.in_epoch());
  remote_operation wanted;
  wanted.plan = only_envelope;
  wanted.to = to;
  wanted.bytes = bytes;
  wanted.header = header;
  wanted.args.assign(args);
  operations_.begin(std::move(wanted));
}

void remote_endpoint::send_long(const place& to, packet_header header, std::span<const std::uint64_t> args,
                                bytes_view payload, event* source_free) {
  header = header.with_kind(packet_kind::envelope);
  header = header.with_args(args.size());
  const long_protocol protocol = protocol_for(to.segment, payload);
  owner_.ledger_.sent(header.handler(), to.segment.lane, 1, owner_.in_epoch());
  bool is_put = false;
  if (to.segment.handle.direct != nullptr && protocol <= long_protocol::ordered) {
    const at_once done = send_at_once(protocol, to, header, args, payload);
    if (done == at_once::all) return;
    is_put = done == at_once::put;
  }
  remote_operation wanted;
  wanted.plan = is_put ? only_envelope : steps_of(protocol);
  wanted.to = to;
  wanted.from = payload;
  wanted.bytes = payload.size();
  wanted.header = header;
  wanted.args.assign(args);
  wanted.source_free = is_put ? nullptr : source_free;
  if (protocol == long_protocol::rendezvous) wanted.holder = arrivals_.holder_of(payload);
  if (!synchronous_ || owner_.in_handler()) return operations_.begin(std::move(wanted));
  event ended;
  ended.expect();
  wanted.ended = &ended;
  operations_.begin(std::move(wanted));
  wait(ended);
}

long_protocol remote_endpoint::protocol_for(const peer_segment& to, bytes_view payload) const noexcept {
  if (packet_memory::has_made(to.handle) && &memory_ != &packets_) {
    return choice_.over_packets(payload.size());
  }
  return choice_.of(payload.size(), to.handle.direct != nullptr,
                    [&] { return arrivals_.holder_of(payload) != nullptr; });
}

// The short road of shared memory: a store and a line of the ring, or the line alone.
remote_endpoint::at_once remote_endpoint::send_at_once(long_protocol protocol, const place& to, packet_header header,
                                                       std::span<const std::uint64_t> args, bytes_view payload) {
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
  if (owner_.fabric_.try_send(to.segment.lane, header.word(), {packet.data(), bytes}, claim_of(header)) != status::ok) {
    return packed ? at_once::nothing : at_once::put;
  }
  owner_.ledger_.packet(header.handler(), bytes);
  return at_once::all;
}

// What the endpoint tells

void remote_endpoint::on_slots(rank_t lane, bytes_view packet) {
  slot_news news;
  if (packet.size() != sizeof news)
    throw owner_.invalid_packet(lane, fmt::format("{} bytes about slots", packet.size()));
  std::memcpy(&news, packet.data(), sizeof news);
  if (news.which == 0) return arrivals_.lend(lane, news.borrower);
  if (!operations_.slots().expects(lane, news)) {
    throw owner_.invalid_packet(lane,
                                fmt::format("slots {} + {:#x}, which this rank has not used", news.first, news.which));
  }
  operations_.take_back(lane, news);
}

void remote_endpoint::on_remote(rank_t lane, bytes_view packet) { packets_.on_packet(lane, packet); }

bool remote_endpoint::on_progress() try {
  // Events of whoever was left by an exception are not there any more.
  if (owner_.engine_->failure().exists()) return false;
  bool any = operations_.advance();
  any |= arrivals_.advance();
  if (!packets_.quiet()) any |= packets_.advance();
  return any;
} catch (...) {
  // As of whatever arrives: the others hear of it, and nothing more is handled.
  owner_.fail(std::current_exception());
  return false;
}

void remote_endpoint::release_unused_memory() noexcept {
  owner_.engine_->memory().subtract_held(bounce_.release_free());
}

bool remote_endpoint::quiet() const noexcept {
  return operations_.kept() == 0 && arrivals_.quiet() && bounce_.quiet() && packets_.quiet();
}

remote_endpoint::counts remote_endpoint::count() const noexcept {
  return {.payload_last = arrivals_.payload_last(),
          .head_last = arrivals_.head_last(),
          .waiting = operations_.kept(),
          .incomplete = arrivals_.slots().incomplete(),
          .slots_borrowed = operations_.slots().taken(),
          .slots_kept = arrivals_.slots().kept(),
          .notifications_ignored = arrivals_.notifications_ignored()};
}

std::string remote_endpoint::describe() const {
  const counts now = count();
  return fmt::format("\n  Longs, puts, gets and atomics that wait: {}; Longs of which one part has arrived: {}",
                     now.waiting, now.incomplete);
}

}  // namespace amity::core
