#include "amity/fabric/sim/remote_port.hpp"

#include <cstring>
#include <new>
#include <utility>

#include <fmt/format.h>

#include "amity/base/assert.hpp"
#include "amity/base/error.hpp"
#include "amity/fabric/key_bytes.hpp"
#include "amity/fabric/sim/engine.hpp"
#include "amity/fabric/sim/port.hpp"

namespace amity::fabric::sim {
namespace {

constexpr std::uint64_t key_magic = 0x2079656b206d6973;  // "sim key " as it lies in memory

struct key_fields {
  std::uint64_t magic;
  std::uint64_t number;
  std::uint64_t bytes;
};

constexpr std::size_t segment_bytes_max = std::size_t{1} << 46;  // more than a process can map

// What a packet without a payload has for its bytes: a request for a get or an atomic.
constexpr std::size_t request_bytes = 0;

trace_file::arrow arrow_of(const operation& shown) { return {.kind = "operation", .number = shown.number}; }

}  // namespace

segment remote_port::create(std::size_t bytes) {
  const auto refuse = [&](std::string_view remedy) -> error {
    return {"remote_memory::create", own_.rank(), fmt::format("a segment of {} bytes is not possible", bytes), remedy};
  };
  if (bytes == 0) throw refuse("make it at least 1 byte large");
  if (bytes > segment_bytes_max) throw refuse("make it smaller");
  std::uint64_t number = 0;
  try {
    number = job_.segments().open(own_.rank(), bytes);
  } catch (const std::bad_alloc&) {
    throw refuse("make it smaller, or simulate fewer ranks");
  }
  return {.data = job_.segments()[number].data,
          .bytes = bytes,
          .key = key_from(key_fields{.magic = key_magic, .number = number, .bytes = bytes})};
}

std::optional<segment> remote_port::attach(mutable_bytes memory) {
  const std::uint64_t number = job_.segments().attach(own_.rank(), memory);
  return segment{.data = memory.data(),
                 .bytes = memory.size(),
                 .key = key_from(key_fields{.magic = key_magic, .number = number, .bytes = memory.size()})};
}

void remote_port::destroy(const segment& own) noexcept {
  const auto fields = fields_of<key_fields>(own.key);
  AMITY_ASSERT(job_.segments().contains(fields.number) && job_.segments()[fields.number].owner == own_.rank(),
               own_.rank(), fields.number);
  job_.segments().close(fields.number);
}

remote_handle remote_port::open(rank_t owner, const segment_key& key) {
  const auto fields = fields_of<key_fields>(key);
  const segment_table& all = job_.segments();
  if (fields.magic != key_magic || !all.contains(fields.number) || all[fields.number].owner != owner ||
      all[fields.number].bytes != fields.bytes || !all[fields.number].alive) {
    throw error("remote_memory::open", own_.rank(), fmt::format("the key is none of rank {}", owner),
                "hand the key of a segment, as it is, from its owner to those who open it");
  }
  return {
      .direct = nullptr, .bytes = fields.bytes, .id = fields.number, .atomics = all[fields.number].memory.has_value()};
}

void remote_port::close(const remote_handle&) noexcept {}

// At the source

stage remote_port::start_put(const remote_handle& to, std::size_t offset, bytes_view from,
                             const events& tell) noexcept {
  return start({.segment = to.id, .offset = offset, .bytes = from.size(), .from = from.data(), .tell = tell});
}

stage remote_port::put_notify(const remote_handle& to, std::size_t offset, bytes_view from, std::uint32_t bits,
                              std::uint64_t when_free) noexcept {
  return start({.notifies = true,
                .segment = to.id,
                .offset = offset,
                .bytes = from.size(),
                .from = from.data(),
                .bits = bits,
                .tell = {.source_free = when_free}});
}

stage remote_port::start_get(const remote_handle& from, std::size_t offset, mutable_bytes to,
                             std::uint64_t when_complete) noexcept {
  return start({.what = operation::kind::get,
                .segment = from.id,
                .offset = offset,
                .bytes = to.size(),
                .to = to.data(),
                .tell = {.complete = when_complete}});
}

stage remote_port::start_atomic(const remote_handle& at, std::size_t offset, const atomic_request& what,
                                std::uint64_t* previous, std::uint64_t when_complete) noexcept {
  return start({.what = operation::kind::atomic,
                .segment = at.id,
                .offset = offset,
                .bytes = what.bytes,
                .request = what,
                .previous = previous,
                .tell = {.complete = when_complete}});
}

stage remote_port::start(operation&& wanted) noexcept {
  const port::inside here(own_);
  const segment_table::entry& target = job_.segments()[wanted.segment];
  AMITY_ASSERT(wanted.offset <= target.bytes && wanted.bytes <= target.bytes - wanted.offset, own_.rank(), target.owner,
               wanted.offset, wanted.bytes, target.bytes);
  refused_ = in_flight_ >= job_.options().credits;
  if (refused_) return stage::refused;
  ++in_flight_;
  wanted.source = own_.rank();
  const bool is_put = wanted.what == operation::kind::put;
  if (is_put && wanted.bytes <= parcel::inline_bytes_max) {
    if (wanted.bytes > 0) wanted.copy.assign(wanted.from, wanted.from + wanted.bytes);
    wanted.owns_source = true;
  }
  const bool tells_when_free = is_put && !wanted.owns_source && wanted.tell.source_free != 0;
  const stage reached = wanted.owns_source ? stage::source_free : stage::accepted;
  const rank_t owner = target.owner;
  const std::size_t bytes = wanted.what == operation::kind::get ? request_bytes : wanted.bytes;
  const operation_id id = job_.operations().open(std::move(wanted));
  const std::uint64_t begin_ns = own_.now_ns();
  own_.spend_on_network(own_.overhead_ns_);
  const std::uint64_t left_ns = own_.leave(bytes);
  const std::uint64_t arrives_ns = left_ns + travel_ns(owner);
  own_.booked_.sent += 1;
  own_.booked_.bytes_sent += bytes;
  own_.booked_.flight_ns += arrives_ns - own_.now_ns();
  show_begun(job_.operations()[id], owner, begin_ns);
  if (own_.is_of_the_dead(begin_ns)) [[unlikely]]
    return reached;
  if (tells_when_free) own_.comes_about(left_ns, operation_step{operation_step::kind::source_free, id}.number());
  job_.at(owner).comes_about(arrives_ns, operation_step{operation_step::kind::at_target, id}.number());
  return reached;
}

std::uint64_t remote_port::travel_ns(rank_t peer) noexcept {
  const sim_options& options = job_.options();
  std::uint64_t ns = own_.latency_ns(peer);
  for (const std::uint64_t delay_ns_max : {options.delay_ns_max, options.remote_delay_ns_max}) {
    if (delay_ns_max > 0) ns += job_.random().below(delay_ns_max);
  }
  return ns;
}

// When a step is due

bool remote_port::take(operation_step step, std::uint64_t due_ns, sink& receiver) noexcept {
  // The end of a job frees the memory that operations refer to.
  if (job_.aborted()) return false;
  operation& due = job_.operations()[step.id];
  switch (step.what) {
    case operation_step::kind::at_target:
      return take_at_target(step.id, due_ns, receiver);
    case operation_step::kind::source_free:
      if (!due.applied) due.copy.assign(due.from, due.from + due.bytes);
      due.owns_source = true;
      show_told(due, "free");
      return tell(due.tell.source_free, receiver);
    case operation_step::kind::complete:
      break;
  }
  const std::uint64_t context = due.tell.complete;
  if (context != 0) show_told(due, "complete");
  job_.operations().close(step.id);
  --in_flight_;
  room_again_ |= refused_;
  return context != 0 && tell(context, receiver);
}

bool remote_port::take_at_target(operation_id id, std::uint64_t due_ns, sink& receiver) noexcept {
  operation& arrived = job_.operations()[id];
  const bool alive = job_.segments()[arrived.segment].alive;
  if (alive) {
    apply_here(arrived);
  } else if (!arrived.notifies) {
    own_.blame(arrived.source);
    return false;  // a result that there is not is never told
  }
  const std::size_t bytes_back = arrived.what == operation::kind::put ? 0 : arrived.bytes;
  const std::uint64_t leaves_ns = bytes_back == 0 ? own_.now_ns() : own_.leave(bytes_back);
  job_.at(arrived.source)
      .comes_about(leaves_ns + travel_ns(arrived.source), operation_step{operation_step::kind::complete, id}.number());
  const std::uint64_t begin_ns = own_.now_ns();
  if (!arrived.notifies) {
    show_arrived(arrived, begin_ns);
    return false;
  }
  const std::uint32_t bits = arrived.bits;
  own_.receive(due_ns, own_.factor_ * own_.job_.options().handler.ns);
  own_.trace(bits, arrived.bytes, arrived.source);
  own_.begin_to_compute();
  receiver.on_notify(bits);
  own_.pass_computed_time();
  show_arrived(arrived, begin_ns);
  return true;
}

void remote_port::apply_here(operation& arrived) noexcept {
  std::byte* const place = job_.segments()[arrived.segment].data + arrived.offset;
  arrived.applied = true;
  if (arrived.what == operation::kind::atomic) {
    const std::uint64_t before = apply_atomic(arrived.request, place);
    if (arrived.previous != nullptr) *arrived.previous = before;
  } else if (arrived.bytes == 0) {
    // The addresses may be null.
  } else if (arrived.what == operation::kind::get) {
    std::memcpy(arrived.to, place, arrived.bytes);
  } else {
    std::memcpy(place, arrived.owns_source ? arrived.copy.data() : arrived.from, arrived.bytes);
  }
}

bool remote_port::tell(std::uint64_t context, sink& receiver) noexcept {
  own_.trace(0, 0, own_.rank());  // not the context, which may be an address
  own_.begin_to_compute();
  receiver.on_done(context);
  own_.pass_computed_time();
  return true;
}

void remote_port::show_begun(const operation& begun, rank_t owner, std::uint64_t begin_ns) noexcept {
  if (trace_file* const trace = job_.trace()) [[unlikely]]
    trace->leaves({own_.rank(), begin_ns, own_.now_ns()}, begun.name(), owner, begun.bytes, arrow_of(begun));
}

void remote_port::show_arrived(const operation& arrived, std::uint64_t begin_ns) noexcept {
  if (trace_file* const trace = job_.trace()) [[unlikely]]
    trace->arrives({own_.rank(), begin_ns, own_.now_ns()}, arrived.name(), arrived.source, arrived.bytes,
                   arrow_of(arrived));
}

void remote_port::show_told(const operation& of, std::string_view what) noexcept {
  if (trace_file* const trace = job_.trace()) [[unlikely]]
    trace->happened(own_.rank(), own_.now_ns(), fmt::format("{} {}", of.name(), what));
}

}  // namespace amity::fabric::sim
