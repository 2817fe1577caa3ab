#pragma once

/// A record: one one-sided operation as it travels to the rank whose memory it concerns, and who carries it out there.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "amity/base/types.hpp"

namespace amity::core {

/// The service that a record belongs to.
enum class record_owner : std::uint8_t { stream, memory, windows, openshmem };
inline constexpr std::size_t record_owners = 4;

/// How the origin learns that a record without a question has been carried out.
enum class tracking : std::uint8_t {
  by_flush,   ///< a flush of all peers asks the target
  otherwise,  ///< the caller has its own means
};

inline constexpr std::uint32_t no_question = ~std::uint32_t{0};

/// In front of the content, which is filled up to whole words.
struct record {
  record_owner owner = record_owner::stream;
  std::uint8_t act = 0;  ///< the owner's
  std::uint8_t op = 0;   ///< the owner's
  std::uint8_t word_bytes = 0;
  std::uint32_t bytes = 0;               ///< of the content
  std::uint32_t object = 0;              ///< the number that the target has given, of a segment for example
  std::uint32_t question = no_question;  ///< of the origin, that the answer names
  std::uint64_t at = 0;                  ///< the owner's; an offset in the object, for example
};
static_assert(sizeof(record) == 24);

/// The last record for a peer in a packet that is still open. Content that continues it may join it.
class record_tail {
 public:
  bool is_open() const noexcept { return place_ != nullptr; }
  const record& last() const noexcept { return last_; }

  /// `place`: where the record lies in the packet, which has `bytes_max` from there on.
  void begin(const record& what, std::byte* place, std::size_t bytes_max) noexcept {
    last_ = what;
    place_ = place;
    room_ = bytes_max - sizeof what - what.bytes;
    std::memcpy(place, &what, sizeof what);
  }
  void close() noexcept {
    place_ = nullptr;
    room_ = 0;
  }
  /// Returns where the content of `what` goes if it can join: all else is equal, neither asks, and `at` is where the
  /// content of the last record ends. Null: it cannot.
  std::byte* try_extend(const record& what) noexcept {
    const bool continues = is_open() && what.bytes <= room_ && what.at == last_.at + last_.bytes &&
                           what.owner == last_.owner && what.act == last_.act && what.op == last_.op &&
                           what.word_bytes == last_.word_bytes && what.object == last_.object &&
                           what.question == no_question && last_.question == no_question;
    if (!continues) return nullptr;
    std::byte* const content = place_ + sizeof last_ + last_.bytes;
    room_ -= what.bytes;
    last_.bytes += what.bytes;
    std::memcpy(place_ + offsetof(record, bytes), &last_.bytes, sizeof last_.bytes);
    return content;
  }

 private:
  record last_;
  std::byte* place_ = nullptr;  ///< null: no packet is open
  std::size_t room_ = 0;        ///< bytes that may join
};

/// The largest content of one record, and of one answer, for packets of this size.
constexpr std::size_t record_bytes_max(std::size_t packet_bytes_max) noexcept {
  return packet_bytes_max / 8 * 8 - sizeof(record);
}

/// Whether the answer may be shorter than what the origin has asked for.
enum class answer_part : std::uint8_t {
  of_all,  ///< all bytes of the answer come
  last,    ///< none come behind this part
};

/// Where an executor writes what the origin has asked for.
class answers {
 public:
  /// Room for `bytes` that go to `at` of the result; null: there is no credit. At most
  /// `record_bytes_max`.
  virtual std::byte* try_write(std::uint32_t question, std::uint64_t at, std::size_t bytes,
                               answer_part part = answer_part::of_all) = 0;

 protected:
  ~answers() = default;
};

class record_executor {
 public:
  /// Carries out a record of the lane `source`. False: `to` has no space, nothing has been done, and the same record
  /// comes again. Throws `error` for what no rank sends that runs the same build, which ends the job.
  virtual bool execute(rank_t source, const record& what, bytes_view content, answers& to) = 0;
  /// For a stall report; lines that begin with "\n  ".
  virtual std::string describe() const { return {}; }

  virtual ~record_executor() = default;
};

}  // namespace amity::core
