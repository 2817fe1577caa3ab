#include "amity/message/sender.hpp"

namespace amity::detail {

void check_send(const core::endpoint& owner, rank_t dest) {
  if (dest < 0 || dest >= owner.size()) owner.throw_wrong_rank("message::send", dest);
  if (!owner.in_epoch()) owner.throw_outside_epoch("message::send");
}

encoding_sender::encoding_sender(core::endpoint& owner, core::handler_id handler, const coalesce& bounds,
                                 std::size_t bytes_standard)
    : endpoint_(owner),
      handler_(handler),
      bytes_max_(std::min(bounds.bytes > 0 ? bounds.bytes : bytes_standard, owner.packet_bytes_max())),
      count_max_(bounds.count),
      buffers_(owner, handler, 0, bytes_max_) {}

}  // namespace amity::detail
