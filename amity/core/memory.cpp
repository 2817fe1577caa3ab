#include "amity/core/memory.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "amity/base/copy_bytes.hpp"
#include "amity/base/error.hpp"
#include "amity/core/endpoint.hpp"
#include "amity/core/memory_parts.hpp"

namespace amity::core {
namespace {

constexpr std::string_view remedy_for_descriptors =
    "pass the descriptor of a segment, without a change, to those who open it";

// Where the fabric has no memory of its own, peers of the node may still map it: records reach the others.
fabric::remote_memory* memory_of(fabric::fabric& transport) {
  return transport.remote() != nullptr ? transport.remote() : transport.node_memory();
}

fabric::remote_capabilities caps_of(fabric::fabric& transport) {
  if (transport.remote() != nullptr) return transport.caps().remote;
  fabric::remote_capabilities found = segment_records::caps();
  found.mapped = transport.node_memory() != nullptr;
  return found;
}

local_segment add(engine& on, segment_table& segments, segment_table::entry made, const fabric::segment& of) {
  const std::uint32_t number = segments.add(std::move(made));
  local_segment& own = segments.find(number)->own;
  own = {.data = of.data,
         .bytes = of.bytes,
         .descriptor = {.key = of.key, .number = number, .lane = on.transport().rank(), .bytes = of.bytes}};
  return own;
}

void destroy(fabric::remote_memory* below, const segment_table::entry& gone) noexcept {
  if (gone.of_fabric) below->destroy({.data = gone.own.data, .bytes = gone.own.bytes, .key = gone.own.descriptor.key});
}

}  // namespace

memory::memory(engine& on, const long_options& longs)
    : engine_(on),
      below_(memory_of(on.transport())),
      caps_(caps_of(on.transport())),
      parts_(std::make_unique<parts>(on, *this, below_, longs)) {
  engine_.attach(service::long_slots, *this);
  engine_.attach(service::records, parts_->stream);
  engine_.attach(service::answers, parts_->stream);
  engine_.attach(static_cast<flushable&>(*this));
}

memory::~memory() {
  engine_.detach(static_cast<flushable&>(*this));
  if (abandoned_) return;
  parts_->stream.release_kept();
  for (const auto& [id, left] : parts_->opened) below_->close(left);
  parts_->segments.for_each([this](const segment_table::entry& left) { destroy(below_, left); });
}

// Segments

local_segment memory::allocate(std::size_t bytes) {
  constexpr std::string_view call = "memory::allocate";
  check_setup(call);
  check_number_free(call);
  if (below_ != nullptr)
    return add(engine_, parts_->segments, {.readable = true, .of_fabric = true, .memory = std::nullopt},
               below_->create(bytes));
  const auto refuse = [&](std::string_view remedy) -> error {
    return {call, engine_.rank(), fmt::format("a segment of {} bytes is not possible", bytes), remedy};
  };
  if (bytes == 0) throw refuse("allocate at least 1 byte");
  if (bytes > SIZE_MAX / 2) throw refuse("allocate less");
  try {
    zeroed_memory made(bytes + cache_line_bytes);
    const auto begin = reinterpret_cast<std::uintptr_t>(made.data());
    auto* const data = static_cast<std::byte*>(made.data()) + (-begin & (cache_line_bytes - 1));
    return add(engine_, parts_->segments, {.readable = true, .memory = std::move(made)},
               {.data = data, .bytes = bytes, .key = {}});
  } catch (const std::bad_alloc&) {
    throw refuse("allocate less");
  }
}

local_segment memory::attach(mutable_bytes whole) {
  constexpr std::string_view call = "memory::attach";
  check_setup(call);
  check_number_free(call);
  if (whole.empty() || whole.size() > SIZE_MAX / 2 ||
      reinterpret_cast<std::uintptr_t>(whole.data()) % sizeof(std::uint64_t) != 0) {
    throw error(
        call, engine_.rank(), fmt::format("{} bytes at {}", whole.size(), static_cast<const void*>(whole.data())),
        fmt::format("attach at least 1 byte, and at most {}, of memory that is aligned to 8 bytes", SIZE_MAX / 2));
  }
  if (below_ != nullptr) {
    if (const std::optional<fabric::segment> made = below_->attach(whole))
      return add(engine_, parts_->segments, {.of_fabric = true, .memory = std::nullopt}, *made);
  }
  return add(engine_, parts_->segments, {.readable = below_ == nullptr, .memory = std::nullopt},
             {.data = whole.data(), .bytes = whole.size(), .key = {}});
}

void memory::release(const local_segment& own) {
  constexpr std::string_view call = "memory::release";
  check_setup(call);
  check_own(call, own);
  destroy(below_, *parts_->segments.find(own));
  parts_->segments.remove(own.descriptor.number);
}

void memory::check_own(std::string_view call, const local_segment& own) const {
  if (parts_->segments.find(own) != nullptr) return;
  const rank_t threads = engine_.threads(), lane = engine_.transport().rank();
  if (own.data != nullptr && own.descriptor.lane / threads == engine_.rank() && own.descriptor.lane != lane) {
    throw error(
        call, engine_.rank(),
        fmt::format("thread {} uses a segment that thread {} has made", lane % threads, own.descriptor.lane % threads),
        "use a segment on the thread that has made it");
  }
  throw error(call, engine_.rank(), "the segment does not belong to this rank, or has been released",
              "use what memory::allocate or attach returned, before its release");
}

remote_segment memory::open(const segment_descriptor& descriptor) {
  constexpr std::string_view call = "memory::open";
  check_setup(call);
  if (descriptor.lane < 0 || descriptor.lane >= engine_.transport().size() || descriptor.bytes == 0) {
    throw error(call, engine_.rank(),
                fmt::format("{} bytes of rank {} of the job", descriptor.bytes, descriptor.lane / engine_.threads()),
                remedy_for_descriptors);
  }
  const fabric::remote_handle handle = handle_of(descriptor);
  if (!segment_records::reach(handle)) parts_->opened.emplace(handle.id, handle);
  return {.lane = descriptor.lane,
          .number = descriptor.number,
          .thread = static_cast<std::uint16_t>(engine_.transport().rank() % engine_.threads()),
          .handle = handle};
}

// The fabric checks its own keys.
fabric::remote_handle memory::handle_of(const segment_descriptor& descriptor) {
  const fabric::fabric& transport = engine_.transport();
  const bool of_fabric = descriptor.key != fabric::segment_key{};
  if (of_fabric && below_ != nullptr &&
      (engine_.transport().remote() != nullptr || transport.same_node(descriptor.lane))) {
    const fabric::remote_handle handle = below_->open(descriptor.lane, descriptor.key);
    if (handle.bytes > 0) return handle;
  }
  return segment_records::handle_of(descriptor.number, descriptor.bytes);
}

void memory::close(remote_segment& opened) {
  constexpr std::string_view call = "memory::close";
  check_setup(call);
  check_open(call, opened);
  if (!segment_records::reach(opened.handle)) {
    const auto mine = parts_->opened.find(opened.handle.id);
    if (mine == parts_->opened.end())
      throw error(call, engine_.rank(), "the segment was closed before, by a copy of this", "close each segment once");
    below_->close(mine->second);
    parts_->opened.erase(mine);
  }
  opened = {};
}

// Operations

void memory::check_open(std::string_view call, const remote_segment& opened) const {
  if (opened.lane == no_rank) [[unlikely]]
    throw error(call, engine_.rank(), "the segment is not open", "open one, or use what exchange returned");
  const rank_t threads = engine_.threads();
  if (threads == 1) [[likely]]
    return;
  // The handle of a segment is of use to the fabric of one thread alone.
  check_thread(call);
  const rank_t thread = engine_.transport().rank() % threads;
  if (opened.thread == thread) return;
  throw error(call, engine_.rank(),
              fmt::format("thread {} uses what thread {} has opened, a segment of rank {}", thread, opened.thread,
                          opened.lane / threads),
              "open segments on each thread");
}

void memory::check_address(std::string_view call, const remote_address& at, std::size_t bytes) const {
  check_open(call, at.segment);
  if (at.offset <= at.segment.bytes() && bytes <= at.segment.bytes() - at.offset) [[likely]]
    return;
  throw error(call, engine_.rank(),
              fmt::format("{} bytes at offset {} are out of range: the segment of rank {} has {} bytes", bytes,
                          at.offset, at.segment.lane / engine_.threads(), at.segment.bytes()),
              "pass an offset and a size that lie in the segment, or allocate a larger one");
}

void memory::check_setup(std::string_view call) const {
  check_thread(call);
  if (!engine_.in_handler()) [[likely]]
    return;
  throw error(call, engine_.rank(), "called in a handler", "let the handler return first; it may only send and reply");
}

void memory::check_number_free(std::string_view call) const {
  if (!parts_->segments.full()) return;
  throw error(call, engine_.rank(), "this rank has as many segments as it can number", "release some before");
}

void memory::check_thread(std::string_view call) const {
  if (engine_.on_own_thread()) [[likely]]
    return;
  throw error(call, engine_.rank(),
              fmt::format("called by another thread than thread {} of the rank",
                          engine_.transport().rank() % engine_.threads()),
              "use the endpoint, and its memory, on each thread");
}

void memory::check_may_wait(std::string_view call) const {
  if (!engine_.in_handler()) [[likely]]
    return;
  throw error(call, engine_.rank(), "the call would wait, which handlers must not do",
              "give the call an event, and wait for it outside handlers");
}

void memory::put(const remote_address& to, bytes_view from, const put_events& told) {
  check_address("memory::put", to, from.size());
  if (std::byte* const there = to.segment.handle.direct; there != nullptr) {
    copy_bytes(there + to.offset, from.data(), from.size());
    return;
  }
  remote_operation wanted;
  wanted.plan = only_put;
  wanted.to = to;
  wanted.from = from;
  wanted.source_free = told.source_free;
  wanted.complete = told.complete;
  for (event* const each : {told.source_free, told.complete}) {
    if (each != nullptr) each->expect();
  }
  parts_->operations.begin(std::move(wanted));
}

void memory::put(const remote_address& to, bytes_view from) {
  check_may_wait("memory::put");
  event complete;
  put(to, from, {.complete = &complete});
  wait(complete);
}

void memory::get(const remote_address& from, mutable_bytes to, event& complete) {
  check_address("memory::get", from, to.size());
  if (const std::byte* const there = from.segment.handle.direct; there != nullptr) {
    copy_bytes(to.data(), there + from.offset, to.size());
    return;
  }
  remote_operation wanted;
  wanted.plan = only_get;
  wanted.to = from;
  wanted.into = to.data();
  wanted.bytes = to.size();
  wanted.complete = &complete;
  complete.expect();
  parts_->operations.begin(std::move(wanted));
}

void memory::get(const remote_address& from, mutable_bytes to) {
  check_may_wait("memory::get");
  event complete;
  get(from, to, complete);
  wait(complete);
}

void memory::atomic(const remote_address& at, const fabric::atomic_request& what, std::uint64_t* previous,
                    event& complete) {
  constexpr std::string_view call = "memory::atomic";
  check_address(call, at, what.bytes);
  if ((what.bytes != 4 && what.bytes != 8) || at.offset % what.bytes != 0) {
    throw error(call, engine_.rank(), fmt::format("a word of {} bytes at offset {}", what.bytes, at.offset),
                "use words of 4 or 8 bytes, aligned to their size");
  }
  const fabric::remote_handle& handle = at.segment.handle;
  if (handle.direct != nullptr) {
    const std::uint64_t before = fabric::apply_atomic(what, handle.direct + at.offset);
    if (previous != nullptr) *previous = before;
    return;
  }
  remote_operation wanted;
  wanted.plan = only_atomic;
  wanted.to = at;
  if (!(caps_.atomics && handle.atomics))
    wanted.to.segment.handle = segment_records::handle_of(at.segment.number, at.segment.bytes());
  wanted.what = what;
  wanted.previous = previous;
  wanted.complete = &complete;
  complete.expect();
  parts_->operations.begin(std::move(wanted));
}

std::uint64_t memory::atomic(const remote_address& at, const fabric::atomic_request& what) {
  check_may_wait("memory::atomic");
  std::uint64_t previous = 0;
  event complete;
  atomic(at, what, &previous, complete);
  wait(complete);
  return previous;
}

void memory::wait(const event& told) {
  check_may_wait("memory::wait");
  if (told.done()) return;
  engine_.wait_until("an operation on memory of a peer", [&] { return told.done(); });
}

// What the engine tells

long_sender& memory::longs() noexcept { return parts_->sender; }

void memory::on_envelope(endpoint& world, packet_header header, const fabric::packet& arrived) {
  parts_->receiver.on_envelope(world, header, arrived);
}

void memory::on_notify(std::uint32_t bits) noexcept { parts_->receiver.on_notify(bits); }

void memory::release_unused() noexcept { parts_->sender.release_unused(); }

fabric::disposition memory::on_packet(packet_header, const fabric::packet& arrived) {
  const rank_t lane = arrived.source;
  slot_news news;
  if (arrived.payload.size() != sizeof news)
    throw engine_.invalid_packet(lane, fmt::format("{} bytes about slots", arrived.payload.size()));
  std::memcpy(&news, arrived.payload.data(), sizeof news);
  if (news.which == 0) {
    parts_->receiver.lend(lane);
  } else if (parts_->operations.slots().expects(lane, news)) {
    parts_->operations.take_back(lane, news);
  } else {
    throw engine_.invalid_packet(lane,
                                 fmt::format("slots {} + {:#x}, which this rank has not used", news.first, news.which));
  }
  return fabric::disposition::release;
}

bool memory::on_progress() try {
  // Events of whoever was left by an exception are not there any more.
  if (engine_.failure().exists()) return false;
  bool any = parts_->operations.advance();
  any |= parts_->receiver.advance();
  any |= parts_->stream.advance();
  return any;
} catch (...) {
  // As of whatever arrives: the others hear of it, and nothing more is handled.
  engine_.failure().set(std::current_exception());
  return false;
}

bool memory::sent() const noexcept {
  return parts_->operations.kept() == 0 && parts_->receiver.quiet() && parts_->sender.quiet() && parts_->stream.sent();
}

bool memory::settle() {
  if (!sent()) return false;
  parts_->stream.flush_all();
  return parts_->stream.settled();
}

std::string memory::describe() const {
  return fmt::format(
      "\n  Longs, puts, gets and atomics that wait: {}; answers of peers that are missing: {}; Longs of "
      "which one part has arrived: {}",
      parts_->operations.kept(), parts_->stream.questions(), parts_->receiver.slots().incomplete());
}

// Collective calls

std::vector<segment_descriptor> exchange_descriptors(endpoint& in, const segment_descriptor& own) {
  constexpr std::string_view call = "exchange";
  in.check_own_call(call);
  if (in.epoch_open())
    throw error(call, in.rank(), "called inside an epoch", "exchange segments before it begins, or after its end");
  struct given {
    std::vector<segment_descriptor> all;
    rank_t arrived = 0;
  };
  const auto everybody = std::make_shared<given>();  // the handler stays if the job fails meanwhile
  everybody->all.resize(static_cast<std::size_t>(in.size()));
  const handler_id take = in.add_handler("amity segment", [everybody](request& r) {
    std::memcpy(&everybody->all[static_cast<std::size_t>(r.source())], r.payload().data(), sizeof(segment_descriptor));
    ++everybody->arrived;
  });
  in.reduce(reduction::exchange, 0);  // everybody has the handler now
  for (rank_t rank = 0; rank < in.size(); ++rank) {
    in.send(in.same_threads().lane(rank), take, std::as_bytes(std::span(&own, 1)));
  }
  in.wait_until("an exchange of segments", [&] { return everybody->arrived == in.size(); });
  in.remove_handler(take);
  return std::move(everybody->all);
}

std::vector<remote_segment> exchange(endpoint& in, const local_segment& own) {
  memory& here = in.memory();
  here.check_own("exchange", own);
  std::vector<remote_segment> all;
  try {
    for (const segment_descriptor& each : exchange_descriptors(in, own.descriptor)) all.push_back(here.open(each));
  } catch (...) {
    for (remote_segment& each : all) here.close(each);
    throw;
  }
  return all;
}

}  // namespace amity::core
