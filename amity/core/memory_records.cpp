#include "amity/core/memory_records.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>

#include <fmt/format.h>

#include "amity/base/error.hpp"
#include "amity/core/engine.hpp"

namespace amity::core {
namespace {

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

template <class Word>
bool copy_word(std::byte* to, const std::byte* from) noexcept {
  if ((reinterpret_cast<std::uintptr_t>(to) | reinterpret_cast<std::uintptr_t>(from)) % sizeof(Word) != 0) return false;
  // Release; pairs with the acquire of a thread that waits for the word, and then reads what came before it.
  std::atomic_ref(*reinterpret_cast<Word*>(to))
      .store(std::atomic_ref(*reinterpret_cast<Word*>(const_cast<std::byte*>(from))).load(std::memory_order_acquire),
             std::memory_order_release);
  return true;
}

/// A thread or peer that looks at an aligned word meanwhile sees it whole.
void copy(std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
  if (bytes == 8 && copy_word<std::uint64_t>(to, from)) return;
  if (bytes == 4 && copy_word<std::uint32_t>(to, from)) return;
  if (bytes == 2 && copy_word<std::uint16_t>(to, from)) return;
  if (bytes > 0) std::memcpy(to, from, bytes);
}

}  // namespace

memory_records::memory_records(engine& on, record_stream& stream, record_owner owner, fabric::claim of,
                               record_memory& memory)
    : engine_(on),
      stream_(stream),
      memory_(memory),
      owner_(owner),
      of_(of),
      bytes_max_(record_bytes_max(on.transport().caps().packet_bytes_max)) {
  stream.attach(owner, *this);
}

// At the origin

bool memory_records::put(const record_address& to, bytes_view from, std::size_t& moved, tracking by) {
  return append(to, from, moved, by, nullptr);
}

bool memory_records::put_notify(const record_address& to, bytes_view from, std::size_t& moved, std::uint64_t number) {
  return append(to, from, moved, tracking::by_flush, &number);
}

bool memory_records::append(const record_address& to, bytes_view from, std::size_t& moved, tracking by,
                            const std::uint64_t* notice) {
  const std::size_t notice_bytes = notice != nullptr ? sizeof *notice : 0;
  for (;;) {
    const std::size_t left = from.size() - moved;
    const std::size_t room = stream_.room(to.target, left + notice_bytes);
    const bool is_last = left + notice_bytes <= room;
    const std::size_t head = is_last ? notice_bytes : 0, bytes = std::min(left, room);
    record piece = record_of(to, is_last && notice != nullptr ? act::put_notify : act::put);
    piece.bytes = static_cast<std::uint32_t>(head + bytes);
    piece.at += moved;
    // A flush of another thread need not wait for what is not over.
    std::byte* const content = stream_.try_append(to.target, piece, is_last ? by : tracking::otherwise, of_);
    if (content == nullptr) return false;
    if (head > 0) std::memcpy(content, notice, head);
    copy(content + head, from.data() + moved, bytes);
    moved += bytes;
    if (is_last) return true;
  }
}

bool memory_records::get(const record_address& from, std::size_t bytes, std::size_t& moved, std::uint32_t question) {
  while (moved < bytes) {
    record piece = record_of(from, act::get);
    const wanted part{.bytes = std::min<std::size_t>(bytes - moved, bytes_max_), .at = moved};
    piece.bytes = sizeof part;
    piece.question = question;
    piece.at += moved;
    std::byte* const content = stream_.try_append(from.target, piece, tracking::by_flush, of_);
    if (content == nullptr) return false;
    std::memcpy(content, &part, sizeof part);
    moved += part.bytes;
  }
  return true;
}

bool memory_records::atomic(const record_address& at, const fabric::atomic_request& what, std::uint32_t question) {
  record wanted = record_of(at, act::atomic);
  wanted.op = static_cast<std::uint8_t>(what.op);
  wanted.word_bytes = what.bytes;
  wanted.bytes = sizeof(operands);
  wanted.question = question;
  std::byte* const content = stream_.try_append(at.target, wanted, tracking::by_flush, of_);
  if (content == nullptr) return false;
  const operands given{.operand = what.operand, .expected = what.expected};
  std::memcpy(content, &given, sizeof given);
  return true;
}

// At the target

bool memory_records::execute(rank_t source, const record& what, bytes_view content, answers& to) {
  const auto take = [&](auto& head) {
    if (content.size() < sizeof head)
      throw engine_.invalid_packet(source, fmt::format("operation {} of {} bytes", what.act, content.size()));
    std::memcpy(&head, content.data(), sizeof head);
    content = content.subspan(sizeof head);
  };
  const auto store = [&] {
    copy(memory_.place_of(source, what.object, what.at, content.size()), content.data(), content.size());
  };
  switch (static_cast<act>(what.act)) {
    case act::put:
      store();
      return true;
    case act::put_notify: {
      std::uint64_t number;
      take(number);
      store();
      memory_.on_notice(source, number);
      return true;
    }
    case act::get: {
      wanted part;
      take(part);
      const std::byte* const there = memory_.place_of(source, what.object, what.at, part.bytes);
      if (part.bytes > bytes_max_)
        throw engine_.invalid_packet(source, fmt::format("a get of {} bytes in one answer", part.bytes));
      std::byte* const answer = to.try_write(what.question, part.at, part.bytes);
      if (answer == nullptr) return false;
      copy(answer, there, part.bytes);
      return true;
    }
    case act::atomic: {
      operands given;
      take(given);
      std::byte* const there = memory_.place_of(source, what.object, what.at, what.word_bytes);
      if (what.op > static_cast<std::uint8_t>(fabric::atomic_op::bit_xor) ||
          (what.word_bytes != 4 && what.word_bytes != 8) ||
          reinterpret_cast<std::uintptr_t>(there) % what.word_bytes != 0) {
        throw engine_.invalid_packet(
            source, fmt::format("atomic operation {} on {} bytes at offset {}", what.op, what.word_bytes, what.at));
      }
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
