#include "amity/message/packet_buffers.hpp"

#include <algorithm>
#include <utility>

#include "amity/base/assert.hpp"

namespace amity::detail {

packet_buffers::packet_buffers(core::endpoint& owner, core::handler_id handler, std::size_t item_bytes,
                               std::size_t bytes_max)
    : endpoint_(owner),
      handler_(handler),
      size_(static_cast<std::uint32_t>(owner.size())),
      item_bytes_(item_bytes),
      bytes_max_(std::min(bytes_max, owner.packet_bytes_max())),
      cursors_(size_),
      packets_(size_) {
  // Whole messages only.
  if (item_bytes_ > 0) bytes_max_ -= bytes_max_ % item_bytes_;
  AMITY_ASSERT(bytes_max_ > 0, item_bytes, bytes_max);
  listed_.reserve(size_);
  endpoint_.add_flushable(*this);
}

packet_buffers::~packet_buffers() { endpoint_.remove_flushable(*this); }

void packet_buffers::replace(rank_t dest, std::size_t bytes) {
  if (!endpoint_.in_epoch()) endpoint_.throw_outside_epoch("message::send");
  AMITY_ASSERT(bytes <= bytes_max_, bytes, bytes_max_);
  close(dest);
  endpoint_.give_way();
  const cursor& at = cursors_[static_cast<std::size_t>(dest)];
  // Whatever lets handlers run may find the packet opened by one of them, and even filled again.
  while (static_cast<std::size_t>(at.end - at.next) < bytes) {
    core::outgoing& out = packets_[static_cast<std::size_t>(dest)].out;
    if (out.data != nullptr) {
      close(dest);
    } else if (endpoint_.try_open(dest, bytes_max_, out)) {
      open(dest);
    } else {
      endpoint_.make_room(dest);
    }
  }
}

void packet_buffers::open(rank_t dest) {
  packet& opened = packets_[static_cast<std::size_t>(dest)];
  cursors_[static_cast<std::size_t>(dest)] = {.next = opened.out.data, .end = opened.out.data + bytes_max_};
  opened.records = 0;
  if (!std::exchange(opened.listed, true)) listed_.push_back(dest);
}

bool packet_buffers::close(rank_t dest) {
  packet& closed = packets_[static_cast<std::size_t>(dest)];
  if (closed.out.data == nullptr) return false;
  const cursor at = std::exchange(cursors_[static_cast<std::size_t>(dest)], {});
  const auto bytes = static_cast<std::size_t>(at.next - closed.out.data);
  endpoint_.close(dest, handler_, closed.out, bytes, item_bytes_ > 0 ? bytes / item_bytes_ : closed.records);
  return true;
}

void packet_buffers::flush(rank_t dest) { close(dest); }

bool packet_buffers::flush_all() {
  bool any = false;
  for (const rank_t dest : listed_) {
    any |= close(dest);
    packets_[static_cast<std::size_t>(dest)].listed = false;
  }
  listed_.clear();
  return any;
}

void packet_buffers::throw_wrong_rank(rank_t dest) const { endpoint_.throw_wrong_rank("message::send", dest); }

}  // namespace amity::detail
