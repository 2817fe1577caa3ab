#include "amity/core/segment_records.hpp"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "amity/base/error.hpp"
#include "amity/core/engine.hpp"
#include "amity/core/long_receiver.hpp"
#include "amity/core/record_stream.hpp"
#include "amity/core/segment_table.hpp"

namespace amity::core {
namespace {

using fabric::stage;

/// Content of a get.
struct wanted {
  std::uint64_t bytes;
  std::uint64_t at;  ///< in the result
};

/// Content of an atomic.
struct operands {
  std::uint64_t operand;
  std::uint64_t expected;
};

/// Content of the last record of a put for a Long message: before the data.
struct notice {
  std::uint64_t slot;
};

record record_of(const remote_operation& of) {
  return {.owner = record_owner::memory, .object = of.to.segment.number, .at = of.to.offset};
}

}  // namespace

segment_records::segment_records(engine& on, record_stream& stream, segment_table& segments, long_receiver& longs)
    : engine_(on), stream_(stream), segments_(segments), longs_(longs) {
  stream.attach(record_owner::memory, *this);
}

fabric::remote_capabilities segment_records::caps() {
  return {
      .available = true, .atomics = true, .notify_bits = 32, .packed_bytes_max = SIZE_MAX};  // a put is packets itself
}

// At the origin

bool segment_records::append_put(remote_operation& of, act last) {
  const std::size_t room = stream_.content_bytes_max();
  const std::size_t notice_bytes = last == act::put_notify ? sizeof(notice) : 0;
  do {
    const std::size_t left = of.from.size() - of.moved;
    const bool is_last = left <= room - notice_bytes;
    const std::size_t head = is_last ? notice_bytes : 0, bytes = std::min(left, room - head);
    record piece = record_of(of);
    piece.act = static_cast<std::uint8_t>(is_last ? last : act::put);
    piece.bytes = static_cast<std::uint32_t>(head + bytes);
    piece.at += of.moved;
    std::byte* const content = stream_.try_append(of.to.segment.lane, piece);
    if (content == nullptr) return false;
    if (head > 0) {
      const notice told{.slot = of.slot};
      std::memcpy(content, &told, sizeof told);
    }
    if (bytes > 0) std::memcpy(content + head, of.from.data() + of.moved, bytes);
    of.moved += bytes;
    if (is_last) return true;
    stream_.send(of.to.segment.lane);
  } while (true);
}

// The question whether the data is there travels in the packet of the data, if it fits.
stage segment_records::end_of_put(remote_operation& of, awaited* complete) {
  if (complete != nullptr) {
    stream_.flush(of.to.segment.lane, *complete);
  } else {
    stream_.send(of.to.segment.lane);
  }
  return stage::source_free;
}

stage segment_records::put(remote_operation& of, awaited* complete) {
  if (complete != nullptr && stream_.full()) return stage::refused;
  if (!append_put(of, act::put)) return stage::refused;
  return end_of_put(of, complete);
}

stage segment_records::put_notify(remote_operation& of) {
  return append_put(of, act::put_notify) ? end_of_put(of, nullptr) : stage::refused;
}

stage segment_records::get(remote_operation& of) {
  if (of.bytes == 0) return stage::complete;
  const rank_t target = of.to.segment.lane;
  if (of.question == no_question) {
    const auto number = stream_.try_expect(target, {of.into, of.bytes}, *of.complete);
    if (!number) return stage::refused;
    of.question = *number;
  }
  for (; of.moved < of.bytes; of.moved += std::min(of.bytes - of.moved, stream_.content_bytes_max())) {
    record piece = record_of(of);
    const wanted part{.bytes = std::min(of.bytes - of.moved, stream_.content_bytes_max()), .at = of.moved};
    piece.act = static_cast<std::uint8_t>(act::get);
    piece.bytes = sizeof part;
    piece.question = of.question;
    piece.at += of.moved;
    std::byte* const content = stream_.try_append(target, piece);
    if (content == nullptr) return stage::refused;
    std::memcpy(content, &part, sizeof part);
  }
  stream_.send(target);
  return stage::accepted;
}

stage segment_records::atomic(remote_operation& of) {
  const rank_t target = of.to.segment.lane;
  if (of.previous == nullptr && stream_.full()) return stage::refused;
  if (of.previous != nullptr && of.question == no_question) {
    const auto number =
        stream_.try_expect(target, {reinterpret_cast<std::byte*>(of.previous), sizeof *of.previous}, *of.complete);
    if (!number) return stage::refused;
    of.question = *number;
  }
  record wanted = record_of(of);
  wanted.act = static_cast<std::uint8_t>(act::atomic);
  wanted.op = static_cast<std::uint8_t>(of.what.op);
  wanted.word_bytes = of.what.bytes;
  wanted.bytes = sizeof(operands);
  wanted.question = of.question;
  std::byte* const content = stream_.try_append(target, wanted);
  if (content == nullptr) return stage::refused;
  const operands given{.operand = of.what.operand, .expected = of.what.expected};
  std::memcpy(content, &given, sizeof given);
  if (of.previous == nullptr) {
    stream_.flush(target, *of.complete);
  } else {
    stream_.send(target);
  }
  return stage::accepted;
}

// At the target

bool segment_records::execute(rank_t source, const record& what, bytes_view content, answers& to) {
  const auto take = [&](auto& head) {
    if (content.size() < sizeof head)
      throw engine_.invalid_packet(source, fmt::format("operation {} of {} bytes", what.act, content.size()));
    std::memcpy(&head, content.data(), sizeof head);
    content = content.subspan(sizeof head);
  };
  switch (static_cast<act>(what.act)) {
    case act::put: {
      std::byte* const there = segments_.place_of(source, what.object, what.at, content.size());
      if (!content.empty()) std::memcpy(there, content.data(), content.size());
      return true;
    }
    case act::put_notify: {
      notice told;
      take(told);
      std::byte* const there = segments_.place_of(source, what.object, what.at, content.size());
      if (!content.empty()) std::memcpy(there, content.data(), content.size());
      if (told.slot >= slots_max) throw engine_.invalid_packet(source, fmt::format("slot {} of a Long", told.slot));
      longs_.on_notify_from(source, static_cast<std::uint32_t>(told.slot));
      return true;
    }
    case act::get: {
      wanted part;
      take(part);
      const std::byte* const there = segments_.place_of(source, what.object, what.at, part.bytes);
      if (part.bytes > stream_.content_bytes_max())
        throw engine_.invalid_packet(source, fmt::format("a get of {} bytes in one answer", part.bytes));
      std::byte* const answer = to.try_write(what.question, part.at, part.bytes);
      if (answer == nullptr) return false;
      std::memcpy(answer, there, part.bytes);
      return true;
    }
    case act::atomic: {
      operands given;
      take(given);
      if (what.op > static_cast<std::uint8_t>(fabric::atomic_op::bit_xor) ||
          (what.word_bytes != 4 && what.word_bytes != 8) || what.at % what.word_bytes != 0) {
        throw engine_.invalid_packet(
            source, fmt::format("atomic operation {} on {} bytes at offset {}", what.op, what.word_bytes, what.at));
      }
      std::byte* const there = segments_.place_of(source, what.object, what.at, what.word_bytes);
      std::byte* answer = nullptr;
      if (what.question != no_question) {
        answer = to.try_write(what.question, 0, sizeof(std::uint64_t));
        if (answer == nullptr) return false;
      }
      const std::uint64_t before = fabric::apply_atomic({.op = static_cast<fabric::atomic_op>(what.op),
                                                         .bytes = what.word_bytes,
                                                         .operand = given.operand,
                                                         .expected = given.expected},
                                                        there);
      if (answer != nullptr) std::memcpy(answer, &before, sizeof before);
      return true;
    }
  }
  throw engine_.invalid_packet(source, fmt::format("operation {} on memory", what.act));
}

}  // namespace amity::core
