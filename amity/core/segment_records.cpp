#include "amity/core/segment_records.hpp"

#include <fmt/format.h>

#include "amity/base/error.hpp"
#include "amity/core/engine.hpp"
#include "amity/core/long_receiver.hpp"
#include "amity/core/record_stream.hpp"
#include "amity/core/segment_table.hpp"

namespace amity::core {
namespace {

using fabric::stage;

record_address address_of(const remote_operation& of) {
  return {.target = of.to.segment.lane, .object = of.to.segment.number, .offset = of.to.offset};
}

}  // namespace

segment_records::segment_records(engine& on, record_stream& stream, segment_table& segments, long_receiver& longs)
    : engine_(on),
      stream_(stream),
      records_(on, stream, record_owner::memory, fabric::claim::no_epoch, *this),
      segments_(segments),
      longs_(longs) {}

fabric::remote_capabilities segment_records::caps() {
  return {
      .available = true, .atomics = true, .notify_bits = 32, .packed_bytes_max = SIZE_MAX};  // a put is packets itself
}

// At the origin

void segment_records::send(rank_t target, awaited* complete) {
  if (complete != nullptr) return stream_.flush(target, *complete);
  stream_.send(target);
}

bool segment_records::expect(remote_operation& of, mutable_bytes answer) {
  if (of.question == no_question)
    of.question = stream_.try_expect(of.to.segment.lane, answer, *of.complete).value_or(no_question);
  return of.question != no_question;
}

stage segment_records::put(remote_operation& of, awaited* complete) {
  if (complete != nullptr && stream_.full()) return stage::refused;
  if (!records_.put(address_of(of), of.from, of.moved, tracking::by_flush)) return stage::refused;
  send(of.to.segment.lane, complete);
  return stage::source_free;
}

stage segment_records::put_notify(remote_operation& of) {
  if (!records_.put_notify(address_of(of), of.from, of.moved, of.slot)) return stage::refused;
  stream_.send(of.to.segment.lane);
  return stage::source_free;
}

stage segment_records::get(remote_operation& of) {
  if (of.bytes == 0) return stage::complete;
  if (!expect(of, {of.into, of.bytes})) return stage::refused;
  if (!records_.get(address_of(of), of.bytes, of.moved, of.question)) return stage::refused;
  stream_.send(of.to.segment.lane);
  return stage::accepted;
}

stage segment_records::atomic(remote_operation& of) {
  const bool asks = of.previous != nullptr;
  if (asks ? !expect(of, {reinterpret_cast<std::byte*>(of.previous), sizeof *of.previous}) : stream_.full())
    return stage::refused;
  if (!records_.atomic(address_of(of), of.what, of.question)) return stage::refused;
  send(of.to.segment.lane, asks ? nullptr : of.complete);
  return stage::accepted;
}

// At the target

std::byte* segment_records::place_of(rank_t source, std::uint32_t object, std::uint64_t offset,
                                     std::uint64_t bytes) const {
  return segments_.place_of(source, object, offset, bytes);
}

void segment_records::on_notice(rank_t source, std::uint64_t slot) {
  if (slot >= slots_max) throw engine_.invalid_packet(source, fmt::format("slot {} of a Long", slot));
  longs_.on_notify_from(source, static_cast<std::uint32_t>(slot));
}

}  // namespace amity::core
