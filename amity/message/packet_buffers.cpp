#include "amity/message/packet_buffers.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "amity/base/assert.hpp"

namespace amity::detail {
namespace {

constexpr std::uint64_t microseconds_max = std::uint64_t{1} << 50;  // for ever, and far from an overflow

}  // namespace

template <class Places>
packet_buffers<Places>::packet_buffers(core::endpoint& owner, core::handler_id handler, const core::destinations& to,
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
      // What the fabric has a short road for.
      stage_bytes_(std::min(Places::stage_bytes, owner.transport().caps().inline_bytes_max)),
      wait_ns_max_(std::min(how.microseconds, microseconds_max) * 1000),
      places_(size_) {
  // Whole messages only.
  if (item_bytes_ > 0) {
    bytes_max_ -= bytes_max_ % item_bytes_;
    stage_bytes_ -= stage_bytes_ % item_bytes_;
  }
  AMITY_ASSERT(bytes_max_ > 0, item_bytes, bytes_max);
  if (how.tuned) tuner_.emplace(bytes_max_);
  endpoint_.add_flushable(*this, wait_ns_max_ > 0);
}

template <class Places>
packet_buffers<Places>::~packet_buffers() {
  endpoint_.remove_flushable(*this);
}

template <class Places>
void packet_buffers<Places>::make_room(rank_t dest, std::size_t bytes) {
  endpoint_.check_thread(call_);
  if (!endpoint_.in_epoch()) endpoint_.throw_outside_epoch(call_);
  AMITY_ASSERT(prefix_bytes_ + bytes <= bytes_max_, bytes, bytes_max_);
  // What is staged needs no credit, so only its turn here holds a sender up. One that has filled a slot had it then.
  if (destination_packet& last = places_.find_or_add(dest); !is_staged(last) && close(last) && stage(last, bytes))
    return;
  endpoint_.own_engine().give_way(endpoint_);
  // Whatever lets handlers run may find the packet opened by one of them, and even filled again.
  if (destination_packet& now = places_.find_or_add(dest); now.out.data == nullptr && stage(now, bytes)) return;
  for (;;) {
    destination_packet& packet = places_.find_or_add(dest);
    const packet_cursor& at = places_.cursor_of(packet);
    if (has_room(at, bytes)) return;
    const bool staged = is_staged(packet);
    const std::size_t filled = staged ? static_cast<std::size_t>(at.next - packet.out.data) : prefix_bytes_;
    const std::size_t room = packet_bytes(bytes);
    if (packet.out.data != nullptr && (!staged || filled + bytes > room)) {
      close(packet);
      if (stage(packet, bytes)) return;
      continue;
    }
    core::outgoing slot;
    if (endpoint_.try_open(to_.lane(dest), room, endpoint_.handlers().at(handler_).name, slot)) {
      open(packet, std::move(slot), room);
    } else {
      endpoint_.make_room(to_.lane(dest));
    }
  }
}

// How large a packet is to be whose first message takes `bytes`.
template <class Places>
std::size_t packet_buffers<Places>::packet_bytes(std::size_t bytes) const noexcept {
  if (!tuner_) return bytes_max_;
  const std::size_t wanted = std::min(tuner_->bytes(), bytes_max_);
  if (item_bytes_ > 0) return std::max(wanted - wanted % item_bytes_, item_bytes_);
  return std::max(wanted, prefix_bytes_ + bytes);
}

// Without a slot, if there is a stage and `bytes` fit in it. The packet is not open.
template <class Places>
bool packet_buffers<Places>::stage(destination_packet& packet, std::size_t bytes) {
  if constexpr (Places::stage_bytes == 0) return false;
  const std::size_t room = std::min(stage_bytes_, packet_bytes(bytes));
  if (prefix_bytes_ + bytes > room) return false;
  core::outgoing staged;
  staged.data = Places::stage_of(packet);
  staged.capacity = static_cast<std::uint32_t>(Places::stage_bytes);
  open(packet, std::move(staged), room);
  return true;
}

// What is staged moves, and the packet remains open.
template <class Places>
void packet_buffers<Places>::open(destination_packet& packet, core::outgoing&& out, std::size_t bytes) {
  packet_cursor& at = places_.cursor_of(packet);
  std::size_t filled = prefix_bytes_;
  if (packet.out.data != nullptr) {
    filled = static_cast<std::size_t>(at.next - packet.out.data);
    std::memcpy(out.data, packet.out.data, filled);
    bytes_open_ -= packet.out.capacity;
  } else {
    packet.records = 0;
    if (wait_ns_max_ > 0) open_.open(places_.index_of(packet), packet.dest, endpoint_.transport().now_ns());
  }
  packet.out = std::move(out);
  at = {.next = packet.out.data + filled, .end = packet.out.data + bytes};
  bytes_open_ += packet.out.capacity;
  bytes_open_peak_ = std::max(bytes_open_peak_, bytes_open_);
  if (packet.listed == 0) listed_.push_back(places_.index_of(packet));
  packet.listed = 1;
}

template <class Places>
void packet_buffers<Places>::commit_record(rank_t dest, std::size_t bytes) noexcept {
  places_.find_cursor(dest)->next += bytes;
  destination_packet& packet = *places_.find(dest);
  packet.records = (packet.records + 1) & records_max;
}

template <class Places>
bool packet_buffers<Places>::close(destination_packet& packet) {
  if (packet.out.data == nullptr) return false;
  if (wait_ns_max_ > 0) open_.close(places_.index_of(packet));
  bytes_open_ -= packet.out.capacity;
  const packet_cursor at = std::exchange(places_.cursor_of(packet), {});
  const auto bytes = static_cast<std::size_t>(at.next - packet.out.data);
  const record_count records = packet.records;
  if (prefix_bytes_ > 0) std::memcpy(packet.out.data, &records, prefix_bytes_);
  const std::size_t messages = item_bytes_ > 0 ? bytes / item_bytes_ : records;
  const rank_t lane = to_.lane(packet.dest);
  if (is_staged(packet)) {
    endpoint_.send_collected(lane, handler_, {std::exchange(packet.out.data, nullptr), bytes}, messages);
  } else {
    endpoint_.close(lane, handler_, packet.out, bytes, messages);
  }
  if (tuner_) tune(bytes);
  return true;
}

template <class Places>
void packet_buffers<Places>::close_packet(rank_t lane) {
  const rank_t dest = to_.index(lane);
  destination_packet* const packet = dest == no_rank ? nullptr : places_.find(dest);
  // What is staged has no credit that it could give back.
  if (packet != nullptr && !is_staged(*packet)) close(*packet);
}

template <class Places>
void packet_buffers<Places>::tune(std::size_t bytes_sent) {
  // Time between epochs says nothing about packets.
  if (std::exchange(tuned_epoch_, endpoint_.epochs_opened()) != endpoint_.epochs_opened()) {
    tuner_->restart(endpoint_.transport().now_ns());
  } else if (tuner_->sent(bytes_sent, places_.size())) {
    tuner_->measure(endpoint_.transport().now_ns());
  }
}

template <class Places>
bool packet_buffers<Places>::flush_all() {
  bool any = false;
  for (const std::uint32_t index : listed_) {
    destination_packet& packet = places_[index];
    any |= close(packet);
    packet.listed = 0;
  }
  listed_.clear();
  return any;
}

template <class Places>
bool packet_buffers<Places>::on_progress() {
  if (open_.empty()) return false;
  bool any = false;
  const std::uint64_t now_ns = endpoint_.transport().now_ns();
  while (!open_.empty() && now_ns - open_.oldest_ns() >= wait_ns_max_) any |= close(*places_.find(open_.oldest_dest()));
  return any;
}

template <class Places>
void packet_buffers<Places>::throw_wrong_rank(rank_t dest) const {
  endpoint_.throw_wrong_rank(call_, dest);
}

template class packet_buffers<places_by_rank>;
template class packet_buffers<places_of_few>;

}  // namespace amity::detail
