#include "amity/core/memory_service.hpp"

#include <algorithm>
#include <cstring>
#include <exception>
#include <vector>

#include <fmt/format.h>

#include "amity/base/error.hpp"
#include "amity/core/engine.hpp"

namespace amity::core {
namespace {

void destroy(fabric::remote_memory* below, const segment_table::entry& gone) noexcept {
  if (gone.of_fabric) below->destroy({.data = gone.own.data, .bytes = gone.own.bytes, .key = gone.own.descriptor.key});
}

}  // namespace

memory_service::memory_service(engine& to, const long_options& longs)
    : on(to),
      below(to.transport().remote()),
      face(*this),
      segments(to),
      stream(to.served().records()),
      records(to, stream, segments, receiver),
      operations(to, below, records, longs.pending_max),
      receiver(to, face, segments, operations, longs.slots),
      sender(to, *this, longs),
      has_one_thread_(to.threads() == 1) {
  on.served().attach(service::long_slots, *this);
  on.attach(static_cast<progress_client&>(*this));
}

memory_service::~memory_service() {
  on.detach(static_cast<progress_client&>(*this));
  if (abandoned_) return;
  for (const auto& [id, left] : handles) below->close(left);
  segments.for_each([this](const segment_table::entry& left) { destroy(below, left); });
}

// Checks

void memory_service::check_own(std::string_view call, const local_segment& own) const {
  if (segments.find(own) != nullptr) return;
  const rank_t threads = on.threads(), lane = on.transport().rank();
  if (own.data != nullptr && own.descriptor.lane / threads == on.rank() && own.descriptor.lane != lane) {
    throw error(
        call, on.rank(),
        fmt::format("thread {} uses a segment that thread {} has made", lane % threads, own.descriptor.lane % threads),
        "use a segment on the thread that has made it");
  }
  throw error(call, on.rank(), "the segment does not belong to this rank, or has been released",
              "use what memory::allocate or attach returned, before its release");
}

void memory_service::check_open(std::string_view call, const remote_segment& opened) const {
  if (opened.lane == no_rank) [[unlikely]]
    throw error(call, on.rank(), "the segment is not open", "open one, or use what exchange returned");
  const rank_t threads = on.threads();
  if (threads == 1) [[likely]]
    return;
  // The handle of a segment is of use to the fabric of one thread alone.
  check_thread(call);
  const rank_t thread = on.transport().rank() % threads;
  if (opened.thread == thread) return;
  throw error(call, on.rank(),
              fmt::format("thread {} uses what thread {} has opened, a segment of rank {}", thread, opened.thread,
                          opened.lane / threads),
              "open segments on each thread");
}

void memory_service::check_address_slowly(std::string_view call, const remote_address& at, std::size_t bytes) const {
  check_open(call, at.segment);
  if (at.offset <= at.segment.bytes() && bytes <= at.segment.bytes() - at.offset) [[likely]]
    return;
  throw error(call, on.rank(),
              fmt::format("{} bytes at offset {} are out of range: the segment of rank {} has {} bytes", bytes,
                          at.offset, at.segment.lane / on.threads(), at.segment.bytes()),
              "pass an offset and a size that lie in the segment, or allocate a larger one");
}

void memory_service::check_outside_handler(std::string_view call) const {
  if (!on.running().exists()) [[likely]]
    return;
  throw error(call, on.rank(), "called in a handler", "let the handler return first; it may only send and reply");
}

void memory_service::check_thread(std::string_view call) const {
  if (on.on_own_thread()) [[likely]]
    return;
  if (on.lock() != nullptr) on.throw_wrong_thread(call, on.rank());
  throw error(call, on.rank(),
              fmt::format("called by another thread than thread {} of the rank", on.transport().rank() % on.threads()),
              "use the endpoint, and its memory, on each thread");
}

void memory_service::check_may_wait(std::string_view call) const {
  if (!on.running().exists()) [[likely]]
    return;
  throw error(call, on.rank(), "the call would wait, which handlers must not do",
              "give the call an event, and wait for it outside handlers");
}

// What the engine tells

fabric::disposition memory_service::on_packet(packet_header, const fabric::packet& arrived) {
  const rank_t lane = arrived.source;
  slot_news news;
  if (arrived.payload.size() != sizeof news)
    throw on.invalid_packet(lane, fmt::format("{} bytes about slots", arrived.payload.size()));
  std::memcpy(&news, arrived.payload.data(), sizeof news);
  if (news.which == 0) {
    receiver.lend(lane);
  } else if (operations.slots().expects(lane, news)) {
    operations.take_back(lane, news);
  } else {
    throw on.invalid_packet(lane,
                            fmt::format("slots {} + {:#x}, which this rank has not used", news.first, news.which));
  }
  return fabric::disposition::release;
}

bool memory_service::on_progress() try {
  // Events on the stack of a function that an exception has left do not exist.
  if (on.failure().exists()) return false;
  bool any = operations.advance();
  any |= receiver.advance();
  return any;
} catch (...) {
  // As for arrivals: other ranks hear of it, and nothing more is handled.
  on.failure().set(std::current_exception());
  return false;
}

bool memory_service::sent() const noexcept { return operations.kept() == 0 && receiver.quiet() && sender.quiet(); }

bool memory_service::settle() {
  if (!sent()) return false;
  stream.flush_all();
  return stream.settled() && operations.quiet();
}

void memory_service::drop(const endpoint& gone) noexcept {
  const bool unwinds = std::uncaught_exceptions() > 0;  // and events on the stack may have ended
  operations.drop(gone, [&](awaited& told) { return &told == &implicit || sender.is_own(told) || !unwinds; });
}

std::string memory_service::describe() const {
  std::string text =
      fmt::format("\n  Longs, puts, gets and atomics that wait: {}; Longs of which one part has arrived: {}",
                  operations.kept(), receiver.slots().incomplete());
  const std::vector<rank_t> awaited_lanes = stream.awaited_lanes();
  for (std::size_t i = 0; i < std::min<std::size_t>(awaited_lanes.size(), 8); ++i)
    text +=
        fmt::format("{}rank {}", i == 0 ? "; answers that are missing: of " : ", ", awaited_lanes[i] / on.threads());
  return text;
}

}  // namespace amity::core
