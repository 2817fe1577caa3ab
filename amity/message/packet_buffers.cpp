#include "amity/message/packet_buffers.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "amity/base/assert.hpp"

namespace amity::detail {
namespace {

constexpr std::uint64_t microseconds_max = std::uint64_t{1} << 50;  // for ever, and far from an overflow

}  // namespace

packet_buffers::packet_buffers(core::endpoint& owner, core::handler_id handler, const core::destinations& to,
                               std::string_view call, std::size_t item_bytes, std::size_t bytes_max,
                               const coalesce& how)
    : endpoint_(owner),
      handler_(handler),
      to_(to),
      call_(call),
      size_(static_cast<std::uint32_t>(to.count)),
      item_bytes_(item_bytes),
      prefix_bytes_(item_bytes > 0 ? 0 : sizeof(record_count)),
      bytes_max_(std::clamp(bytes_max, prefix_bytes_, owner.packet_bytes_max())),
      wait_ns_max_(std::min(how.microseconds, microseconds_max) * 1000),
      cursors_(size_),
      places_(size_) {
  // Whole messages only.
  if (item_bytes_ > 0) bytes_max_ -= bytes_max_ % item_bytes_;
  AMITY_ASSERT(bytes_max_ > 0, item_bytes, bytes_max);
  if (how.tuned) tuner_.emplace(bytes_max_);
  endpoint_.add_flushable(*this, wait_ns_max_ > 0);
}

packet_buffers::~packet_buffers() { endpoint_.remove_flushable(*this); }

void packet_buffers::make_room(rank_t dest, std::size_t bytes) {
  endpoint_.check_thread(call_);
  if (!endpoint_.in_epoch()) endpoint_.throw_outside_epoch(call_);
  AMITY_ASSERT(prefix_bytes_ + bytes <= bytes_max_, bytes, bytes_max_);
  close(dest);
  endpoint_.give_way();
  const cursor& at = cursors_[static_cast<std::size_t>(dest)];
  // Whatever lets handlers run may find the packet opened by one of them, and even filled again.
  while (!has_room(at, bytes)) {
    core::outgoing& out = packet_for(dest).out;
    if (out.data != nullptr) {
      close(dest);
    } else if (const std::size_t room = packet_bytes(bytes); endpoint_.try_open(to_.lane(dest), room, out)) {
      open(dest, room);
    } else {
      endpoint_.make_room(to_.lane(dest));
    }
  }
}

packet_buffers::packet& packet_buffers::packet_for(rank_t dest) {
  std::uint32_t& place = places_[static_cast<std::size_t>(dest)];
  if (place == 0) {
    packets_.emplace_back();
    place = static_cast<std::uint32_t>(packets_.size());
  }
  return packets_[place - 1];
}

// How large a packet is to be whose first message takes `bytes`.
std::size_t packet_buffers::packet_bytes(std::size_t bytes) const noexcept {
  if (!tuner_) return bytes_max_;
  const std::size_t wanted = std::min(tuner_->bytes(), bytes_max_);
  if (item_bytes_ > 0) return std::max(wanted - wanted % item_bytes_, item_bytes_);
  return std::max(wanted, prefix_bytes_ + bytes);
}

void packet_buffers::open(rank_t dest, std::size_t bytes) {
  packet& opened = packet_for(dest);
  std::byte* const data = opened.out.data;
  cursors_[static_cast<std::size_t>(dest)] = {.next = data + prefix_bytes_, .end = data + bytes};
  opened.records = 0;
  bytes_open_ += opened.out.capacity;
  bytes_open_peak_ = std::max(bytes_open_peak_, bytes_open_);
  if (!std::exchange(opened.listed, true)) listed_.push_back(dest);
  if (wait_ns_max_ > 0) {
    open_.open(places_[static_cast<std::size_t>(dest)] - 1, dest, endpoint_.transport().now_ns());
  }
}

void packet_buffers::commit_record(rank_t dest, std::size_t bytes) noexcept {
  cursors_[static_cast<std::size_t>(dest)].next += bytes;
  ++packets_[places_[static_cast<std::size_t>(dest)] - 1].records;
}

bool packet_buffers::close(rank_t dest) {
  const std::uint32_t place = places_[static_cast<std::size_t>(dest)];
  if (place == 0 || packets_[place - 1].out.data == nullptr) return false;
  if (wait_ns_max_ > 0) open_.close(place - 1);
  packet& closed = packets_[place - 1];
  bytes_open_ -= closed.out.capacity;
  const cursor at = std::exchange(cursors_[static_cast<std::size_t>(dest)], {});
  const auto bytes = static_cast<std::size_t>(at.next - closed.out.data);
  if (prefix_bytes_ > 0) std::memcpy(closed.out.data, &closed.records, prefix_bytes_);
  endpoint_.close(to_.lane(dest), handler_, closed.out, bytes, item_bytes_ > 0 ? bytes / item_bytes_ : closed.records);
  if (tuner_) tune(bytes);
  return true;
}

void packet_buffers::close_packet(rank_t lane) {
  const rank_t dest = to_.index(lane);
  if (dest != no_rank) close(dest);
}

void packet_buffers::tune(std::size_t bytes_sent) {
  // Time between epochs says nothing about packets.
  if (std::exchange(tuned_epoch_, endpoint_.epochs_opened()) != endpoint_.epochs_opened()) {
    tuner_->restart(endpoint_.transport().now_ns());
  } else if (tuner_->sent(bytes_sent, packets_.size())) {
    tuner_->measure(endpoint_.transport().now_ns());
  }
}

bool packet_buffers::flush_all() {
  bool any = false;
  for (const rank_t dest : listed_) {
    any |= close(dest);
    packets_[places_[static_cast<std::size_t>(dest)] - 1].listed = false;
  }
  listed_.clear();
  return any;
}

bool packet_buffers::on_progress() {
  if (open_.empty()) return false;
  bool any = false;
  const std::uint64_t now_ns = endpoint_.transport().now_ns();
  while (!open_.empty() && now_ns - open_.oldest_ns() >= wait_ns_max_) any |= close(open_.oldest_dest());
  return any;
}

void packet_buffers::throw_wrong_rank(rank_t dest) const { endpoint_.throw_wrong_rank(call_, dest); }

}  // namespace amity::detail
