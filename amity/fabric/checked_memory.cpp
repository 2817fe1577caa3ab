#include "amity/fabric/checked_memory.hpp"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "amity/base/random.hpp"
#include "amity/fabric/checked.hpp"

namespace amity::fabric {
namespace {

std::uint64_t checksum_of(bytes_view source) {
  std::uint64_t sum = source.size();
  while (!source.empty()) {
    std::uint64_t word = 0;
    const std::size_t bytes = std::min(source.size(), sizeof word);
    std::memcpy(&word, source.data(), bytes);
    sum = splitmix64::mix(sum ^ word);
    source = source.subspan(bytes);
  }
  return sum;
}

// Contexts as the fabric below knows them: the number of an operation, and which of its events.
constexpr std::uint64_t source_free_of(std::uint64_t number) { return 2 * number; }
constexpr std::uint64_t complete_of(std::uint64_t number) { return 2 * number + 1; }

}  // namespace

segment checked_memory::create(std::size_t bytes) {
  whole_.enter("create");
  if (whole_.polling_) whole_.caller_broke("create", "called from a sink");
  const segment made = inner_.create(bytes);
  const auto address = reinterpret_cast<std::uintptr_t>(made.data);
  if (made.data == nullptr || address % cache_line_bytes != 0 || made.bytes != bytes) {
    whole_.fabric_broke("create", fmt::format("a segment of {} bytes at {:#x}; {} bytes on a cache line were asked for",
                                              made.bytes, address, bytes));
  }
  if (std::ranges::find(segments_, made.data, &segment::data) != segments_.end()) {
    whole_.fabric_broke("create", "a segment lies where another one does");
  }
  segments_.push_back(made);
  offers_ = true;
  return made;
}

std::optional<segment> checked_memory::attach(mutable_bytes memory) {
  whole_.enter("attach");
  if (whole_.polling_) whole_.caller_broke("attach", "called from a sink");
  if (memory.empty()) whole_.caller_broke("attach", "no memory");
  const std::optional<segment> made = inner_.attach(memory);
  if (!made) return made;
  if (made->data != memory.data() || made->bytes != memory.size()) {
    whole_.fabric_broke("attach", "the segment is not the memory that was attached");
  }
  segments_.push_back(*made);
  offers_ = true;
  return made;
}

void checked_memory::destroy(const segment& own) noexcept {
  whole_.enter("destroy");
  const auto found = std::ranges::find(segments_, own.key, &segment::key);
  if (found == segments_.end()) {
    whole_.caller_broke("destroy", "a segment that does not exist, or not any more");
  }
  segments_.erase(found);
  inner_.destroy(own);
}

remote_handle checked_memory::open(rank_t owner, const segment_key& key) {
  whole_.enter("open");
  whole_.check_rank("open", owner);
  if (whole_.polling_) whole_.caller_broke("open", "called from a sink");
  const remote_capabilities& can = whole_.inner().remote_to(owner);
  if (!can.available) whole_.caller_broke("open", fmt::format("memory of rank {}, which is not available", owner));
  const remote_handle opened = inner_.open(owner, key);
  if (opened.direct != nullptr && !can.mapped) {
    whole_.fabric_broke("open", "a direct address on a fabric that has none");
  }
  return opened.bytes == 0 ? opened : handles_.open(opened, owner);
}

void checked_memory::close(const remote_handle& opened) noexcept {
  inner_.close(check("close", opened, 0, 0, nullptr).inner);
  handles_.close(opened);
}

// Operations

const handle_table::entry& checked_memory::check(std::string_view call, const remote_handle& at, std::size_t offset,
                                                 std::size_t bytes, const void* local) const {
  whole_.enter(call);
  const handle_table::entry* const known = handles_.find(at);
  if (known == nullptr) whole_.caller_broke(call, "a handle that is not open");
  if (offset > at.bytes || bytes > at.bytes - offset) {
    whole_.caller_broke(call, fmt::format("{} bytes at offset {} of a segment of {} bytes of rank {}", bytes, offset,
                                          at.bytes, known->owner));
  }
  if (local == nullptr && bytes > 0) whole_.caller_broke(call, fmt::format("{} bytes at no address", bytes));
  return *known;
}

template <class Start>
stage checked_memory::start(std::string_view call, const handle_table::entry& at, bytes_view source, const events& tell,
                            Start&& begin) {
  const std::uint64_t number = ++last_;
  const stage reached = begin(events{.source_free = tell.source_free == 0 ? 0 : source_free_of(number),
                                     .complete = tell.complete == 0 ? 0 : complete_of(number)});
  operation begun{.peer = at.owner, .tell = tell, .source = source, .checksum = 0};
  if (reached >= stage::source_free) begun.tell.source_free = 0;
  if (reached == stage::complete) begun.tell.complete = 0;
  if (reached == stage::refused || (begun.tell.source_free == 0 && begun.tell.complete == 0)) return reached;
  if (reached >= stage::source_free) begun.source = {};
  begun.checksum = checksum_of(begun.source);
  operations_.emplace(number, begun);
  const std::size_t most = whole_.remote_to(at.owner).operations_max;
  if (most != 0 && operations_.size() > most) {
    whole_.fabric_broke(call, fmt::format("{} operations are in flight; {} can be", operations_.size(), most));
  }
  return reached;
}

stage checked_memory::start_put(const remote_handle& to, std::size_t offset, bytes_view from,
                                const events& tell) noexcept {
  const auto& at = check("put", to, offset, from.size(), from.data());
  return start("put", at, from, tell,
               [&](const events& inner_tell) { return inner_.put(at.inner, offset, from, inner_tell); });
}

stage checked_memory::put_notify(const remote_handle& to, std::size_t offset, bytes_view from, std::uint32_t bits,
                                 std::uint64_t when_free) noexcept {
  const auto& at = check("put_notify", to, offset, from.size(), from.data());
  const std::uint32_t bits_max = whole_.remote_to(at.owner).notify_bits;
  if (bits_max < 32 && bits >> bits_max != 0) {
    whole_.caller_broke("put_notify", fmt::format("bits {:#x}; there are {}", bits, bits_max));
  }
  return start("put_notify", at, from, {.source_free = when_free}, [&](const events& inner_tell) {
    return inner_.put_notify(at.inner, offset, from, bits, inner_tell.source_free);
  });
}

stage checked_memory::start_get(const remote_handle& from, std::size_t offset, mutable_bytes to,
                                std::uint64_t when_complete) noexcept {
  const auto& at = check("get", from, offset, to.size(), to.data());
  return start("get", at, {}, {.complete = when_complete},
               [&](const events& inner_tell) { return inner_.get(at.inner, offset, to, inner_tell.complete); });
}

stage checked_memory::start_atomic(const remote_handle& at_segment, std::size_t offset, const atomic_request& what,
                                   std::uint64_t* previous, std::uint64_t when_complete) noexcept {
  const auto& at = check("atomic", at_segment, offset, what.bytes, this);
  if (!whole_.remote_to(at.owner).atomics) whole_.caller_broke("atomic", "called on a fabric without atomics");
  if (!at_segment.atomics) whole_.caller_broke("atomic", "called on a segment without atomics");
  if ((what.bytes != 4 && what.bytes != 8) || offset % what.bytes != 0) {
    whole_.caller_broke("atomic", fmt::format("a word of {} bytes at offset {}; words have 4 or 8, and are aligned",
                                              what.bytes, offset));
  }
  return start("atomic", at, {}, {.complete = when_complete}, [&](const events& inner_tell) {
    return inner_.atomic(at.inner, offset, what, previous, inner_tell.complete);
  });
}

// Events

std::uint64_t checked_memory::inspect_done(std::uint64_t context) {
  const auto found = operations_.find(context / 2);
  const bool is_complete = context % 2 != 0;
  if (found == operations_.end()) whole_.fabric_broke("poll", "an event of no operation that is under way");
  operation& of = found->second;
  std::uint64_t& asked = is_complete ? of.tell.complete : of.tell.source_free;
  if (asked == 0 || (is_complete && of.tell.source_free != 0)) {
    whole_.fabric_broke("poll", fmt::format("an operation on memory of rank {} is told of {}", of.peer,
                                            asked == 0 ? "twice" : "as complete before its source is free"));
  }
  check_source(of);
  of.source = {};
  const std::uint64_t given = asked;
  asked = 0;
  if (of.tell.complete == 0) operations_.erase(found);
  return given;
}

void checked_memory::inspect_notification() const {
  if (!offers_) whole_.fabric_broke("poll", "a notification for a rank that has made no segment");
}

void checked_memory::check_source(const operation& of) const {
  if (!of.source.empty() && checksum_of(of.source) != of.checksum) {
    whole_.caller_broke("poll", fmt::format("the source of a put of {} bytes to rank {} has changed before it was free",
                                            of.source.size(), of.peer));
  }
}

void checked_memory::check_end() const {
  if (!operations_.empty()) {
    whole_.caller_broke("destructor",
                        fmt::format("{} operations on remote memory are in flight, one of them to rank {}",
                                    operations_.size(), operations_.begin()->second.peer));
  }
  if (handles_.size() > 0) {
    whole_.caller_broke("destructor", fmt::format("{} handles were opened and never closed, one of them to rank {}",
                                                  handles_.size(), handles_.any().owner));
  }
  if (!segments_.empty()) {
    whole_.caller_broke("destructor", fmt::format("{} segments were made and never destroyed, one of them of {} bytes",
                                                  segments_.size(), segments_.front().bytes));
  }
}

}  // namespace amity::fabric
