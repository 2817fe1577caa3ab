#include "amity/core/packet_memory.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include <fmt/format.h>

#include "amity/base/assert.hpp"
#include "amity/base/error.hpp"
#include "amity/core/endpoint.hpp"
#include "amity/fabric/key_bytes.hpp"

namespace amity::core {
namespace {

using fabric::stage;

constexpr std::size_t operations_max = 64;
constexpr std::uint64_t key_magic = 0x79656b2074656b70;  // "pket key" as it lies in memory, turned round

struct key_fields {
  std::uint64_t magic;
  std::int64_t lane;
  std::uint64_t number;
  std::uint64_t bytes;
};

// Handles name their segment themselves. Those of fabrics never have the highest bit.
constexpr std::uint64_t of_packets = std::uint64_t{1} << 63;
constexpr std::uint64_t handle_of(rank_t lane, std::uint64_t number) {
  return static_cast<std::uint64_t>(lane) << 32 | number;
}
constexpr rank_t lane_of(const fabric::remote_segment& handle) {
  return static_cast<rank_t>((handle.id & ~of_packets) >> 32);
}

constexpr packet_header remote_header({.kind = packet_kind::remote});

void tell(std::uint64_t& context) noexcept {
  if (context != 0) awaited::of(std::exchange(context, 0)).reached();
}

}  // namespace

packet_memory::packet_memory(endpoint& owner, std::function<void(rank_t, std::uint32_t)> on_notify)
    : owner_(owner), fabric_(owner.transport()), on_notify_(std::move(on_notify)), records_(operations_max) {
  for (std::uint32_t i = 0; i < operations_max; ++i) free_.push_back(i);
  unsent_.reserve(operations_max);
}

fabric::remote_capabilities packet_memory::caps() {
  return {.available = true,
          .atomics = true,
          .notify_bits = 32,
          .operations_max = operations_max,
          .packed_bytes_max = SIZE_MAX};  // a put is packets itself
}

fabric::segment packet_memory::create(std::size_t bytes) {
  const auto refuse = [&](std::string_view remedy) -> error {
    return {"remote_memory::create", owner_.rank(), fmt::format("a segment of {} bytes is not possible", bytes),
            remedy};
  };
  if (bytes == 0) throw refuse("make it at least 1 byte large");
  if (bytes > SIZE_MAX / 2) throw refuse("make it smaller");
  try {
    zeroed_memory memory(bytes + cache_line_bytes);
    const auto begin = reinterpret_cast<std::uintptr_t>(memory.data());
    auto* const data = static_cast<std::byte*>(memory.data()) + (-begin & (cache_line_bytes - 1));
    return offer({.memory = std::move(memory), .data = data, .bytes = bytes});
  } catch (const std::bad_alloc&) {
    throw refuse("make it smaller");
  }
}

fabric::segment packet_memory::offer(offered&& made) {
  std::byte* const data = made.data;
  const std::size_t bytes = made.bytes;
  const std::uint32_t number = segments_.add(std::move(made));
  return {.data = data, .bytes = bytes, .key = fabric::key_from(key_fields{key_magic, owner_.lane(), number, bytes})};
}

fabric::segment packet_memory::adopt(mutable_bytes memory, std::optional<std::uint32_t> number) {
  const fabric::segment made = offer({.memory = std::nullopt, .data = memory.data(), .bytes = memory.size()});
  const std::uint64_t given = fabric::fields_of<key_fields>(made.key).number;
  AMITY_ASSERT(given == number.value_or(given), given);
  return made;
}

bool packet_memory::has_made(const fabric::segment_key& key) noexcept {
  return fabric::fields_of<key_fields>(key).magic == key_magic;
}

fabric::remote_segment packet_memory::segment_of(rank_t lane, std::uint64_t number, std::size_t bytes) noexcept {
  return {.direct = nullptr, .bytes = bytes, .id = of_packets | handle_of(lane, number)};
}

void packet_memory::destroy(const fabric::segment& own) noexcept {
  forget(static_cast<std::uint32_t>(fabric::fields_of<key_fields>(own.key).number));
}

void packet_memory::forget(std::uint32_t number) noexcept { segments_.remove(number); }

fabric::remote_segment packet_memory::open(rank_t owner, const fabric::segment_key& key) {
  const auto fields = fabric::fields_of<key_fields>(key);
  if (fields.magic != key_magic || fields.lane != owner) {
    throw error("remote_memory::open", owner_.rank(), fmt::format("the key is none of rank {}", owner_.rank_of(owner)),
                "hand the key of a segment, as it is, from its owner to those who open it");
  }
  return segment_of(owner, fields.number, fields.bytes);
}

void packet_memory::close(const fabric::remote_segment&) noexcept {}

// At the source

stage packet_memory::start_put(const fabric::remote_segment& to, std::size_t offset, bytes_view from,
                               const fabric::events& told) noexcept {
  return start(to, {.head = {.offset = offset, .total = from.size()}, .from = from.data(), .tell = told});
}

stage packet_memory::put_notify(const fabric::remote_segment& to, std::size_t offset, bytes_view from,
                                std::uint32_t bits, std::uint64_t when_free) noexcept {
  return start(to, {.head = {.notifies = true, .bits = bits, .offset = offset, .total = from.size()},
                    .from = from.data(),
                    .tell = {.source_free = when_free}});
}

stage packet_memory::start_get(const fabric::remote_segment& from, std::size_t offset, mutable_bytes to,
                               std::uint64_t when_complete) noexcept {
  if (to.empty()) return stage::complete;
  return start(from, {.head = {.what = act::get, .offset = offset, .total = to.size()},
                      .to = to.data(),
                      .tell = {.complete = when_complete}});
}

stage packet_memory::start_atomic(const fabric::remote_segment& at, std::size_t offset,
                                  const fabric::atomic_request& what, std::uint64_t* previous,
                                  std::uint64_t when_complete) noexcept {
  return start(
      at,
      {.head = {.what = act::atomic, .op = what.op, .word_bytes = what.bytes, .offset = offset, .total = what.bytes},
       .previous = previous,
       .atomic = {.operand = what.operand, .expected = what.expected},
       .tell = {.complete = when_complete}});
}

stage packet_memory::start(const fabric::remote_segment& at, record&& wanted) noexcept {
  if (free_.empty()) return stage::refused;
  const std::uint32_t number = free_.back();
  free_.pop_back();
  record& begun = records_[number] = wanted;
  begun.lane = lane_of(at);
  begun.head.segment = static_cast<std::uint32_t>(at.id);
  begun.head.record = number;
  begun.head.serial = ++serial_;
  if (!send_all(begun)) {
    unsent_.push_back(number);
    return stage::accepted;
  }
  begun.tell.source_free = 0;
  return stage::source_free;
}

// All that a put or a request is made of, as far as credits go.
bool packet_memory::send_all(record& of) noexcept {
  if (of.head.what != act::put) {
    const bool atomic = of.head.what == act::atomic;
    of.sent = send_packet(of.lane, of.head, atomic ? std::as_bytes(std::span(&of.atomic, 1)) : bytes_view{});
    return of.sent;
  }
  const std::size_t content_max = owner_.packet_bytes_max() - sizeof(parcel);
  do {
    of.head.at = of.moved;
    const std::size_t bytes = std::min<std::size_t>(content_max, of.head.total - of.moved);
    if (!send_packet(of.lane, of.head, {of.from + of.moved, bytes})) return false;
    of.moved += bytes;
  } while (of.moved < of.head.total);
  of.sent = true;
  return true;
}

bool packet_memory::send_packet(rank_t lane, const parcel& head, bytes_view content) noexcept {
  fabric::slot slot;
  const packet_header header = head.what == act::data ? remote_header.as_reply() : remote_header;
  if (fabric_.acquire(lane, slot, claim_of(header)) != status::ok) return false;
  std::memcpy(slot.data, &head, sizeof head);
  if (!content.empty()) std::memcpy(slot.data + sizeof head, content.data(), content.size());
  fabric_.commit(lane, header.word(), slot, sizeof head + content.size());
  return true;
}

bool packet_memory::advance() {
  bool any = false;
  for (std::size_t i = 0; i < unsent_.size();) {
    record& of = records_[unsent_[i]];
    const std::size_t before = of.moved;
    const bool all = send_all(of);
    any |= all || of.moved != before;
    if (!all) {
      ++i;
      continue;
    }
    unsent_[i] = unsent_.back();
    unsent_.pop_back();
    tell(of.tell.source_free);
  }
  for (std::size_t i = 0; i < answers_.size();) {
    const std::uint64_t before = answers_[i].head.at;
    const bool all = send_answer(answers_[i]);
    any |= all || answers_[i].head.at != before;
    if (!all) {
      ++i;
      continue;
    }
    answers_[i] = answers_.back();
    answers_.pop_back();
  }
  return any;
}

packet_memory::record& packet_memory::record_of(rank_t lane, const parcel& head) {
  if (head.record < records_.size()) {
    record& found = records_[head.record];
    if (head.serial != 0 && found.head.serial == head.serial && found.lane == lane) return found;
  }
  throw owner_.invalid_packet(
      lane, fmt::format("an answer to operation {}, which this rank has not begun there", head.serial));
}

void packet_memory::take_done(rank_t lane, const parcel& head) {
  record& of = record_of(lane, head);
  if (of.previous != nullptr) *of.previous = head.at;
  finish(of);
}

void packet_memory::finish(record& of) noexcept {
  std::uint64_t complete = of.tell.complete;
  of.head.serial = 0;
  free_.push_back(of.head.record);
  tell(complete);
}

// At the target

void packet_memory::on_packet(rank_t lane, bytes_view packet) {
  parcel head;
  if (packet.size() < sizeof head) {
    throw owner_.invalid_packet(lane, fmt::format("an operation on memory in {} bytes", packet.size()));
  }
  std::memcpy(&head, packet.data(), sizeof head);
  const bytes_view content = packet.subspan(sizeof head);
  switch (head.what) {
    case act::put:
      return take_put(lane, head, content);
    case act::get:
      head.what = act::data;
      memory_of(lane, head, head.total);
      answers_.push_back({head, lane});
      return;
    case act::atomic: {
      operands given;
      if (content.size() != sizeof given || head.op > fabric::atomic_op::bit_xor ||
          (head.word_bytes != 4 && head.word_bytes != 8) || head.offset % head.word_bytes != 0) {
        throw owner_.invalid_packet(lane, fmt::format("atomic operation {} on {} bytes at offset {}",
                                                      static_cast<int>(head.op), head.word_bytes, head.offset));
      }
      std::memcpy(&given, content.data(), sizeof given);
      const fabric::atomic_request what{
          .op = head.op, .bytes = head.word_bytes, .operand = given.operand, .expected = given.expected};
      return acknowledge(lane, head, fabric::apply_atomic(what, memory_of(lane, head, head.word_bytes)));
    }
    case act::data: {
      record& of = record_of(lane, head);
      if (of.head.what != act::get || head.at > of.head.total || content.size() > of.head.total - head.at ||
          content.size() > of.head.total - of.moved) {
        throw owner_.invalid_packet(
            lane, fmt::format("{} bytes at {} of a get of {}", content.size(), head.at, of.head.total));
      }
      std::memcpy(of.to + head.at, content.data(), content.size());
      of.moved += content.size();
      if (of.moved == of.head.total) finish(of);
      return;
    }
    case act::done:
      return take_done(lane, head);
  }
  throw owner_.invalid_packet(lane, fmt::format("operation {} on memory", static_cast<int>(head.what)));
}

void packet_memory::take_put(rank_t lane, const parcel& head, bytes_view content) {
  std::byte* const to = memory_of(lane, head, head.total);
  if (head.at > head.total || content.size() > head.total - head.at) {
    throw owner_.invalid_packet(lane,
                                fmt::format("{} bytes at {} of a put of {}", content.size(), head.at, head.total));
  }
  if (!content.empty()) std::memcpy(to + head.at, content.data(), content.size());
  if (content.size() < head.total) {
    // A peer's operations have different serial numbers, and so many are not under way at once.
    const auto key = handle_of(lane, head.serial);
    std::uint64_t& there = partial_[key];
    there += content.size();
    if (there < head.total) return;
    partial_.erase(key);
  }
  acknowledge(lane, head);
  if (head.notifies) on_notify_(lane, head.bits);
}

void packet_memory::acknowledge(rank_t lane, const parcel& of, std::uint64_t before) {
  parcel head = of;
  head.what = act::done;
  head.at = before;
  owner_.send_control(lane, packet_kind::remote, std::as_bytes(std::span(&head, 1)));
}

bool packet_memory::send_answer(answer& of) {
  const std::size_t content_max = owner_.packet_bytes_max() - sizeof(parcel);
  const std::byte* const from = memory_of(of.lane, of.head, of.head.total);
  while (of.head.at < of.head.total) {
    const std::size_t bytes = std::min<std::size_t>(content_max, of.head.total - of.head.at);
    if (!send_packet(of.lane, of.head, {from + of.head.at, bytes})) return false;
    of.head.at += bytes;
  }
  return true;
}

std::byte* packet_memory::memory_of(rank_t lane, const parcel& head, std::size_t bytes) {
  const offered* const at = segments_.find(static_cast<std::uint32_t>(head.segment));
  const auto refuse = [&](std::string_view why, std::string_view remedy) -> error {
    return {"an operation on memory", owner_.rank(),
            fmt::format("rank {} uses {} bytes at offset {} of segment {} of this rank, which {}", owner_.rank_of(lane),
                        bytes, head.offset, head.segment, why),
            remedy};
  };
  if (at == nullptr) {
    throw refuse("is not there any more, or never was",
                 "release a segment after a barrier behind the last operation on it");
  }
  if (head.offset > at->bytes || bytes > at->bytes - head.offset) {
    throw refuse(fmt::format("has {} bytes", at->bytes), "hand the name of a segment, as it is, to those who open it");
  }
  return at->data + head.offset;
}

}  // namespace amity::core
