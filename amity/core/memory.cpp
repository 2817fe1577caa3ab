#include "amity/core/memory.hpp"

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
#include "amity/core/memory_service.hpp"

namespace amity::core {
namespace {

constexpr std::string_view remedy_for_descriptors =
    "pass the descriptor of a segment, without a change, to those who open it";

void check_setup(const memory_service& own, std::string_view call) {
  own.check_thread(call);
  own.check_outside_handler(call);
}

void check_number_free(const memory_service& own, std::string_view call) {
  if (!own.segments.full()) return;
  throw error(call, own.on.rank(), "this rank has as many segments as it can number", "release some before");
}

local_segment add(memory_service& to, segment_table::entry made, const fabric::segment& of) {
  const std::uint32_t number = to.segments.add(std::move(made));
  local_segment& own = to.segments.find(number)->own;
  own = {.data = of.data,
         .bytes = of.bytes,
         .descriptor = {.key = of.key, .number = number, .lane = to.on.transport().rank(), .bytes = of.bytes}};
  return own;
}

// The fabric checks its own keys.
fabric::remote_handle handle_of(memory_service& own, const segment_descriptor& descriptor) {
  fabric::fabric& transport = own.on.transport();
  const bool of_fabric = descriptor.key != fabric::segment_key{};
  const fabric::remote_capabilities& can = transport.remote_to(descriptor.lane);
  if (of_fabric && can.available) {
    fabric::remote_handle handle = own.below->open(descriptor.lane, descriptor.key);
    handle.atomics &= can.atomics;
    if (handle.bytes > 0) return handle;
  }
  return segment_records::handle_of(descriptor.number, descriptor.bytes);
}

// Records in place of the fabric's memory, where they end sooner.
void choose_path(const memory_service& own, remote_segment& to, std::size_t bytes) {
  if (bytes > 0 && bytes <= own.on.transport().remote_to(to.lane).woken_bytes_max)
    to.handle = segment_records::handle_of(to.number, to.bytes());
}

// A loop of operations gives arrivals their turn, as a loop of sends does.
void begin(memory_service& own, remote_operation&& wanted) {
  own.operations.begin(std::move(wanted));
  own.on.pace(own.on.job_world());
}

/// `source_free` and `complete` may be null.
void begin_put(memory_service& own, const remote_address& to, bytes_view from, awaited* source_free,
               awaited* complete) {
  remote_operation wanted;
  wanted.plan = only_put;
  wanted.to = to;
  choose_path(own, wanted.to.segment, from.size());
  wanted.from = from;
  wanted.source_free = source_free;
  wanted.complete = complete;
  begin(own, std::move(wanted));
}

void begin_get(memory_service& own, const remote_address& from, mutable_bytes to, awaited& complete) {
  if (const std::byte* const there = from.segment.handle.direct; there != nullptr) {
    copy_bytes(to.data(), there + from.offset, to.size());
    return complete.reached();
  }
  remote_operation wanted;
  wanted.plan = only_get;
  wanted.to = from;
  choose_path(own, wanted.to.segment, to.size());
  wanted.into = to.data();
  wanted.bytes = to.size();
  wanted.complete = &complete;
  begin(own, std::move(wanted));
}

}  // namespace

// Segments

local_segment memory::allocate(std::size_t bytes) {
  constexpr std::string_view call = "memory::allocate";
  check_setup(service_, call);
  check_number_free(service_, call);
  if (service_.below != nullptr)
    return add(service_, {.readable = true, .of_fabric = true, .memory = std::nullopt}, service_.below->create(bytes));
  const auto refuse = [&](std::string_view remedy) -> error {
    return {call, service_.on.rank(), fmt::format("a segment of {} bytes is not possible", bytes), remedy};
  };
  if (bytes == 0) throw refuse("allocate at least 1 byte");
  if (bytes > SIZE_MAX / 2) throw refuse("allocate less");
  try {
    zeroed_memory made(bytes + cache_line_bytes);
    const auto begin = reinterpret_cast<std::uintptr_t>(made.data());
    auto* const data = static_cast<std::byte*>(made.data()) + (-begin & (cache_line_bytes - 1));
    return add(service_, {.readable = true, .memory = std::move(made)}, {.data = data, .bytes = bytes, .key = {}});
  } catch (const std::bad_alloc&) {
    throw refuse("allocate less");
  }
}

local_segment memory::attach(mutable_bytes whole) {
  constexpr std::string_view call = "memory::attach";
  check_setup(service_, call);
  check_number_free(service_, call);
  if (whole.empty() || whole.size() > SIZE_MAX / 2 ||
      reinterpret_cast<std::uintptr_t>(whole.data()) % sizeof(std::uint64_t) != 0) {
    throw error(
        call, service_.on.rank(), fmt::format("{} bytes at {}", whole.size(), static_cast<const void*>(whole.data())),
        fmt::format("attach at least 1 byte, and at most {}, of memory that is aligned to 8 bytes", SIZE_MAX / 2));
  }
  if (service_.below != nullptr) {
    if (const std::optional<fabric::segment> made = service_.below->attach(whole))
      return add(service_, {.of_fabric = true, .memory = std::nullopt}, *made);
  }
  return add(service_, {.readable = service_.below == nullptr, .memory = std::nullopt},
             {.data = whole.data(), .bytes = whole.size(), .key = {}});
}

void memory::release(const local_segment& own) {
  constexpr std::string_view call = "memory::release";
  check_setup(service_, call);
  service_.check_own(call, own);
  if (service_.segments.find(own)->of_fabric)
    service_.below->destroy({.data = own.data, .bytes = own.bytes, .key = own.descriptor.key});
  service_.segments.remove(own.descriptor.number);
}

remote_segment memory::open(const segment_descriptor& descriptor) {
  constexpr std::string_view call = "memory::open";
  check_setup(service_, call);
  if (descriptor.lane < 0 || descriptor.lane >= service_.on.transport().size() || descriptor.bytes == 0) {
    throw error(
        call, service_.on.rank(),
        fmt::format("{} bytes of rank {} of the job", descriptor.bytes, descriptor.lane / service_.on.threads()),
        remedy_for_descriptors);
  }
  const fabric::remote_handle handle = handle_of(service_, descriptor);
  if (!segment_records::reach(handle)) service_.handles.emplace(handle.id, handle);
  return {.lane = descriptor.lane,
          .number = descriptor.number,
          .thread = static_cast<std::uint16_t>(service_.on.transport().rank() % service_.on.threads()),
          .handle = handle};
}

void memory::close(remote_segment& opened) {
  constexpr std::string_view call = "memory::close";
  check_setup(service_, call);
  service_.check_open(call, opened);
  if (!segment_records::reach(opened.handle)) {
    const auto mine = service_.handles.find(opened.handle.id);
    if (mine == service_.handles.end())
      throw error(call, service_.on.rank(), "the segment was closed before, by a copy of this",
                  "close each segment once");
    service_.below->close(mine->second);
    service_.handles.erase(mine);
  }
  opened = {};
}

// Operations

void memory::put(const remote_address& to, bytes_view from, const put_events& told) {
  service_.check_address("memory::put", to, from.size());
  if (std::byte* const there = to.segment.handle.direct; there != nullptr) {
    copy_bytes(there + to.offset, from.data(), from.size());
    return;
  }
  for (event* const each : {told.source_free, told.complete}) {
    if (each != nullptr) each->expect();
  }
  begin_put(service_, to, from, told.source_free, told.complete);
}

void memory::put(const remote_address& to, bytes_view from) {
  service_.check_may_wait("memory::put");
  event complete;
  put(to, from, {.complete = &complete});
  wait(complete);
}

void memory::get(const remote_address& from, mutable_bytes to, event& complete) {
  service_.check_address("memory::get", from, to.size());
  complete.expect();
  begin_get(service_, from, to, complete);
}

void memory::get(const remote_address& from, mutable_bytes to) {
  service_.check_may_wait("memory::get");
  event complete;
  get(from, to, complete);
  wait(complete);
}

void memory::atomic(const remote_address& at, const fabric::atomic_request& what, std::uint64_t* previous,
                    event& complete) {
  constexpr std::string_view call = "memory::atomic";
  service_.check_address(call, at, what.bytes);
  if ((what.bytes != 4 && what.bytes != 8) || at.offset % what.bytes != 0) {
    throw error(call, service_.on.rank(), fmt::format("a word of {} bytes at offset {}", what.bytes, at.offset),
                "use words of 4 or 8 bytes, aligned to their size");
  }
  if (what.op > fabric::atomic_op::bit_xor) {
    throw error(call, service_.on.rank(), fmt::format("{} is not an atomic_op", static_cast<int>(what.op)),
                "pass an enumerator, fetch to bit_xor");
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
  if (!handle.atomics) wanted.to.segment.handle = segment_records::handle_of(at.segment.number, at.segment.bytes());
  wanted.what = what;
  wanted.previous = previous;
  wanted.complete = &complete;
  complete.expect();
  begin(service_, std::move(wanted));
}

std::uint64_t memory::atomic(const remote_address& at, const fabric::atomic_request& what) {
  service_.check_may_wait("memory::atomic");
  std::uint64_t previous = 0;
  event complete;
  atomic(at, what, &previous, complete);
  wait(complete);
  return previous;
}

void memory::wait(const event& told) {
  service_.check_thread("memory::wait");
  service_.check_may_wait("memory::wait");
  if (told.done()) return;
  service_.on.wait_until(
      service_.on.job_world(), wait_for_operation, [&] { return told.done(); }, [] { return false; });
}

event& memory::implicit() noexcept { return service_.implicit; }

void flush(endpoint& own) {
  memory_service* const used = own.own_engine().served().memory_if_used();
  if (used != nullptr && !used->settle()) own.wait_until(wait_for_puts, [=] { return used->settle(); });
}

void put(endpoint& own, const remote_address& to, bytes_view from, awaited& complete) {
  memory_service& service = own.own_engine().served().memory();
  service.check_address("core::put", to, from.size());
  if (std::byte* const there = to.segment.handle.direct; there != nullptr) {
    copy_bytes(there + to.offset, from.data(), from.size());
    return complete.reached();
  }
  begin_put(service, to, from, nullptr, &complete);
}

void get(endpoint& own, const remote_address& from, mutable_bytes to, awaited& complete) {
  memory_service& service = own.own_engine().served().memory();
  service.check_address("core::get", from, to.size());
  begin_get(service, from, to, complete);
}

bool has_place(endpoint& own) { return own.own_engine().served().memory().operations.has_place(); }

void choose_long_protocol(endpoint& own, std::string_view protocol) {
  own.own_engine().served().memory().sender.choose(protocol);
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
  const auto gathered = std::make_shared<given>();  // the handler stays if the job fails meanwhile
  gathered->all.resize(static_cast<std::size_t>(in.size()));
  const handler_id take = in.add_handler("amity segment", [gathered](request& r) {
    std::memcpy(&gathered->all[static_cast<std::size_t>(r.source())], r.payload().data(), sizeof(segment_descriptor));
    ++gathered->arrived;
  });
  in.reduce(reduction::exchange, 0);  // all ranks have the handler now
  for (rank_t rank = 0; rank < in.size(); ++rank) {
    in.send(in.same_threads().lane(rank), take, std::as_bytes(std::span(&own, 1)));
  }
  in.wait_until("an exchange of segments", [&] { return gathered->arrived == in.size(); });
  in.remove_handler(take);
  return std::move(gathered->all);
}

std::vector<remote_segment> exchange(endpoint& in, const local_segment& own) {
  in.own_engine().served().memory().check_own("exchange", own);
  memory& here = in.memory();
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
