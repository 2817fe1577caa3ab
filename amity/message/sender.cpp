#include "amity/message/sender.hpp"

#include <exception>

#include <fmt/format.h>

#include "amity/base/error.hpp"

namespace amity::detail {

void check_send(const core::endpoint& owner, std::string_view call, rank_t dest) {
  owner.check_thread(call);
  if (dest < 0 || dest >= owner.size()) owner.throw_wrong_rank(call, dest);
  if (!owner.in_epoch()) owner.throw_outside_epoch(call);
}

void check_send(const core::endpoint& owner, const core::destinations& to, std::string_view call, rank_t dest) {
  owner.check_thread(call);
  if (dest < 0 || dest >= to.count) owner.throw_wrong_rank(call, dest);
  if (!owner.in_epoch()) owner.throw_outside_epoch(call);
}

void check_destruction(core::endpoint& owner, core::handler_id handler) {
  if (!owner.epoch_open() || std::uncaught_exceptions() > 0) return;
  owner.fail(std::make_exception_ptr(
      error("message type", owner.rank(),
            fmt::format("'{}' was destroyed inside an epoch", owner.handlers().at(handler).name),
            "let message types end outside epochs")));
}

message_counters counted_on_the_wire(const core::endpoint& owner, core::handler_id handler) {
  const core::message_counts wire = owner.counts().of(handler);
  const core::packet_counts packets = owner.counts().packets_of(handler);
  return {.sent = wire.sent, .handled = wire.handled, .packets = packets.count, .bytes = packets.bytes};
}

std::unique_ptr<std::byte, free_aligned> copy_aligned(bytes_view bytes) {
  std::unique_ptr<std::byte, free_aligned> copy(
      static_cast<std::byte*>(::operator new (bytes.size(), std::align_val_t{cache_line_bytes})));
  std::memcpy(copy.get(), bytes.data(), bytes.size());
  return copy;
}

template <class Buffers>
encoding_sender<Buffers>::encoding_sender(core::endpoint& owner, core::handler_id handler, const core::destinations& to,
                                          std::string_view call, const coalesce& bounds, std::size_t bytes_standard)
    : endpoint_(owner),
      handler_(handler),
      to_(to),
      call_(call),
      // Values that encode to nothing never fill a packet; its count is a bound in any case.
      count_max_(
          static_cast<record_count>(bounds.count > 0 ? std::min<std::size_t>(bounds.count, records_max) : records_max)),
      buffers_(owner, handler, to, call, 0, packet_bytes_bound(bounds, bytes_standard), bounds) {}

template class encoding_sender<packet_buffers<places_by_rank>>;
template class encoding_sender<packet_buffers<places_of_few>>;

}  // namespace amity::detail
